#include "smcperf/histogram.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace smcperf {
namespace {

double relative_error(std::uint64_t got, std::uint64_t exact) {
  return std::abs(static_cast<double>(got) - static_cast<double>(exact)) /
         static_cast<double>(exact);
}

TEST(Histogram, IsAllZeroWhenEmpty) {
  const histogram h;
  EXPECT_EQ(h.count(), 0u);
  EXPECT_EQ(h.minimum(), 0u);
  EXPECT_EQ(h.maximum(), 0u);
  EXPECT_EQ(h.quantile(0.5), 0u);
}

TEST(Histogram, IsExactForSmallValues) {
  for (std::uint64_t value = 0; value < 128; ++value) {
    histogram h;
    h.record(0);
    h.record(value);
    h.record(1000);
    EXPECT_EQ(h.quantile(0.5), value);
  }
}

TEST(Histogram, KeepsEveryMagnitudeWithinOneSixtyFourth) {
  std::mt19937_64 random(1);
  for (int bits = 1; bits <= 64; ++bits)
    for (int i = 0; i < 200; ++i) {
      const std::uint64_t top = std::uint64_t{1} << (bits - 1);
      const std::uint64_t value = top | (random() & (top - 1));
      histogram h;
      h.record(0);
      h.record(value);
      h.record(std::numeric_limits<std::uint64_t>::max());
      ASSERT_LE(relative_error(h.quantile(0.5), value), 1.0 / 64) << value;
    }
}

TEST(Histogram, IsWithinOneSixtyFourthAtBothEdgesOfEveryBucket) {
  for (int bits = 7; bits < 63; ++bits)
    for (std::uint64_t step = 0; step < 64; ++step) {
      const std::uint64_t width = (std::uint64_t{1} << bits) / 64;
      const std::uint64_t low = (std::uint64_t{1} << bits) + step * width;
      for (const std::uint64_t value : {low, low + width - 1}) {
        histogram h;
        h.record(0);
        h.record(value);
        h.record(std::numeric_limits<std::uint64_t>::max());
        ASSERT_LE(relative_error(h.quantile(0.5), value), 1.0 / 64) << value;
      }
    }
}

TEST(Histogram, QuantilesFollowTheSortedValues) {
  std::mt19937_64 random(2);
  std::vector<std::uint64_t> values;
  histogram h;
  for (int i = 0; i < 10007; ++i) {
    values.push_back(1 + (random() >> (20 + random() % 40)));
    h.record(values.back());
  }
  std::sort(values.begin(), values.end());
  for (const double q : {0.0001, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999}) {
    const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(values.size())));
    EXPECT_LE(relative_error(h.quantile(q), values[rank - 1]), 1.0 / 64) << q;
  }
  EXPECT_EQ(h.minimum(), values.front());
  EXPECT_EQ(h.maximum(), values.back());
  EXPECT_EQ(h.quantile(1), values.back());
}

TEST(Histogram, QuantilesNeverLeaveTheRangeOfWhatWasRecorded) {
  histogram h;
  h.record(1'000'003);
  for (const double q : {0.0, 0.5, 0.99, 1.0}) EXPECT_EQ(h.quantile(q), 1'000'003u);
}

TEST(Histogram, MergingIsTheSameAsRecordingInOne) {
  std::mt19937_64 random(3);
  histogram one, two, both;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t value = random() >> (random() % 64);
    (i % 3 == 0 ? one : two).record(value);
    both.record(value);
  }
  one.merge(two);
  EXPECT_EQ(one.count(), both.count());
  EXPECT_EQ(one.minimum(), both.minimum());
  EXPECT_EQ(one.maximum(), both.maximum());
  for (int percent = 0; percent <= 100; ++percent)
    EXPECT_EQ(one.quantile(percent / 100.0), both.quantile(percent / 100.0));
}

TEST(Histogram, MergingAnEmptyOneChangesNothing) {
  histogram h;
  h.record(5);
  h.merge(histogram{});
  EXPECT_EQ(h.minimum(), 5u);
  EXPECT_EQ(h.count(), 1u);
}

}  // namespace
}  // namespace smcperf
