#include <gtest/gtest.h>

#include <smc/detail/spin_budget.hpp>

namespace {

using namespace std::chrono_literals;
using smc::event_loop_options;
using smc::spin_policy;
using smc::detail::spin_budget;

spin_budget automatic() { return spin_budget(event_loop_options{spin_policy::automatic, 50us}); }

void miss(spin_budget& budget, int times) {
  for (int i = 0; i < times; ++i) budget.missed();
}

TEST(SpinBudget, NeverIsZeroWhateverHappens) {
  spin_budget budget(event_loop_options{spin_policy::never, 50us});
  budget.woken(1us, 0ns);
  EXPECT_EQ(budget.current(), 0ns);
}

TEST(SpinBudget, FixedStaysWhatWasAskedFor) {
  spin_budget budget(event_loop_options{spin_policy::fixed, 123us});
  miss(budget, 100);
  budget.woken(1us, 0ns);
  EXPECT_EQ(budget.current(), 123us);
}

TEST(SpinBudget, ANegativeFixedTimeIsNever) {
  EXPECT_EQ(spin_budget(event_loop_options{spin_policy::fixed, -1us}).current(), 0ns);
}

TEST(SpinBudget, AutomaticShrinksToNothingWhileSpinningDoesNotPay) {
  spin_budget budget = automatic();
  EXPECT_EQ(budget.current(), 50us);
  miss(budget, spin_budget::misses_to_shrink);
  EXPECT_EQ(budget.current(), 25us);
  miss(budget, 100);
  EXPECT_EQ(budget.current(), 0ns);
}

TEST(SpinBudget, AutomaticStaysWhileSomeSpinsPay) {
  spin_budget budget = automatic();
  for (int i = 0; i < 100; ++i) {
    miss(budget, spin_budget::misses_to_shrink - 1);
    budget.paid();
  }
  EXPECT_EQ(budget.current(), 50us);
}

TEST(SpinBudget, AutomaticGrowsAgainWhenAWakeUpComesSoon) {
  spin_budget budget = automatic();
  miss(budget, 100);
  budget.woken(30us, 0ns);
  EXPECT_EQ(budget.current(), spin_budget::first_step);
  for (int i = 0; i < 10; ++i) budget.woken(30us, 0ns);
  EXPECT_EQ(budget.current(), 50us);
}

TEST(SpinBudget, AWakeUpThatNoSpinWouldHaveSeenChangesNothing) {
  spin_budget budget = automatic();
  miss(budget, 100);
  budget.woken(51us, 0ns);
  EXPECT_EQ(budget.current(), 0ns);
}

TEST(SpinBudget, AutomaticSpinsLongerWhereASleepIsDear) {
  spin_budget budget = automatic();
  for (int i = 0; i < 10; ++i) budget.woken(150us, 20us);
  EXPECT_EQ(budget.current(), 160us);
  for (int i = 0; i < 10; ++i) budget.woken(150us, 1h);
  EXPECT_EQ(budget.current(), spin_budget::longest_where_dear);
}

}  // namespace
