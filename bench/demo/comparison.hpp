#pragma once
// The same work done by several contenders in turn, in short slices, so that whatever the machine
// does meets all of them.
#include <chrono>
#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "demo/works.hpp"
#include "smcperf/report.hpp"
#include "smcperf/topology.hpp"

namespace demo {

struct contender {
  std::string name;
  std::function<void(smcperf::client_options&)>
      apply;  ///< makes the options of a work this contender's
};

/// One work done once by each contender, right after one another.
struct trial {
  std::size_t work = 0;            ///< index into the works
  std::vector<smcperf::row> rows;  ///< one for each contender
  /// The topology that all rows were measured in; none: it changed in between, and the round proves
  /// nothing.
  std::optional<smcperf::distance> where() const;
};

struct plan {
  std::vector<work> works;
  std::vector<contender> contenders;
  std::size_t rounds = 5;
  std::chrono::nanoseconds limit{};  ///< no new pass over the works is begun that would end later
  std::vector<int> cpus;             ///< to calibrate over
};

/// Passes over all works `rounds` times, every second time with the contenders in reverse order.
/// Where some work has no round left that counts, further passes follow while the limit allows.
/// Throws what smcperf::run_client throws.
std::vector<trial> compare(const plan& plan, const std::function<void(std::size_t pass)>& passed);

/// The middle value, the mean of the two middle ones; 0 of nothing.
double median(std::vector<double> values);

nlohmann::ordered_json to_json(const plan& plan, const std::vector<trial>& rounds);

}  // namespace demo
