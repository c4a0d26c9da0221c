// Memory that is not there: each allocation of a connection's whole life fails.
#include "failing_allocations.hpp"
#include "life.hpp"
#include "support/resources.hpp"
#include "system/memory_budget.hpp"

namespace smc::test {
namespace {

class Sweep : public each_setting {
 protected:
  using way = void (life::*)();

  config hasty() const {
    config wanted = settings();
    // How long one side may wait for a peer that had no memory to answer.
    wanted.handshake_timeout = std::chrono::milliseconds(300);
    return wanted;
  }

  /// A life in which `many` allocations fail from the `nth` on; false: it has fewer.
  bool lived_through(way lived, std::uint64_t nth, std::uint64_t many) {
    const auto memory = system::memory_budget::process().memory_in_use();
    const auto blocks = blocks_in_use();
    bool reached = false;
    {
      life one(by(), where(), hasty());
      {
        const allocation_failures failing(nth, many);
        (one.*lived)();
        reached = failing.triggered();
      }
      connected_ = one.complete() || one.fell_back();
      EXPECT_TRUE(reached || connected_) << one.story();
      one.next_client();
      one.end();
      if (HasFailure()) ADD_FAILURE() << "allocation " << nth << ": " << one.story();
    }
    const auto after = blocks_in_use();
    const std::string left = growth(before_, resources::of_this_process());
    EXPECT_TRUE(left.empty()) << "allocation " << nth << ":\n" << left;
    EXPECT_EQ(system::memory_budget::process().memory_in_use(), memory) << nth;
    EXPECT_EQ(after, blocks) << "blocks of memory, allocation " << nth;
    return reached;
  }

  void every_allocation(way lived, std::uint64_t many) {
    {  // what the process keeps from the first use on
      life first(by(), where(), settings());
      (first.*lived)();
      EXPECT_TRUE(first.complete()) << first.story();
      first.next_client();
    }
    // Hundreds of allocations read the machine's limits, and end alike: not each of them is tried.
    const std::uint64_t stride = many == 1 ? 19 : 67;
    std::uint64_t alike = 0;
    std::size_t points = 0;
    std::uint64_t nth = 0;
    while (!HasFailure() && lived_through(lived, nth, many)) {
      alike = connected_ == connected_before_ ? alike + 1 : 0;
      connected_before_ = connected_;
      nth += alike > 60 ? stride : points_apart;
      ++points;
    }
    RecordProperty("points", static_cast<int>(points));
    EXPECT_GT(points * points_apart, 10u);
  }

  resources before_ = resources::of_this_process();
  bool connected_ = false;
  bool connected_before_ = false;
};

TEST_P(Sweep, AFailedAllocationIsAnErrorOrTcpAndLeavesNothing) {
  every_allocation(&life::asynchronous, 1);
}

using BlockingSweep = Sweep;

TEST_P(BlockingSweep, AFailedAllocationIsAnErrorOrTcpAndLeavesNothing) {
  every_allocation(&life::blocking, 1);
}

TEST_P(Sweep, MemoryThatStaysAwayIsAnErrorOrTcpAndLeavesNothing) {
  every_allocation(&life::asynchronous, ~std::uint64_t{0});
}

TEST_P(BlockingSweep, MemoryThatStaysAwayIsAnErrorOrTcpAndLeavesNothing) {
  every_allocation(&life::blocking, ~std::uint64_t{0});
}

INSTANTIATE_TEST_SUITE_P(Everywhere, Sweep,
                         testing::Combine(testing::Values(carrier::tcp, carrier::smc_d_mapped,
                                                          carrier::smc_d_copying),
                                          testing::Values(place::event_loop, place::io_context)),
                         name_of_setting);
// A blocked caller does the same work on either context.
INSTANTIATE_TEST_SUITE_P(Everywhere, BlockingSweep,
                         testing::Values(std::tuple(carrier::tcp, place::event_loop),
                                         std::tuple(carrier::smc_d_mapped, place::io_context),
                                         std::tuple(carrier::smc_d_copying, place::event_loop)),
                         name_of_setting);

}  // namespace
}  // namespace smc::test
