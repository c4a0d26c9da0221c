#pragma once
// How long a loop polls before it sleeps.
#include <algorithm>
#include <chrono>
#include <smc/event_loop_options.hpp>

namespace smc::detail {

/// Spinning pays only when the event comes sooner than a sleep and a wake-up would take, which
/// depends on the peer: so the automatic policy learns from how its last spins and sleeps ended.
/// Not thread-safe.
class spin_budget {
 public:
  using duration = std::chrono::nanoseconds;

  static constexpr duration longest_automatic = std::chrono::microseconds(50);
  static constexpr duration longest_where_dear = std::chrono::milliseconds(1);
  static constexpr duration shortest_automatic = std::chrono::microseconds(2);
  static constexpr duration first_step = std::chrono::microseconds(8);
  static constexpr int misses_to_shrink = 4;

  explicit spin_budget(const event_loop_options& options) noexcept
      : learns_(options.spin == spin_policy::automatic) {
    switch (options.spin) {
      case spin_policy::automatic:
        current_ = longest_automatic;
        break;
      case spin_policy::never:
        current_ = duration::zero();
        break;
      case spin_policy::fixed:
        current_ = std::max<duration>(options.spin_time, duration::zero());
        break;
    }
  }

  bool learns() const noexcept { return learns_; }
  /// How long to poll now; zero: not at all.
  duration current() const noexcept { return current_; }

  /// The spin saw something.
  void paid() noexcept { misses_ = 0; }
  /// The spin ran out.
  void missed() noexcept {
    if (!learns_ || ++misses_ < misses_to_shrink) return;
    misses_ = 0;
    current_ /= 2;
    if (current_ < shortest_automatic) current_ = duration::zero();
  }
  /// A sleep was ended by what a spin would have seen, `idle` after the loop had nothing more to
  /// do. A sleep and its wake-up are several system calls of `call_cost` on both sides.
  void woken(duration idle, duration call_cost) noexcept {
    const duration longest = std::clamp(call_cost * 8, longest_automatic, longest_where_dear);
    if (!learns_ || idle > longest) return;
    misses_ = 0;
    current_ = std::min(longest, std::max(first_step, current_ * 2));
  }

 private:
  bool learns_;
  duration current_{};
  int misses_ = 0;
};

}  // namespace smc::detail
