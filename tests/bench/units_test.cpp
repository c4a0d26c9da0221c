#include "smcperf/units.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace smcperf {
namespace {

using namespace std::chrono_literals;

TEST(Units, SizesTakeBinarySuffixesInAnyCase) {
  EXPECT_EQ(parse_size("100"), 100u);
  EXPECT_EQ(parse_size("64K"), 65536u);
  EXPECT_EQ(parse_size("64k"), 65536u);
  EXPECT_EQ(parse_size("1M"), 1u << 20);
  EXPECT_EQ(parse_size("2g"), std::uint64_t{2} << 30);
}

TEST(Units, WrongSizesAreNamedWithWhatIsRight) {
  for (const char* wrong : {"", "K", "-1", "64KB", "6 4", "1.5K", "1T", " 1",
                            "18446744073709551616", "18446744073709551615K"})
    try {
      parse_size(wrong);
      ADD_FAILURE() << wrong;
    } catch (const std::invalid_argument& e) {
      EXPECT_NE(std::string(e.what()).find("'" + std::string(wrong) + "'"), std::string::npos);
      EXPECT_NE(std::string(e.what()).find("64K"), std::string::npos);
    }
}

TEST(Units, TimesTakeUnitsAndFractions) {
  EXPECT_EQ(parse_duration("5"), 5s);
  EXPECT_EQ(parse_duration("5s"), 5s);
  EXPECT_EQ(parse_duration("0.2s"), 200ms);
  EXPECT_EQ(parse_duration("50us"), 50us);
  EXPECT_EQ(parse_duration("7ns"), 7ns);
  EXPECT_EQ(parse_duration("1.5ms"), 1500us);
  EXPECT_EQ(parse_duration("2m"), 2min);
  EXPECT_EQ(parse_duration("0"), 0s);
}

TEST(Units, WrongTimesAreNamedWithWhatIsRight) {
  for (const char* wrong : {"", "s", "-1s", "5h", "5 s", "nan", "inf", "1e30s", "99999999999m"})
    try {
      parse_duration(wrong);
      ADD_FAILURE() << wrong;
    } catch (const std::invalid_argument& e) {
      EXPECT_NE(std::string(e.what()).find("'" + std::string(wrong) + "'"), std::string::npos);
      EXPECT_NE(std::string(e.what()).find("50us"), std::string::npos);
    }
}

TEST(Units, SizesPrintInTheLargestUnitThatIsExact) {
  EXPECT_EQ(format_size(100), "100 B");
  EXPECT_EQ(format_size(65536), "64 KiB");
  EXPECT_EQ(format_size(1 << 20), "1 MiB");
  EXPECT_EQ(format_size((1 << 20) + 1024), "1025 KiB");
  EXPECT_EQ(format_size(std::uint64_t{1} << 30), "1 GiB");
}

TEST(Units, RatesAndTimesPrintThreeDigits) {
  EXPECT_EQ(format_rate(12.34e9, "B/s"), "12.3 GB/s");
  EXPECT_EQ(format_rate(999.6, "/s"), "1000 /s");
  EXPECT_EQ(format_rate(1234, "/s"), "1.23 k/s");
  EXPECT_EQ(format_time(380), "0.38 us");
  EXPECT_EQ(format_time(26'540), "26.5 us");
  EXPECT_EQ(format_time(1'250'000), "1.25 ms");
  EXPECT_EQ(format_time(2.5e9), "2.50 s");
}

}  // namespace
}  // namespace smcperf
