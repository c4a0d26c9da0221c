#pragma once
// Rows as a run would have left them, for the tests of what is made of rows.
#include "demo/comparison.hpp"

namespace demo::testing {

inline smcperf::row row_of(double seconds_per_operation,
                           smcperf::distance where = smcperf::distance::near) {
  smcperf::row r;
  r.seconds = 1;
  r.operations = static_cast<std::uint64_t>(1 / seconds_per_operation);
  r.bytes = r.operations * 100;
  r.latencies.record(static_cast<std::uint64_t>(seconds_per_operation * 1e9));
  r.where.before = r.where.after = {where, where == smcperf::distance::near ? 150.0 : 450.0};
  return r;
}

inline smcperf::row changed_row(double seconds_per_operation) {
  smcperf::row r = row_of(seconds_per_operation);
  r.where.after = {smcperf::distance::far, 450};
  return r;
}

}  // namespace demo::testing
