#pragma once
// One run from the client's side, from connecting to the finished row.
#include <cstdint>
#include <functional>
#include <vector>

#include "smcperf/options.hpp"
#include "smcperf/report.hpp"

namespace smcperf {

/// What happened since the last look.
struct progress {
  double from_seconds = 0, to_seconds = 0;
  std::uint64_t operations = 0, bytes = 0;
};

/// Calibrates over `cpus`, connects, warms up, measures, asks the server for its share, calibrates
/// again. `live` is called every options.interval by the caller's thread; empty: never. Throws
/// transport_not_had, std::system_error (host, connection, server gone), std::runtime_error
/// (protocol, lost bytes).
row run_client(const client_options& options, const std::vector<int>& cpus,
               const std::function<void(const progress&)>& live = {});

}  // namespace smcperf
