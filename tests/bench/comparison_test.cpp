#include "demo/comparison.hpp"

#include <gtest/gtest.h>

#include "rows.hpp"

namespace demo {
namespace {

using smcperf::distance;
using testing::changed_row;
using testing::row_of;

TEST(Comparison, AMedianIsTheMiddleOne) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({9, 1, 2}), 2);
  EXPECT_EQ(median({1, 2, 4, 100}), 3);
}

TEST(Comparison, ATrialCountsWhereAllItsRowsHadOneTopology) {
  EXPECT_EQ((trial{0, {row_of(1e-6), row_of(1e-6)}}.where()), distance::near);
  EXPECT_EQ((trial{0, {row_of(1e-6, distance::far), row_of(1e-6, distance::far)}}.where()),
            distance::far);
  EXPECT_EQ((trial{0, {row_of(1e-6), row_of(1e-6, distance::far)}}.where()), std::nullopt);
  EXPECT_EQ((trial{0, {row_of(1e-6), changed_row(1e-6)}}.where()), std::nullopt);
  EXPECT_EQ((trial{0, {}}.where()), std::nullopt);
}

TEST(Comparison, ARatioAboveOneAlwaysMeansBetter) {
  const figure time{"t", nullptr, figure::unit::time_ns, 1};
  const figure rate{"r", nullptr, figure::unit::operations, 1};
  EXPECT_EQ(time.ratio(30, 10), 3);
  EXPECT_EQ(rate.ratio(10, 30), 3);
  EXPECT_EQ(rate.ratio(0, 30), 0);
}

TEST(Comparison, EveryWorkNamesItsFiguresAndItsSlice) {
  const auto slice = std::chrono::milliseconds(10);
  for (const auto& works : {transport_works(slice), baseline_works(slice)})
    for (const auto& w : works) {
      EXPECT_EQ(w.options.time, slice);
      ASSERT_FALSE(w.figures.empty());
      for (const auto& f : w.figures) EXPECT_NE(f.of, nullptr) << f.name;
    }
}

}  // namespace
}  // namespace demo
