#include "smc/cursor.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <set>

namespace smc::detail {
namespace {

// Small enough to try everything: rings of 1 to 8 bytes, each cursor, also where 64 bits run over.
constexpr std::uint64_t sizes[] = {1, 2, 4, 8};
constexpr cursor starts[] = {0, 5, std::numeric_limits<cursor>::max() - 6};

TEST(Cursor, AProducerCursorIsValidExactlyFromTheOneHeldToAFullRing) {
  for (const auto size : sizes) {
    for (const auto base : starts) {
      for (std::uint64_t held = 0; held <= size; ++held) {
        for (std::uint64_t step = 0; step < 4 * size; ++step) {
          // From one ring below the consumer to three above.
          const cursor now = base - size + step;
          const bool expected = step >= size + held && step <= 2 * size;
          EXPECT_EQ(valid_producer(base + held, now, base, size), expected)
              << size << ' ' << base << ' ' << held << ' ' << step;
        }
      }
    }
  }
}

TEST(Cursor, AConsumerCursorIsValidExactlyFromTheOneHeldToThePublished) {
  for (const auto base : starts) {
    for (std::uint64_t unread = 0; unread <= 8; ++unread) {
      for (std::uint64_t step = 0; step <= 32; ++step) {
        const cursor now = base - 16 + step;
        const bool expected = step >= 16 && step <= 16 + unread;
        EXPECT_EQ(valid_consumer(base, now, base + unread), expected);
      }
    }
  }
}

TEST(Cursor, WildValuesAreNeverValid) {
  for (const cursor wild : {~cursor{0}, cursor{1} << 63, cursor{1} << 32, cursor{65537}}) {
    EXPECT_FALSE(valid_producer(10, wild, 5, 65536 - 5)) << wild;
    EXPECT_FALSE(valid_consumer(10, wild, 20)) << wild;
  }
}

TEST(Cursor, FreeSpaceAndContentsAreTheRing) {
  for (const auto size : sizes) {
    for (const auto base : starts) {
      for (std::uint64_t n = 0; n <= size; ++n) {
        EXPECT_EQ(free_space(base + n, base, size) + distance(base, base + n), size);
      }
    }
  }
}

TEST(Cursor, EachByteOfARingHasItsOwnPlace) {
  for (const auto size : sizes) {
    for (const auto base : starts) {
      std::set<std::uint64_t> places;
      for (std::uint64_t i = 0; i < size; ++i) {
        places.insert(offset_in(base + i, size));
        EXPECT_EQ(until_end(base + i, size) + offset_in(base + i, size), size);
      }
      EXPECT_EQ(places.size(), size);
      EXPECT_EQ(*places.rbegin(), size - 1);
    }
  }
}

}  // namespace
}  // namespace smc::detail
