#include "system/memory_budget.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

namespace smc::system {
namespace {

/// A directory with the files of /proc and of control groups that a test wants.
class FakeRoot : public ::testing::Test {
 protected:
  FakeRoot() {
    std::string name = (std::filesystem::temp_directory_path() / "smc-limits-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
    put("/proc/meminfo", "MemTotal:       1048576 kB\nMemFree:  10 kB\n");
  }
  ~FakeRoot() override { std::filesystem::remove_all(root_); }

  void put(const std::string& path, const std::string& text) {
    const auto whole = root_ + path;
    std::filesystem::create_directories(std::filesystem::path(whole).parent_path());
    std::ofstream(whole) << text;
  }

  std::string root_;
};

TEST_F(FakeRoot, WithoutGroupsTheMachineIsTheLimit) {
  const auto limits = read_memory_limits(root_);
  EXPECT_EQ(limits.machine, std::uint64_t{1} << 30);
  EXPECT_EQ(limits.total(), std::uint64_t{1} << 30);
  EXPECT_EQ(limits.group_free, no_memory_limit);
}

TEST_F(FakeRoot, AVersion2GroupAndThoseAboveItCount) {
  put("/proc/self/mountinfo",
      "30 22 0:27 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
  put("/proc/self/cgroup", "0::/outer/inner\n");
  put("/sys/fs/cgroup/outer/inner/memory.max", "max\n");
  put("/sys/fs/cgroup/outer/inner/memory.current", "500\n");
  put("/sys/fs/cgroup/outer/memory.max", "104857600\n");
  put("/sys/fs/cgroup/outer/memory.current", "60000000\n");
  put("/sys/fs/cgroup/outer/memory.stat", "anon 5\ninactive_file 10000000\n");
  const auto limits = read_memory_limits(root_);
  EXPECT_EQ(limits.group_limit, 104857600u);
  EXPECT_EQ(limits.group_free, 104857600u - 50000000u) << "page cache can be dropped";
  EXPECT_EQ(limits.total(), 104857600u);
}

TEST_F(FakeRoot, AVersion1GroupCountsByItsController) {
  put("/proc/self/mountinfo",
      "30 22 0:27 / /cg/cpu rw - cgroup cgroup rw,cpu\n"
      "31 22 0:28 / /cg/memory rw - cgroup cgroup rw,memory\n");
  put("/proc/self/cgroup", "2:cpu:/elsewhere\n4:memory:/a\n0::/\n");
  put("/cg/memory/a/memory.limit_in_bytes", "4096\n");
  put("/cg/memory/a/memory.usage_in_bytes", "5000\n");
  const auto limits = read_memory_limits(root_);
  EXPECT_EQ(limits.group_limit, 4096u);
  EXPECT_EQ(limits.group_free, 0u);
}

TEST_F(FakeRoot, AContainerSeesItsGroupAsTheRootOfTheMount) {
  put("/proc/self/mountinfo", "30 22 0:27 /pod/x /cg rw - cgroup2 cgroup2 rw\n");
  put("/proc/self/cgroup", "0::/pod/x/y\n");
  put("/cg/memory.max", "9000\n");
  put("/cg/y/memory.max", "8000\n");
  EXPECT_EQ(read_memory_limits(root_).group_limit, 8000u);
}

TEST_F(FakeRoot, RubbishIsNoLimit) {
  put("/proc/self/mountinfo", "nonsense\n - \n1 2 3 - cgroup2\n");
  put("/proc/self/cgroup", "::\n:\n\n");
  EXPECT_EQ(read_memory_limits(root_).group_limit, no_memory_limit);
  EXPECT_EQ(read_mapping_limit(root_), 65530u);
  put("/proc/sys/vm/max_map_count", "1000\n");
  EXPECT_EQ(read_mapping_limit(root_), 1000u);
}

TEST(MemoryBudget, GrantsUpToItsLimitAndTakesBack) {
  memory_budget budget(100, 10);
  EXPECT_EQ(budget.take_memory(60), reason::none);
  EXPECT_EQ(budget.take_memory(41), reason::memory_limit);
  EXPECT_EQ(budget.take_memory(~std::uint64_t{0}), reason::memory_limit);
  EXPECT_EQ(budget.take_memory(40), reason::none);
  budget.give_back_memory(60);
  EXPECT_EQ(budget.memory_in_use(), 40u);
  budget.set_limit(10);
  EXPECT_EQ(budget.take_memory(1), reason::memory_limit);
  budget.set_limit(0);
  EXPECT_EQ(budget.limit(), 100u);
  EXPECT_EQ(budget.take_mappings(10), reason::none);
  EXPECT_EQ(budget.take_mappings(1), reason::mapping_limit);
}

TEST(MemoryBudget, SharesGiveBackWhatTheyTook) {
  memory_budget budget(100, 10);
  {
    budget_share a;
    EXPECT_EQ(a.take(budget, 50, 4), reason::none);
    EXPECT_EQ(a.take(budget, 60, 1), reason::memory_limit);
    EXPECT_EQ(budget.mappings_in_use(), 4u) << "nothing of a failed call is kept";
    budget_share b = std::move(a);
    EXPECT_EQ(budget.memory_in_use(), 50u);
  }
  EXPECT_EQ(budget.memory_in_use(), 0u);
  EXPECT_EQ(budget.mappings_in_use(), 0u);
}

TEST(MemoryBudget, SeveralThreadsNeverGetMoreThanThereIs) {
  memory_budget budget(1000, 10);
  std::atomic<int> granted{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) granted += budget.take_memory(1) == reason::none;
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(granted, 1000);
}

TEST(MemoryBudget, TheProcessHasOneWithADefault) {
  auto& budget = memory_budget::process();
  EXPECT_EQ(&budget, &memory_budget::process());
  EXPECT_GT(budget.limit(), 0u);
  EXPECT_LE(budget.limit(), read_memory_limits().machine / 8);
}

}  // namespace
}  // namespace smc::system
