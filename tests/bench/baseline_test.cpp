#include "demo/baseline.hpp"

#include <gtest/gtest.h>

#include "rows.hpp"

namespace demo {
namespace {

using testing::changed_row;
using testing::row_of;

double p50(const smcperf::row& r) { return static_cast<double>(r.latencies.quantile(0.5)); }

plan one_work() {
  plan p;
  p.works = {{{}, {{"round trip", p50, figure::unit::time_ns, 1}}}};
  return p;
}

bool holds_for(double bare, double ours, double bare_again) {
  const auto p = one_work();
  return holds(p, judge_baseline(p, {{0, {row_of(bare), row_of(ours), row_of(bare_again)}}}));
}

TEST(Baseline, FivePercentAreAllowed) {
  EXPECT_TRUE(holds_for(100e-6, 100e-6, 100e-6));
  EXPECT_TRUE(holds_for(100e-6, 104e-6, 100e-6));
  EXPECT_FALSE(holds_for(100e-6, 115e-6, 100e-6));
}

TEST(Baseline, TheSpreadOfBareAgainstBareIsAllowedToo) {
  EXPECT_TRUE(holds_for(90e-6, 115e-6, 120e-6));
  EXPECT_FALSE(holds_for(90e-6, 150e-6, 120e-6));
}

TEST(Baseline, NothingMeasuredProvesNothing) {
  const auto p = one_work();
  const auto lines = judge_baseline(p, {{0, {row_of(1e-6), changed_row(1e-6), row_of(1e-6)}}});
  EXPECT_FALSE(holds(p, lines));
  EXPECT_NE(to_sentence(p, lines).find("run it again"), std::string::npos);
}

}  // namespace
}  // namespace demo
