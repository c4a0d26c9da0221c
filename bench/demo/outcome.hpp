#pragma once
// TCP against SMC-D: from the rounds to the table and the sentence under it.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "demo/comparison.hpp"

namespace demo {

/// One figure over all rounds that count in one topology.
struct line {
  figure what;
  smcperf::distance where = smcperf::distance::one_cpu;
  std::size_t pairs = 0;
  double base = 0, other = 0;  ///< medians
  double ratio = 0;            ///< median of the ratios of the pairs; above 1: `other` is better
  bool lost() const noexcept;
};

struct outcome {
  std::vector<line> lines;
  std::size_t discarded = 0;  ///< rounds in which the topology changed
  std::string sentence;
  bool won = false;
};

/// Contender 0 is TCP, contender 1 SMC-D.
outcome judge(const plan& plan, const std::vector<trial>& rounds);

std::string to_table(const outcome& result);
nlohmann::ordered_json to_json(const outcome& result);

}  // namespace demo
