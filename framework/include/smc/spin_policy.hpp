#pragma once
#include <smc/version.hpp>

namespace smc {

/// What a loop, or a caller blocked in a stream, does between running out of ready work and
/// sleeping.
enum class spin_policy {
  automatic,  ///< polls for a while where that has paid lately, and learns
  never,      ///< sleeps at once: least CPU time, a wake-up's latency for each message
  fixed       ///< polls for a fixed time (`spin_time`) each time
};

}  // namespace smc
