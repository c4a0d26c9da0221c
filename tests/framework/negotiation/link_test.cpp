// Two ends of a link in one process: one order over both ways, and an end that overtakes nothing.
#include "negotiation/link.hpp"

#include <gtest/gtest.h>

#include <asio/io_context.hpp>
#include <memory>
#include <optional>
#include <vector>

#include "system/events.hpp"
#include "system/injection.hpp"
#include "system/sockets.hpp"

namespace smc::test {
namespace {

using namespace negotiation;

struct record final : link_handler {
  void received(link&, const message& what, std::span<system::descriptor> came) override {
    descriptors += came.size();
    if (const auto* w = std::get_if<withdraw>(&what)) order.push_back(w->attempt);
    if (const auto* a = std::get_if<accept>(&what)) order.push_back(a->attempt);
  }
  void violated(link&, reason why) override { violation = why; }
  void ended(link&) override { over = true; }

  std::vector<std::uint64_t> order;
  std::size_t descriptors = 0;
  std::optional<reason> violation;
  bool over = false;
};

detail::context_service& service_of(asio::io_context& context) {
  return detail::context_service::of(context.get_executor());
}

class Link : public testing::Test {
 protected:
  void SetUp() override {
    system::descriptor ends[2];
    ASSERT_FALSE(system::create_socket_pair(SOCK_SEQPACKET, true, ends[0], ends[1]));
    raw = std::move(ends[1].duplicate().value);
    a = std::make_shared<link>(service_of(context_a), std::move(ends[0]), &at_a);
    b = std::make_shared<link>(service_of(context_b), std::move(ends[1]), &at_b);
    ASSERT_FALSE(a->open());
    ASSERT_FALSE(b->open());
  }

  /// The first messages introduce the two sides to each other.
  void meet() {
    ASSERT_FALSE(a->send(withdraw{0}));
    b->receive_all();
    ASSERT_FALSE(b->send(withdraw{0}));
    a->receive_all();
    ASSERT_EQ(at_a.order.size(), 1U);
    ASSERT_EQ(at_b.order.size(), 1U);
    at_a.order.clear();
    at_b.order.clear();
  }
  std::error_code send_with_descriptor(std::uint64_t attempt) {
    accept m;
    m.attempt = attempt;
    m.transport = "smc-d";
    m.descriptors = 1;
    const int any = raw.get();
    return a->send(m, std::span(&any, 1));
  }
  bool socket_is_quiet() {
    std::array<pollfd, 1> entry{pollfd{raw.get(), POLLIN, 0}};
    return system::poll(entry, std::chrono::milliseconds(0)).value == 0;
  }

  asio::io_context context_a, context_b;
  record at_a, at_b;
  std::shared_ptr<link> a, b;
  system::descriptor raw;  // b's socket, once more
};

TEST_F(Link, AfterTheIntroductionMessagesNeedNoSocket) {
  meet();
  ASSERT_FALSE(a->send(withdraw{1}));
  EXPECT_TRUE(socket_is_quiet());
  b->receive_mail();
  EXPECT_EQ(at_b.order, (std::vector<std::uint64_t>{1}));
}

TEST_F(Link, MessagesKeepOneOrderOverBothWaysWhicheverIsLookedAtFirst) {
  meet();
  std::vector<std::uint64_t> sent;
  for (std::uint64_t i = 1; i <= 60; ++i) {
    ASSERT_FALSE(i % 3 == 0 ? send_with_descriptor(i) : a->send(withdraw{i}));
    sent.push_back(i);
    if (i % 7 == 0) b->receive_mail();
    if (i % 11 == 0) b->receive_all();
  }
  b->receive_all();
  EXPECT_EQ(at_b.order, sent);
  EXPECT_EQ(at_b.descriptors, 20U);
}

TEST_F(Link, FullMailboxIsContinuedOnTheSocket) {
  meet();
  std::vector<std::uint64_t> sent;
  for (std::uint64_t i = 1; socket_is_quiet() || i % 50 != 0; ++i) {
    ASSERT_FALSE(a->send(withdraw{i}));
    sent.push_back(i);
    ASSERT_LT(i, 10'000U);
  }
  b->receive_all();
  EXPECT_EQ(at_b.order, sent);
  ASSERT_FALSE(a->send(withdraw{0}));
  EXPECT_TRUE(socket_is_quiet()) << "there is room again";
}

TEST_F(Link, MailThatCameBeforeTheHangUpIsDelivered) {
  meet();
  ASSERT_FALSE(a->send(withdraw{1}));
  a->close();
  service_of(context_b).poll_descriptors();
  EXPECT_EQ(at_b.order, (std::vector<std::uint64_t>{1}));
  EXPECT_TRUE(at_b.over);
  EXPECT_FALSE(at_b.violation);
}

TEST_F(Link, WithoutMemoryForAMailboxTheSocketCarriesAll) {
  {
    const system::failure_scope no_memory(system::call::memfd_create, 0, EMFILE);
    ASSERT_FALSE(a->send(withdraw{1}));
    EXPECT_TRUE(no_memory.triggered());
  }
  b->receive_all();
  ASSERT_FALSE(b->send(withdraw{2}));
  EXPECT_TRUE(at_a.order.empty());
  a->receive_all();
  EXPECT_EQ(at_a.order, (std::vector<std::uint64_t>{2}));
  ASSERT_FALSE(a->send(withdraw{3}));
  EXPECT_TRUE(socket_is_quiet()) << "b has one";
  b->receive_mail();
  EXPECT_EQ(at_b.order, (std::vector<std::uint64_t>{1, 3}));
}

TEST_F(Link, NumberOutOfOrderEndsTheLink) {
  meet();
  std::vector<std::byte> packet;
  encode(withdraw{9}, packet, {2, false});  // 1 would be next
  ASSERT_TRUE(system::send_message(raw, packet, {}));
  a->receive_all();
  EXPECT_TRUE(at_a.order.empty());
  EXPECT_EQ(at_a.violation, reason::protocol_error);
  EXPECT_TRUE(at_a.over);
}

TEST_F(Link, RepeatedMessageEndsTheLink) {
  meet();
  std::vector<std::byte> packet;
  encode(withdraw{9}, packet, {0, false});
  ASSERT_TRUE(system::send_message(raw, packet, {}));
  a->receive_all();
  EXPECT_EQ(at_a.violation, reason::protocol_error);
}

TEST_F(Link, SleepingSideIsWokenByMailThroughItsDoorbell) {
  meet();
  int doorbell = -1;
  ASSERT_FALSE(service_of(context_b).doorbell(doorbell));
  // A blocked caller, with nothing to do, takes in what comes.
  ASSERT_TRUE(service_of(context_b).wait(std::chrono::milliseconds(0)));
  ASSERT_FALSE(a->send(withdraw{1}));
  ASSERT_TRUE(service_of(context_b).wait(std::chrono::seconds(20)));
  EXPECT_EQ(at_b.order, (std::vector<std::uint64_t>{1}));
}

}  // namespace
}  // namespace smc::test
