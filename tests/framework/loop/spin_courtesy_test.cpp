#include <gtest/gtest.h>

#include <smc/detail/spin_courtesy.hpp>

namespace {

using namespace std::chrono_literals;
using smc::detail::spin_courtesy;

bool hasty(const spin_courtesy& courtesy) {
  return courtesy.first_poll(0ns) == spin_courtesy::hasty_poll;
}

// How many hasty waits in a row come now, none of which decides anything.
unsigned haste(spin_courtesy& courtesy) {
  unsigned waits = 0;
  for (; hasty(courtesy); ++waits) courtesy.in_vain();
  return waits;
}

void hasten(spin_courtesy& courtesy) {
  for (unsigned i = 0; i < spin_courtesy::vain_waits_to_hasten; ++i) courtesy.in_vain();
}

TEST(SpinCourtesy, BeginsPatient) {
  EXPECT_EQ(spin_courtesy().first_poll(0ns), spin_courtesy::patient_poll);
}

TEST(SpinCourtesy, WaitsOutACallOfThePeerWhereCallsAreDear) {
  EXPECT_EQ(spin_courtesy().first_poll(100us), 400us);
}

TEST(SpinCourtesy, OneWaitInVainNowAndThenChangesNothing) {
  spin_courtesy courtesy;
  for (int i = 0; i < 100; ++i) {
    courtesy.in_vain();
    EXPECT_FALSE(hasty(courtesy));
    courtesy.paid();
  }
}

TEST(SpinCourtesy, HastensWhenPatienceIsInVain) {
  spin_courtesy courtesy;
  hasten(courtesy);
  EXPECT_EQ(haste(courtesy), spin_courtesy::shortest_haste);
}

TEST(SpinCourtesy, IsPatientAgainWhenATrialPays) {
  spin_courtesy courtesy;
  hasten(courtesy);
  haste(courtesy);
  courtesy.paid();
  courtesy.in_vain();
  EXPECT_FALSE(hasty(courtesy));
  courtesy.in_vain();
  EXPECT_EQ(haste(courtesy), spin_courtesy::shortest_haste);
}

TEST(SpinCourtesy, TriesEverMoreSeldomWhileTrialsDoNotPay) {
  spin_courtesy courtesy;
  hasten(courtesy);
  for (unsigned expected = spin_courtesy::shortest_haste; expected < spin_courtesy::longest_haste;
       expected *= 2) {
    EXPECT_EQ(haste(courtesy), expected);
    courtesy.in_vain();
  }
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(haste(courtesy), spin_courtesy::longest_haste);
    courtesy.in_vain();
  }
}

TEST(SpinCourtesy, LooksSoonForAWhileAfterADescriptorWasReady) {
  spin_courtesy courtesy;
  courtesy.descriptor_was_ready();
  EXPECT_EQ(haste(courtesy), spin_courtesy::haste_after_descriptor);
}

TEST(SpinCourtesy, ADescriptorDoesNotShortenHaste) {
  spin_courtesy courtesy;
  hasten(courtesy);
  courtesy.descriptor_was_ready();
  EXPECT_EQ(haste(courtesy), spin_courtesy::shortest_haste);
}

/// Waits that end as soon as the CPU comes back: how many of so many gave it away at once.
unsigned given_away_at_once(spin_courtesy& courtesy, unsigned waits) {
  unsigned at_once = 0;
  for (unsigned i = 0; i < waits; ++i) {
    at_once += courtesy.at_once();
    courtesy.yielded(true);
  }
  return at_once;
}

TEST(SpinCourtesy, GivesTheCpuAwayAtOnceWhereThatIsWhatItTakesButForTrials) {
  spin_courtesy courtesy;
  EXPECT_EQ(given_away_at_once(courtesy, spin_courtesy::yields_to_trust), 0u);
  constexpr unsigned rounds = 10;
  EXPECT_EQ(given_away_at_once(courtesy, rounds * spin_courtesy::waits_per_trial),
            rounds * (spin_courtesy::waits_per_trial - 1));
}

TEST(SpinCourtesy, KeepsTheCpuAgainAsSoonAsGivingItAwayBringsNothing) {
  spin_courtesy courtesy;
  given_away_at_once(courtesy, spin_courtesy::yields_to_trust);
  ASSERT_TRUE(courtesy.at_once());
  courtesy.yielded(false);
  EXPECT_FALSE(courtesy.at_once());
}

TEST(SpinCourtesy, KeepsTheCpuAgainAsSoonAsPollingPays) {
  spin_courtesy courtesy;
  given_away_at_once(courtesy, spin_courtesy::yields_to_trust);
  ASSERT_TRUE(courtesy.at_once());
  courtesy.paid();
  EXPECT_FALSE(courtesy.at_once());
}

}  // namespace
