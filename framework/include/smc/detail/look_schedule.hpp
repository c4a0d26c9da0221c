#pragma once
// When a busy loop looks at its inner io_context (descriptors, timers), which costs a system call.
#include <algorithm>
#include <chrono>

namespace smc::detail {

/// A look is due when 256 handlers ran since the last one, or 50 µs passed; where system calls are
/// dear (traced, or under a sandbox's kernel), looks that find nothing take a 20th of the time at
/// most. The clock is not read after each handler but after a stride of them, which is long for
/// short handlers and one for long ones. Not thread-safe.
class look_schedule {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  using duration = std::chrono::nanoseconds;

  static constexpr unsigned handlers_per_look = 256;
  static constexpr duration longest_gap = std::chrono::microseconds(50);
  static constexpr duration longest_dear_gap = std::chrono::milliseconds(1);
  static constexpr int gap_per_cost = 20;
  static constexpr unsigned longest_stride = 32;

  /// To be called after each handler. True: read the clock and ask due().
  bool handler_ran() noexcept { return --credit_ == 0; }

  /// Only after handler_ran() said so.
  bool due(time_point now) noexcept {
    handlers_ += stride_;
    const auto gap = now - checked_;
    checked_ = now;
    if (gap > longest_gap / 4)
      stride_ = std::max(1u, stride_ / 4);
    else if (gap < longest_gap / 16)
      stride_ = std::min(longest_stride, stride_ * 2);
    credit_ = stride_;
    return handlers_ >= handlers_per_look || overdue(now);
  }

  bool overdue(time_point now) const noexcept {
    return now - looked_ >= std::clamp(cost_ * gap_per_cost, longest_gap, longest_dear_gap);
  }

  /// A look is due but can't be made now.
  void postpone() noexcept { handlers_ = handlers_per_look; }
  bool postponed() const noexcept { return handlers_ >= handlers_per_look; }

  void looked(time_point now) noexcept {
    handlers_ = 0;
    looked_ = now;
  }
  /// A look that found nothing: so long it took. One that was interrupted counts little.
  void looked_in_vain(time_point now, duration took) noexcept {
    looked(now);
    cost_ += (std::min(took, cost_ * 2 + std::chrono::microseconds(1)) - cost_) / 8;
  }

  /// What a look that finds nothing takes: a system call, mostly.
  duration cost() const noexcept { return cost_; }

  /// The loop slept, and looked on the way.
  void woke(time_point now) noexcept {
    looked(now);
    checked_ = now;
    credit_ = stride_;
  }

 private:
  unsigned credit_ = 1;
  unsigned stride_ = 1;
  unsigned handlers_ = 0;
  duration cost_{};
  time_point checked_{};
  time_point looked_{};
};

}  // namespace smc::detail
