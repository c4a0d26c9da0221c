#pragma once
// One measured run, as a table for people and as a JSON object (schema: bench/README.md).
#include <nlohmann/json.hpp>
#include <string>

#include "smcperf/cpu_time.hpp"
#include "smcperf/histogram.hpp"
#include "smcperf/options.hpp"
#include "smcperf/session.hpp"
#include "smcperf/topology.hpp"

namespace smcperf {

struct row {
  client_options asked;
  transport_tally
      tally;  ///< every connection of the run, warm-up included; not the control connection
  std::size_t ring = 0;   ///< bytes, of the first connection; 0 on TCP
  std::string shortfall;  ///< why fewer connections were reached than asked for; empty: all were
  double seconds = 0;
  std::uint64_t operations = 0;
  std::uint64_t bytes = 0;
  histogram latencies;  ///< nanoseconds; empty for stream and rate
  cpu_time client, server;
  topology where;

  double operations_per_second() const {
    return seconds > 0 ? static_cast<double>(operations) / seconds : 0;
  }
  double bytes_per_second() const { return seconds > 0 ? static_cast<double>(bytes) / seconds : 0; }
  /// Microseconds of CPU time that one operation cost on the side given.
  double cpu_us_per_operation(const cpu_time& side) const {
    return operations > 0
               ? static_cast<double>(side.total_ns()) / 1e3 / static_cast<double>(operations)
               : 0;
  }
};

nlohmann::ordered_json to_json(const row&);
/// A run that came to nothing, in the same schema: kind, asked options, `error`.
nlohmann::ordered_json to_json(const client_options& asked, const std::exception& error);
std::string to_table(const row&);

}  // namespace smcperf
