#include "smcr/wire/cdc_cursor.hpp"

#include <gtest/gtest.h>

#include <ostream>
#include <random>

namespace smc::cdc {
namespace {

constexpr std::uint64_t ring = 65536;

constexpr detail::cursor at(std::uint64_t wrap, std::uint64_t count) { return wrap * ring + count; }

TEST(CdcCursor, PlacesAreWrittenAsWrapAndCount) {
  EXPECT_EQ(on_wire(0, ring), (cursor{0, 0}));
  EXPECT_EQ(on_wire(at(0, 65535), ring), (cursor{0, 65535}));
  EXPECT_EQ(on_wire(at(1, 0), ring), (cursor{1, 0}));
  EXPECT_EQ(on_wire(at(65536, 7), ring), (cursor{0, 7}));
  EXPECT_EQ(on_wire(at(3, 100), 2 * ring), (cursor{1, 65636}));
}

// The cases that the kernel decides, two of them as it should.
TEST(CdcCursor, ReceivedCursorsAreKeptAsTheyShould) {
  struct {
    detail::cursor held;
    cursor received;
    verdict expected;
    detail::cursor kept;
  } const cases[] = {
      {at(0, 0), {0, 1000}, verdict::taken, at(0, 1000)},
      {at(0, 1000), {0, 500}, verdict::outdated, at(0, 1000)},
      {at(2, 100), {1, 50}, verdict::outdated, at(2, 100)},
      {at(65535, 100), {0, 50}, verdict::taken, at(65536, 50)},
      {at(1, 100), {0, 60000}, verdict::outdated, at(1, 100)},
      {at(0, 0), {0, 4000000}, verdict::forged, at(0, 0)},
      {at(5, 5), {5, 5}, verdict::taken, at(5, 5)},
  };
  for (const auto& c : cases) {
    const auto r = received_producer(c.held, c.received, c.held, ring);
    EXPECT_EQ(r.what, c.expected) << c.received.wrap << '/' << c.received.count;
    EXPECT_EQ(r.value, c.kept);
  }
}

TEST(CdcCursor, ProducerMayFillTheRingAndNotMore) {
  EXPECT_EQ(received_producer(0, {1, 0}, 0, ring).value, ring);
  EXPECT_EQ(received_producer(0, {1, 1}, 0, ring).what, verdict::forged);
  EXPECT_EQ(received_producer(at(1, 0), {1, 1}, 1, ring).value, at(1, 1));
  EXPECT_EQ(received_producer(0, {2, 0}, 0, ring).what, verdict::forged);
  EXPECT_EQ(received_producer(0, {0, ring}, 0, ring).what, verdict::forged);
}

TEST(CdcCursor, ConsumerMayReachWhatWasWrittenAndNotMore) {
  EXPECT_EQ(received_consumer(10, {0, 500}, 500, ring).value, 500U);
  EXPECT_EQ(received_consumer(10, {0, 501}, 500, ring).what, verdict::forged);
  EXPECT_EQ(received_consumer(10, {0, 9}, 500, ring).what, verdict::outdated);
  EXPECT_EQ(received_consumer(at(0, 60000), {1, 5}, at(1, 10), ring).value, at(1, 5));
}

TEST(CdcCursor, FollowsAnyCorrectConversationOverManyWraps) {
  std::mt19937_64 random(7609);
  for (const std::uint64_t size : {std::uint64_t{16384}, std::uint64_t{512} << 20}) {
    detail::cursor written = size * 65534, seen = written, consumed = written, told = written;
    detail::cursor known = written;  // the writer's view of `consumed`
    for (int i = 0; i < 20000; ++i) {
      const auto up_to = [&](std::uint64_t n) { return random() % (n + 1); };
      written += up_to(size - (written - known));
      const auto p = received_producer(seen, on_wire(written, size), told, size);
      ASSERT_EQ(p.what, verdict::taken);
      ASSERT_EQ(p.value, written);
      seen = p.value;
      consumed += up_to(seen - consumed);
      told = consumed;
      const auto c = received_consumer(known, on_wire(told, size), written, size);
      ASSERT_EQ(c.what, verdict::taken);
      ASSERT_EQ(c.value, told);
      known = c.value;
    }
    EXPECT_GT(written, size * 65536);
  }
}

TEST(CdcCursor, NoForgedCursorLeavesTheRing) {
  std::mt19937_64 random(7610);
  constexpr std::uint64_t size = 16384;
  for (int i = 0; i < 200000; ++i) {
    const detail::cursor consumed = random() % (size * 70000);
    const detail::cursor held = consumed + random() % (size + 1);
    const cursor received{static_cast<std::uint16_t>(on_wire(held, size).wrap + random() % 5 - 2),
                          static_cast<std::uint32_t>(random() % (size + size / 4))};
    const auto p = received_producer(held, received, consumed, size);
    ASSERT_GE(p.value, held);
    ASSERT_LE(p.value - consumed, size);
    const auto c = received_consumer(consumed, received, held, size);
    ASSERT_GE(c.value, consumed);
    ASSERT_LE(c.value, held);
  }
}

}  // namespace
}  // namespace smc::cdc
