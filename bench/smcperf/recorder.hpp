#pragma once
// What one loop measures, and when its workers stop.
#include <atomic>
#include <chrono>
#include <cstdint>

#include "smcperf/histogram.hpp"

namespace smcperf {

using clock = std::chrono::steady_clock;

/// Until `count` operations are done (0: no such limit) or `end` has passed.
struct limits {
  std::uint64_t count = 0;
  clock::time_point end = clock::time_point::max();
};

/// Threading: written by the thread of one loop; operations() and bytes() may be read by any.
class alignas(64) recorder {
 public:
  void add(std::uint64_t bytes) noexcept {
    operations_.store(operations_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    bytes_.store(bytes_.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
  }
  void add_timed(std::uint64_t bytes, clock::duration spent) noexcept {
    add(bytes);
    latencies_.record(static_cast<std::uint64_t>(std::chrono::nanoseconds(spent).count()));
  }
  /// A worker is done; the run lasts until its last worker is.
  void finished(clock::time_point when) noexcept {
    if (when > last_finish_) last_finish_ = when;
  }

  std::uint64_t operations() const noexcept { return operations_.load(std::memory_order_relaxed); }
  std::uint64_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }
  const histogram& latencies() const noexcept { return latencies_; }
  clock::time_point last_finish() const noexcept { return last_finish_; }

 private:
  std::atomic<std::uint64_t> operations_{0};
  std::atomic<std::uint64_t> bytes_{0};
  histogram latencies_;
  clock::time_point last_finish_{};
};

}  // namespace smcperf
