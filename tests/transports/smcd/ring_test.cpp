// The two ends of a ring, without a group: rings so small that everything can be tried.
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <vector>

#include "smc/close_state.hpp"
#include "smcd/ring_reader.hpp"
#include "smcd/ring_writer.hpp"

namespace smc::smcd {
namespace {

struct small_ring {
  explicit small_ring(std::uint64_t size)
      : bytes(size + 2, std::byte{0xee}),
        memory{&header, bytes.data() + 1, size, false},
        reader(memory),
        writer(memory) {}

  /// Nothing was written beside the ring.
  bool intact() const {
    return bytes.front() == std::byte{0xee} && bytes.back() == std::byte{0xee};
  }

  ring_header header{};
  std::vector<std::byte> bytes;
  ring_memory memory;
  ring_reader reader;
  ring_writer writer;
};

TEST(Ring, EveryWriteAndReadAtEveryPlaceOfTheSmallestRings) {
  for (const std::uint64_t size : {1u, 2u, 4u, 8u}) {
    for (std::uint64_t start = 0; start < 2 * size; ++start) {
      for (std::uint64_t first = 0; first <= size; ++first) {
        for (std::uint64_t taken = 0; taken <= first; ++taken) {
          for (std::uint64_t second = 0; second <= size - first + taken; ++second) {
            small_ring r(size);
            std::deque<std::byte> model;
            unsigned char next = 1;
            const auto put = [&](std::uint64_t n) {
              std::vector<std::byte> from(n);
              for (auto& b : from) model.push_back(b = std::byte{next++});
              r.memory.store(r.writer.next(), from.data(), n);
              r.writer.advance(n);
              static_cast<void>(r.writer.publish());
            };
            const auto take = [&](std::uint64_t n) {
              std::vector<std::byte> into(n);
              r.reader.copy(into.data(), n);
              static_cast<void>(r.reader.consume(n));
              for (const auto b : into) {
                ASSERT_EQ(b, model.front());
                model.pop_front();
              }
            };
            for (std::uint64_t i = 0; i < start; ++i) {
              put(1);
              ASSERT_TRUE(r.reader.look());
              take(1);
              static_cast<void>(r.reader.drained());
              ASSERT_TRUE(r.writer.look());
            }
            put(first);
            ASSERT_TRUE(r.reader.look());
            ASSERT_EQ(r.reader.available(), first);
            take(taken);
            static_cast<void>(r.reader.drained());
            ASSERT_TRUE(r.writer.look());
            ASSERT_EQ(r.writer.free(), size - first + taken);
            put(second);
            ASSERT_TRUE(r.reader.look());
            take(first - taken + second);
            ASSERT_EQ(r.reader.available(), 0u);
            ASSERT_TRUE(r.intact());
          }
        }
      }
    }
  }
}

TEST(Ring, APeersCursorIsTakenExactlyWhereItIsPossible) {
  for (const std::uint64_t size : {1u, 2u, 4u, 8u}) {
    for (std::uint64_t have = 0; have <= size; ++have) {
      for (std::uint64_t now = 0; now < 4 * size; ++now) {
        small_ring r(size);
        r.header.producer.cursor.store(have);
        ASSERT_TRUE(r.reader.look());
        r.header.producer.cursor.store(now);
        EXPECT_EQ(r.reader.look(), now >= have && now <= size);
        EXPECT_LE(r.reader.available(), size);

        small_ring w(size);
        w.writer.advance(have);
        static_cast<void>(w.writer.publish());
        w.header.consumer.cursor.store(now);
        EXPECT_EQ(w.writer.look(), now <= have);
        EXPECT_LE(w.writer.free(), size);
      }
    }
  }
}

TEST(Ring, UnpublishedBytesMayNotBeConsumed) {
  small_ring r(8);
  r.writer.advance(4);
  r.header.consumer.cursor.store(1);
  EXPECT_FALSE(r.writer.look());
}

TEST(Ring, WhoIsArmedIsToldOncePerArming) {
  small_ring r(8);
  r.reader.armed().store(1);
  r.writer.advance(1);
  const auto wake = r.writer.publish();
  EXPECT_TRUE(wake.entry);
  EXPECT_FALSE(wake.sleeper);
  r.writer.advance(1);
  EXPECT_FALSE(r.writer.publish());
  r.reader.blocked().store(1);
  r.writer.advance(1);
  EXPECT_TRUE(r.writer.publish().sleeper);
  EXPECT_EQ(r.reader.blocked().load(), 0u);
}

TEST(Ring, AWriterThatWaitsIsSeenByAReaderThatHasJustLooked) {
  small_ring r(8);
  r.writer.advance(8);
  static_cast<void>(r.writer.publish());
  r.writer.armed().store(1);
  ASSERT_TRUE(r.reader.look());
  EXPECT_TRUE(r.reader.consume(1).entry);
  ASSERT_TRUE(r.writer.look());
  EXPECT_EQ(r.writer.free(), 1u);
}

TEST(Ring, FlagsAreSeenWithAllBytesBeforeThem) {
  small_ring r(8);
  r.writer.advance(3);
  static_cast<void>(r.writer.publish());
  r.reader.armed().store(1);
  EXPECT_TRUE(r.writer.publish_flags(detail::close_flag::sending_done).entry);
  ASSERT_TRUE(r.reader.look());
  EXPECT_EQ(r.reader.available(), 3u);
  EXPECT_EQ(r.reader.writer_flags(), detail::close_flag::sending_done);
}

}  // namespace
}  // namespace smc::smcd
