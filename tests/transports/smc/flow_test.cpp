#include "smc/flow.hpp"

#include <gtest/gtest.h>

namespace smc::detail {
namespace {

TEST(Flow, NothingFreedIsNothingToTell) {
  for (const bool drained : {false, true}) {
    for (const bool waits : {false, true}) {
      EXPECT_FALSE(should_publish({7, 7, drained, waits}, 16));
    }
  }
}

TEST(Flow, AQuarterOfTheRingIsTold) {
  for (std::uint64_t freed = 1; freed <= 16; ++freed) {
    EXPECT_EQ(should_publish({100, 100 + freed, false, false}, 16), freed >= 4) << freed;
  }
}

TEST(Flow, OneByteIsToldWhereSomebodyStandsStill) {
  EXPECT_TRUE(should_publish({3, 4, true, false}, 65536));
  EXPECT_TRUE(should_publish({3, 4, false, true}, 65536));
  EXPECT_FALSE(should_publish({3, 4, false, false}, 65536));
}

TEST(Flow, StepsFitSeveralTimesIntoTheRing) {
  EXPECT_EQ(publish_step(1), 1u);
  EXPECT_EQ(publish_step(16384), 4096u);
  EXPECT_EQ(publish_step(131072), 32768u);
  EXPECT_EQ(publish_step(std::uint64_t{1} << 29), 32768u);
}

// A writer and a reader that only follow these rules, on every ring up to 8 bytes, with every pair
// of chunk sizes: neither may be stuck while the other has nothing to do.
TEST(Flow, WriterAndReaderNeverStandStillTogether) {
  for (const std::uint64_t size : {1u, 2u, 4u, 8u}) {
    for (std::uint64_t w = 1; w <= size; ++w) {
      for (std::uint64_t r = 1; r <= size; ++r) {
        cursor produced = 0, consumed = 0, told = 0;
        for (int turn = 0; turn < 200; ++turn) {
          const auto before = produced;
          const bool blocked = free_space(produced, told, size) < w;
          if (!blocked) produced += w;
          ASSERT_TRUE(valid_producer(before, produced, told, size));
          const auto n = std::min(r, distance(consumed, produced));
          consumed += n;
          if (should_publish({told, consumed, n == 0, blocked}, size)) {
            ASSERT_TRUE(valid_consumer(told, consumed, produced));
            told = consumed;
          }
        }
        EXPECT_GE(produced, 60u) << size << ' ' << w << ' ' << r;
      }
    }
  }
}

}  // namespace
}  // namespace smc::detail
