#include "smcperf/topology.hpp"

#include <gtest/gtest.h>

#include <system_error>
#include <thread>

namespace smcperf {
namespace {

TEST(Topology, OneCpuIsItsOwnClass) {
  EXPECT_EQ(calibrate(std::vector<int>{0}).label, distance::one_cpu);
  EXPECT_EQ(calibrate(3, 3).label, distance::one_cpu);
  EXPECT_EQ(calibrate(std::vector<int>{}).label, distance::one_cpu);
}

TEST(Topology, TwoCpusAreNearOrFarAndTheBounceTakesTime) {
  const auto cpus = usable_cpus();
  if (cpus.size() < 2) GTEST_SKIP() << "one CPU only";
  const calibration c = calibrate(cpus);
  EXPECT_NE(c.label, distance::one_cpu);
  EXPECT_GT(c.bounce_ns, 0);
}

TEST(Topology, AChangeIsAnotherLabelByMoreThanNoise) {
  EXPECT_FALSE((topology{{distance::near, 200}, {distance::near, 280}}.changed()));
  EXPECT_FALSE((topology{{distance::near, 285}, {distance::far, 295}}.changed()));
  EXPECT_TRUE((topology{{distance::near, 150}, {distance::far, 450}}.changed()));
  EXPECT_TRUE((topology{{distance::far, 450}, {distance::near, 150}}.changed()));
}

TEST(Topology, PinningLeavesOneCpu) {
  const auto cpus = usable_cpus();
  ASSERT_FALSE(cpus.empty());
  std::thread([&] {
    pin_to(cpus.back());
    EXPECT_EQ(usable_cpus(), std::vector{cpus.back()});
  }).join();
}

TEST(Topology, ACpuThatDoesNotExistIsAnError) {
  EXPECT_THROW(pin_to(-1), std::system_error);
  EXPECT_THROW(pin_to(1'000'000), std::system_error);
}

}  // namespace
}  // namespace smcperf
