#pragma once
// Whether two CPUs share a cache now. Virtual CPUs float over the host's, so this is measured, not
// read from the system, before and after every run.
#include <string_view>
#include <vector>

namespace smcperf {

enum class distance { near, far, one_cpu };
std::string_view to_string(distance) noexcept;  // "near", "far", "one-cpu"

struct calibration {
  distance label = distance::one_cpu;
  double bounce_ns = 0;  ///< round trip of one cache line between the two CPUs; 0 with one CPU
};

struct topology {
  calibration before, after;
  /// Another label after the run, by more than the measurement's own noise.
  bool changed() const noexcept;
  distance label() const noexcept { return before.label; }
};

/// The CPUs this thread may run on, in order.
std::vector<int> usable_cpus();

/// Bounces a flag in a cache line between threads pinned to `first` and `second` for a few
/// milliseconds. A round trip above 290 ns means far: the two classes were seen below 230 and above
/// 360.
calibration calibrate(int first, int second);

/// calibrate() over the first two CPUs of `cpus`; one_cpu where there is only one.
calibration calibrate(const std::vector<int>& cpus);

/// Restricts the calling thread, and those it starts, to one CPU. Throws std::system_error.
void pin_to(int cpu);

}  // namespace smcperf
