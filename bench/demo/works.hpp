#pragma once
// What is compared: pieces of work, and the figures that each one gives.
#include <chrono>
#include <string>
#include <vector>

#include "smcperf/options.hpp"
#include "smcperf/report.hpp"

namespace demo {

/// One number out of a run.
struct figure {
  enum class unit {
    time_ns,
    operations,
    bytes
  };  // a time, operations per second, bytes per second
  std::string name;
  double (*of)(const smcperf::row&) = nullptr;
  unit what = unit::operations;
  double least = 0;  ///< the ratio below which the comparison is lost; 0: shown only

  std::string format(double value) const;
  /// How many times better `other` is than `base`.
  double ratio(double base, double other) const;
};

struct work {
  smcperf::client_options options;
  std::vector<figure> figures;
};

/// TCP against SMC-D: round trips, message rate, bandwidth, connections; `slice` is the measured
/// time of one run.
std::vector<work> transport_works(std::chrono::nanoseconds slice);

/// Our stream on TCP against Asio's socket: 100 B round trips and a 64 KiB stream.
std::vector<work> baseline_works(std::chrono::nanoseconds slice);

}  // namespace demo
