#pragma once
// How an event_loop waits.
#include <chrono>
#include <smc/spin_policy.hpp>

namespace smc {

/// A value; later changes do not reach the loops that were made with it.
struct event_loop_options {
  spin_policy spin = spin_policy::automatic;
  /// For spin_policy::fixed: how long to poll before sleeping. Zero or less is the same as never.
  std::chrono::microseconds spin_time{50};
};

}  // namespace smc
