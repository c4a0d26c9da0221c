// The mailbox alone: what is sent comes out whole and in order, and nothing of what a peer writes
// is believed.
#include "negotiation/mailbox.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "negotiation/envelope.hpp"
#include "system/events.hpp"

namespace smc::test {
namespace {

using namespace negotiation;
using bytes = std::vector<std::byte>;

constexpr std::uint64_t no_limit = std::uint64_t{1} << 30;

bytes letter(std::size_t size, unsigned seed) {
  bytes made(size);
  for (std::size_t i = 0; i < size; ++i) made[i] = static_cast<std::byte>(seed * 31 + i * 7);
  return made;
}

class Mailbox : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(box.create(budget), reason::none);
    auto made = system::create_event();
    ASSERT_TRUE(made);
    bell = std::move(made.value);
    auto file = box.file().duplicate();
    auto ring = bell.duplicate();
    ASSERT_TRUE(file && ring);
    auto again = box.file().duplicate();
    auto opened = system::segment::attach(std::move(again.value), mailbox_size);
    ASSERT_TRUE(opened);
    peers_view = std::move(system::mapping::whole(opened.value).value);
    ASSERT_EQ(sender.attach(std::move(file.value), std::move(ring.value), budget), reason::none);
  }

  /// The next message; empty where there is none.
  bytes next() {
    std::array<std::byte, max_message_size> buffer;
    std::size_t size = 0;
    last = box.take(buffer, size);
    return last == mailbox::outcome::taken
               ? bytes(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(size))
               : bytes();
  }
  mailbox_header& header() { return *reinterpret_cast<mailbox_header*>(peers_view.data()); }
  bool rung() { return system::clear(bell).value; }

  system::memory_budget budget{no_limit, 1000};
  mailbox box;
  mail_sender sender;
  system::descriptor bell;
  system::mapping peers_view;
  mailbox::outcome last{};
};

TEST_F(Mailbox, MessagesOfAllSizesComeOutWholeAndInOrder) {
  std::mt19937 random(3);
  for (unsigned round = 0; round < 3000; ++round) {
    const bytes sent = letter(1 + random() % max_message_size, round);
    ASSERT_TRUE(sender.send(sent, false));
    ASSERT_EQ(next(), sent) << round;
  }
  EXPECT_TRUE(next().empty());
  EXPECT_EQ(last, mailbox::outcome::none);
}

TEST_F(Mailbox, FullOneRefusesAndGoesOnWhenRead) {
  unsigned sent = 0;
  while (sender.send(letter(100, sent), false)) ++sent;
  EXPECT_GE(sent, 100U);
  EXPECT_FALSE(sender.send(letter(100, sent), false)) << "nothing changed";
  EXPECT_EQ(next(), letter(100, 0));
  EXPECT_TRUE(sender.send(letter(100, sent), false));
  for (unsigned i = 1; i <= sent; ++i) ASSERT_EQ(next(), letter(100, i));
}

TEST_F(Mailbox, SleeperIsRungOnceAndOnlyForWhatIsUrgent) {
  EXPECT_TRUE(sender.send(letter(8, 0), true));
  EXPECT_FALSE(rung()) << "nobody sleeps";
  EXPECT_FALSE(box.before_sleep()) << "there is mail";
  (void)next();
  EXPECT_TRUE(box.before_sleep());
  EXPECT_TRUE(sender.send(letter(8, 1), false));
  EXPECT_FALSE(rung()) << "can wait";
  EXPECT_TRUE(sender.send(letter(8, 2), true));
  EXPECT_TRUE(rung());
  EXPECT_TRUE(sender.send(letter(8, 3), true));
  EXPECT_FALSE(rung()) << "it was rung for already";
}

TEST_F(Mailbox, TwoThreadsNeverLoseAMessageNorAWakeUp) {
  constexpr unsigned count = 30'000;
  std::thread peer([this] {
    for (unsigned i = 0; i < count;) {
      if (sender.send(letter(1 + i % 500, i), true)) ++i;
    }
  });
  for (unsigned i = 0; i < count;) {
    const bytes got = next();
    if (last == mailbox::outcome::taken) {
      ASSERT_EQ(got, letter(1 + i % 500, i));
      ++i;
    } else if (box.before_sleep()) {
      std::array<pollfd, 1> entry{pollfd{bell.get(), POLLIN, 0}};
      ASSERT_EQ(system::poll(entry, std::chrono::seconds(20)).value, 1)
          << "a wake-up was lost at " << i;
      (void)rung();
      box.after_sleep();
    }
  }
  peer.join();
}

TEST_F(Mailbox, CursorBeyondTheRingIsAViolation) {
  for (const std::uint64_t lie :
       {std::uint64_t{1}, std::uint64_t{mailbox_capacity + 8}, ~std::uint64_t{0}}) {
    header().written.store(lie);
    EXPECT_TRUE(next().empty());
    EXPECT_EQ(last, mailbox::outcome::violation) << lie;
  }
}

TEST_F(Mailbox, LengthBeyondWhatWasWrittenIsAViolation) {
  ASSERT_TRUE(sender.send(letter(100, 0), false));
  std::byte* record = peers_view.data() + (mailbox_size - mailbox_capacity);
  for (const std::uint64_t lie : {std::uint64_t{105}, std::uint64_t{max_message_size + 1},
                                  ~std::uint64_t{0}, ~std::uint64_t{0} - 7}) {
    std::memcpy(record, &lie, sizeof lie);
    EXPECT_TRUE(next().empty());
    EXPECT_EQ(last, mailbox::outcome::violation) << lie;
  }
}

TEST_F(Mailbox, SenderDoesNotBelieveTheReceiversCursor) {
  ASSERT_TRUE(sender.send(letter(100, 0), false));
  for (const std::uint64_t lie : {std::uint64_t{1} << 40, ~std::uint64_t{0} << 40}) {
    header().taken.store(lie);
    EXPECT_FALSE(sender.send(letter(100, 0), false)) << lie;
  }
}

TEST_F(Mailbox, OtherMemoryOrAnotherVersionIsRefused) {
  const auto attach = [this](const system::descriptor& file, const system::descriptor& doorbell) {
    mail_sender other;
    return other.attach(std::move(file.duplicate().value), std::move(doorbell.duplicate().value),
                        budget);
  };
  auto empty = system::segment::create("smc-test", mailbox_size);
  ASSERT_TRUE(empty);
  EXPECT_EQ(attach(empty.value.file(), bell), reason::protocol_error);
  EXPECT_EQ(attach(box.file(), box.file()), reason::protocol_error) << "no doorbell";
  header().version.store(mailbox_version + 1);
  EXPECT_EQ(attach(box.file(), bell), reason::version_mismatch);
}

TEST_F(Mailbox, MemoryBeyondTheLimitIsNotTaken) {
  system::memory_budget small(mailbox_size - 1, 1000);
  mailbox other;
  EXPECT_EQ(other.create(small), reason::memory_limit);
  EXPECT_EQ(small.memory_in_use(), 0U);
}

}  // namespace
}  // namespace smc::test
