// Ranges, iterators and conditions to connect with; options of a program's own.
#include <sys/socket.h>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/connect.hpp>
#include <forward_list>
#include <stdexcept>

#include "compile/archetypes/handler.hpp"
#include "compile/archetypes/scene.hpp"

namespace smc::test {
namespace {

using asio::ip::tcp;

template <typename Scene>
struct Connecting : testing::Test {};
TYPED_TEST_SUITE(Connecting, scenes_to_try);

/// An endpoint to those who ask.
struct entry {
  tcp::endpoint where;
  operator tcp::endpoint() const { return where; }
};

/// Knows entries, is copied and called, and has no address. Leaves out the endpoint of port 0.
class condition {
 public:
  explicit condition(int& asked) : asked_(&asked) {}
  condition(const condition&) = default;
  condition& operator=(const condition&) = delete;
  void operator&() const = delete;
  bool operator()(const std::error_code& last, const entry& next) {
    EXPECT_FALSE(last) << last.message();
    ++*asked_;
    return next.where.port() != 0;
  }

 private:
  int* asked_;
};

TYPED_TEST(Connecting, TakesWhatHasABeginningAndAnEnd) {
  TypeParam s;
  std::forward_list<entry> list{{tcp::endpoint()}, {s.endpoint()}};
  const auto good = std::next(list.begin());
  std::error_code ec;
  int asked = 0;
  const condition not_zero(asked);
  EXPECT_EQ(connect(s.client, list, not_zero), s.endpoint());
  EXPECT_EQ(connect(s.client, list, not_zero, ec), s.endpoint());
  EXPECT_TRUE(connect(s.client, list.begin(), list.end(), not_zero) == good);
  EXPECT_TRUE(connect(s.client, list.begin(), list.end(), not_zero, ec) == good);
  EXPECT_EQ(asked, 8);
  list.pop_front();
  EXPECT_EQ(connect(s.client, list), s.endpoint());
  EXPECT_EQ(connect(s.client, list, ec), s.endpoint());
  EXPECT_TRUE(connect(s.client, list.begin(), list.end()) == good);
  EXPECT_TRUE(connect(s.client, list.begin(), list.end(), ec) == good);
  EXPECT_FALSE(ec) << ec.message();
}

TYPED_TEST(Connecting, TakesTheSameAsynchronously) {
  TypeParam s;
  using list = std::forward_list<entry>;
  const list good{{s.endpoint()}}, both{{tcp::endpoint()}, {s.endpoint()}};
  using error_and_iterator = void(std::error_code, list::const_iterator);
  int asked = 0;
  const condition not_zero(asked);
  const auto perform = [&s]<typename Signature>(auto initiate) {
    record r(s.context);
    initiate(bare_handler<Signature>(r));
    EXPECT_EQ(r.called, 0) << "inside the initiating function";
    EXPECT_TRUE(s.comes([&r] { return r.called != 0; }));
    EXPECT_EQ(r.called, 1);
    return r.error;
  };
  auto& c = s.client;
  const auto no_error = std::error_code();
  EXPECT_EQ(perform.template operator()<error_and_endpoint>(
                [&](auto&& h) { async_connect(c, good, std::move(h)); }),
            no_error);
  EXPECT_EQ(perform.template operator()<error_and_endpoint>(
                [&](auto&& h) { async_connect(c, both, not_zero, std::move(h)); }),
            no_error);
  EXPECT_EQ(perform.template operator()<error_and_iterator>(
                [&](auto&& h) { async_connect(c, good.begin(), good.end(), std::move(h)); }),
            no_error);
  EXPECT_EQ(perform.template operator()<error_and_iterator>([&](auto&& h) {
    async_connect(c, both.begin(), both.end(), not_zero, std::move(h));
  }),
            no_error);
  EXPECT_EQ(asked, 4);
  EXPECT_EQ(perform.template operator()<error_and_iterator>(
                [&](auto&& h) { async_connect(c, both.end(), both.end(), std::move(h)); }),
            asio::error::not_found);
}

TYPED_TEST(Connecting, EndsWhereTheConditionRefusesAll) {
  TypeParam s;
  const std::vector<tcp::endpoint> endpoints(3, s.endpoint());
  const auto none = [](const std::error_code&, const tcp::endpoint&) { return false; };
  std::error_code ec;
  EXPECT_TRUE(connect(s.client, endpoints.begin(), endpoints.end(), none, ec) == endpoints.end());
  EXPECT_EQ(ec, asio::error::not_found);
  EXPECT_EQ(connect(s.client, endpoints, none, ec), tcp::endpoint());
  EXPECT_EQ(ec, asio::error::not_found);
  EXPECT_THROW(connect(s.client, endpoints, none), std::system_error);
  bool called = false;
  async_connect(s.client, endpoints, none, [&called](std::error_code e, const tcp::endpoint& to) {
    called = true;
    EXPECT_EQ(e, asio::error::not_found);
    EXPECT_EQ(to, tcp::endpoint());
  });
  EXPECT_TRUE(s.comes([&called] { return called; }));
}

TYPED_TEST(Connecting, EndsWithAPartialCancellation) {
  TypeParam s;
  const std::vector<tcp::endpoint> endpoints{s.endpoint()};
  asio::cancellation_signal signal;
  std::error_code error;
  bool called = false;
  async_connect(s.client, endpoints,
                asio::bind_cancellation_slot(signal.slot(), [&](std::error_code e, tcp::endpoint) {
                  error = e;
                  called = true;
                }));
  signal.emit(asio::cancellation_type::partial);
  EXPECT_TRUE(s.comes([&called] { return called; }));
  EXPECT_EQ(error, asio::error::operation_aborted);
}

/// Can be set; and what can be asked for, below.
class keep_alive_to_set {
 public:
  explicit keep_alive_to_set(bool on) : value_(on) {}
  keep_alive_to_set(const keep_alive_to_set&) = delete;
  template <typename Protocol>
  int level(const Protocol&) const {
    return SOL_SOCKET;
  }
  template <typename Protocol>
  int name(const Protocol&) const {
    return SO_KEEPALIVE;
  }
  template <typename Protocol>
  const int* data(const Protocol&) const {
    return &value_;
  }
  template <typename Protocol>
  std::size_t size(const Protocol&) const {
    return sizeof value_;
  }

 private:
  int value_;
};
class keep_alive_to_get {
 public:
  keep_alive_to_get() = default;
  keep_alive_to_get(const keep_alive_to_get&) = delete;
  bool on() const { return value_ != 0; }
  template <typename Protocol>
  int level(const Protocol&) const {
    return SOL_SOCKET;
  }
  template <typename Protocol>
  int name(const Protocol&) const {
    return SO_KEEPALIVE;
  }
  template <typename Protocol>
  int* data(const Protocol&) {
    return &value_;
  }
  template <typename Protocol>
  std::size_t size(const Protocol&) const {
    return sizeof value_;
  }
  template <typename Protocol>
  void resize(const Protocol&, std::size_t n) {
    if (n != sizeof value_) throw std::length_error("keep_alive");
  }

 private:
  int value_ = -1;
};

TYPED_TEST(Connecting, TakesOptionsOfOwnMake) {
  TypeParam s;
  s.connect();
  const auto& client = s.client;
  std::error_code ec;
  keep_alive_to_get got;
  s.client.set_option(keep_alive_to_set(true));
  client.get_option(got);
  EXPECT_TRUE(got.on());
  s.client.set_option(keep_alive_to_set(false), ec);
  client.get_option(got, ec);
  EXPECT_FALSE(got.on());
  s.acceptor.set_option(keep_alive_to_set(true), ec);
  std::as_const(s.acceptor).get_option(got);
  EXPECT_TRUE(got.on());
  EXPECT_FALSE(ec) << ec.message();
}

}  // namespace
}  // namespace smc::test
