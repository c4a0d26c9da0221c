#pragma once
// Our stream on TCP against Asio's own socket, both on io_context, with bare against bare as the
// measure of what differs by itself.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "demo/comparison.hpp"

namespace demo {

struct baseline_line {
  figure what;
  std::size_t rounds = 0;
  double bare = 0, ours = 0;  ///< medians
  double ratio = 0;           ///< median of ours over the mean of the round's two bare runs
  double spread = 1;  ///< median over the rounds of bare over bare, the larger of both orders
  /// Within 5 % of the bare socket, or inside the spread of bare against bare.
  bool holds() const noexcept;
};

/// Contenders 0 and 2 are bare, contender 1 is ours. Rounds in which the topology changed do not
/// count.
std::vector<baseline_line> judge_baseline(const plan& plan, const std::vector<trial>& rounds);

/// True when there is a line for every work and all of them hold.
bool holds(const plan& plan, const std::vector<baseline_line>& lines);

std::string to_table(const std::vector<baseline_line>& lines);
std::string to_sentence(const plan& plan, const std::vector<baseline_line>& lines);
nlohmann::ordered_json to_json(const std::vector<baseline_line>& lines);

}  // namespace demo
