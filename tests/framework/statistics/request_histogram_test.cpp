#include "statistics/request_histogram.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

#include "statistics/direction_counters.hpp"

namespace {

using smc::detail::request_histogram;

TEST(RequestHistogram, BoundsRunFrom8KTo512M) {
  EXPECT_EQ(request_histogram::upper_bound(0), 8192u);
  EXPECT_EQ(request_histogram::upper_bound(1), 16384u);
  EXPECT_EQ(request_histogram::upper_bound(request_histogram::bucket_count - 1),
            std::size_t{512} << 20);
}

TEST(RequestHistogram, ASizeAtABoundBelongsToItAndOneMoreToTheNext) {
  for (std::size_t i = 0; i < request_histogram::bucket_count; ++i) {
    const std::size_t bound = request_histogram::upper_bound(i);
    EXPECT_EQ(request_histogram::bucket_of(bound), i);
    if (i + 1 < request_histogram::bucket_count) {
      EXPECT_EQ(request_histogram::bucket_of(bound + 1), i + 1);
    }
  }
}

TEST(RequestHistogram, TheSmallestAndTheLargestSizesAreCountedToo) {
  EXPECT_EQ(request_histogram::bucket_of(0), 0u);
  EXPECT_EQ(request_histogram::bucket_of(1), 0u);
  const std::size_t last = request_histogram::bucket_count - 1;
  EXPECT_EQ(request_histogram::bucket_of((std::size_t{512} << 20) + 1), last);
  EXPECT_EQ(request_histogram::bucket_of(std::numeric_limits<std::size_t>::max()), last);
}

RC_GTEST_PROP(RequestHistogram, AnySizeIsInTheFirstBucketWhoseBoundHoldsIt, ()) {
  const auto shift = *rc::gen::inRange(0, 31);
  const auto size = *rc::gen::inRange<std::size_t>(0, std::size_t{1} << shift);
  const auto bucket = request_histogram::bucket_of(size);
  RC_ASSERT(size <= request_histogram::upper_bound(bucket) ||
            bucket + 1 == request_histogram::bucket_count);
  RC_ASSERT(bucket == 0 || size > request_histogram::upper_bound(bucket - 1));
}

TEST(RequestHistogram, ConvertsToPairsOfBoundAndCountAndAddsUp) {
  request_histogram one;
  one.add(100);
  one.add(8192);
  one.add(8193);
  request_histogram two;
  two.add(20'000);
  smc::histogram result;
  smc::detail::add_to(result, one);
  smc::detail::add_to(result, two);
  ASSERT_EQ(result.buckets.size(), request_histogram::bucket_count);
  EXPECT_EQ(result.buckets[0], (std::pair<std::size_t, std::uint64_t>{8192, 2}));
  EXPECT_EQ(result.buckets[1], (std::pair<std::size_t, std::uint64_t>{16384, 1}));
  EXPECT_EQ(result.buckets[2], (std::pair<std::size_t, std::uint64_t>{32768, 1}));
  EXPECT_EQ(result.buckets[3].second, 0u);
}

}  // namespace
