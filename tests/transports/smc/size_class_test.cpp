#include "smc/size_class.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace smc::detail {
namespace {

TEST(SizeClass, SizesAreRoundedUpToPowersOfTwo) {
  EXPECT_EQ(ring_size_for(0), 16384u);
  EXPECT_EQ(ring_size_for(16384), 16384u);
  EXPECT_EQ(ring_size_for(16385), 32768u);
  EXPECT_EQ(ring_size_for(65537), 131072u);
  EXPECT_EQ(ring_size_for(536870912), 536870912u);
  EXPECT_EQ(ring_size_for(std::numeric_limits<std::uint64_t>::max()), 536870912u);
}

TEST(SizeClass, ClassesAreNumberedAsOnTheWire) {
  for (std::size_t code = 0; code < size_class_count; ++code) {
    EXPECT_TRUE(is_ring_size(min_ring_size << code));
    EXPECT_EQ(size_class_of(min_ring_size << code), code);
  }
}

TEST(SizeClass, OtherNumbersAreNoSizes) {
  for (const std::uint64_t n :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{8192}, std::uint64_t{16385},
        std::uint64_t{3} << 14, std::uint64_t{1} << 30, ~std::uint64_t{0}}) {
    EXPECT_FALSE(is_ring_size(n)) << n;
  }
}

}  // namespace
}  // namespace smc::detail
