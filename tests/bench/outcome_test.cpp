#include "demo/outcome.hpp"

#include <gtest/gtest.h>

#include "rows.hpp"

namespace demo {
namespace {

using smcperf::distance;
using testing::changed_row;
using testing::row_of;

double p50(const smcperf::row& r) { return static_cast<double>(r.latencies.quantile(0.5)); }
double rate(const smcperf::row& r) { return r.operations_per_second(); }

plan two_works() {
  plan p;
  p.works = {{{}, {{"round trip", p50, figure::unit::time_ns, 1}}},
             {{}, {{"connections", rate, figure::unit::operations, 0.85}}}};
  return p;
}

TEST(Outcome, ARatioIsTheMedianOverThePairs) {
  const auto o = judge(two_works(), {{0, {row_of(30e-6), row_of(1e-6)}},
                                     {0, {row_of(20e-6), row_of(1e-6)}},
                                     {0, {row_of(90e-6), row_of(1e-6)}},
                                     {1, {row_of(50e-6), row_of(50e-6)}}});
  ASSERT_EQ(o.lines.size(), 2u);
  EXPECT_NEAR(o.lines[0].ratio, 30, 1);
  EXPECT_EQ(o.lines[0].pairs, 3u);
  EXPECT_TRUE(o.won);
  EXPECT_NE(o.sentence.find("round trip"), std::string::npos);
}

TEST(Outcome, NearAndFarAreNotMixed) {
  const auto o =
      judge(two_works(), {{0, {row_of(30e-6), row_of(1e-6)}},
                          {0, {row_of(40e-6, distance::far), row_of(2e-6, distance::far)}}});
  ASSERT_EQ(o.lines.size(), 2u);
  EXPECT_EQ(o.lines[0].where, distance::near);
  EXPECT_EQ(o.lines[1].where, distance::far);
  EXPECT_NEAR(o.lines[1].ratio, 20, 1);
}

TEST(Outcome, PairsOfAChangedTopologyDoNotCount) {
  const auto o = judge(two_works(), {{0, {row_of(30e-6), changed_row(1e-6)}}});
  EXPECT_TRUE(o.lines.empty());
  EXPECT_EQ(o.discarded, 1u);
  EXPECT_FALSE(o.won);
  EXPECT_NE(o.sentence.find("Nothing can be said"), std::string::npos);
}

TEST(Outcome, ALossIsSaidWithItsFigures) {
  const auto o = judge(two_works(),
                       {{0, {row_of(10e-6), row_of(20e-6)}}, {1, {row_of(50e-6), row_of(25e-6)}}});
  EXPECT_FALSE(o.won);
  EXPECT_NE(o.sentence.find("SMC-D did not win"), std::string::npos);
  EXPECT_NE(o.sentence.find("round trip"), std::string::npos);
  EXPECT_EQ(o.sentence.find("connections"), std::string::npos);
}

TEST(Outcome, AHandshakeMayCostWhatItIsAllowedButIsNotCalledFaster) {
  const auto won = judge(
      two_works(), {{0, {row_of(20e-6), row_of(1e-6)}}, {1, {row_of(90e-6), row_of(100e-6)}}});
  EXPECT_TRUE(won.won);
  EXPECT_NE(won.sentence.find("1 of 2"), std::string::npos) << won.sentence;
  const auto lost = judge(
      two_works(), {{0, {row_of(20e-6), row_of(1e-6)}}, {1, {row_of(50e-6), row_of(100e-6)}}});
  EXPECT_FALSE(lost.won);
}

TEST(Outcome, OnOneCpuLevelIsEnough) {
  const auto one = [](double seconds) { return row_of(seconds, distance::one_cpu); };
  EXPECT_TRUE(judge(two_works(), {{0, {one(97e-6), one(100e-6)}}}).won);
  EXPECT_FALSE(judge(two_works(), {{0, {one(90e-6), one(100e-6)}}}).won);
}

}  // namespace
}  // namespace demo
