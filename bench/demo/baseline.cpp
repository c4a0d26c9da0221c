#include "demo/baseline.hpp"

#include <algorithm>
#include <iomanip>
#include <sstream>

namespace demo {
namespace {

constexpr double allowed = 0.95;

std::string number(double value) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(3) << value;
  return text.str();
}

}  // namespace

bool baseline_line::holds() const noexcept { return ratio >= std::min(allowed, 1 / spread); }

std::vector<baseline_line> judge_baseline(const plan& plan, const std::vector<trial>& rounds) {
  std::vector<baseline_line> lines;
  for (std::size_t w = 0; w < plan.works.size(); ++w)
    for (const auto& what : plan.works[w].figures) {
      baseline_line l;
      l.what = what;
      std::vector<double> bare, ours, ratio, spread;
      for (const auto& r : rounds) {
        if (r.work != w || !r.where()) continue;
        const double first = what.of(r.rows[0]), mine = what.of(r.rows[1]),
                     second = what.of(r.rows[2]);
        bare.push_back((first + second) / 2);
        ours.push_back(mine);
        ratio.push_back(what.ratio(bare.back(), mine));
        const double again = what.ratio(first, second);
        if (again > 0) spread.push_back(std::max(again, 1 / again));
      }
      l.rounds = ratio.size();
      if (l.rounds == 0) continue;
      l.bare = median(bare);
      l.ours = median(ours);
      l.ratio = median(ratio);
      if (!spread.empty()) l.spread = median(spread);
      lines.push_back(l);
    }
  return lines;
}

bool holds(const plan& plan, const std::vector<baseline_line>& lines) {
  std::size_t wanted = 0;
  for (const auto& w : plan.works) wanted += w.figures.size();
  return lines.size() == wanted &&
         std::all_of(lines.begin(), lines.end(), [](const baseline_line& l) { return l.holds(); });
}

std::string to_table(const std::vector<baseline_line>& lines) {
  std::ostringstream out;
  const auto put = [&](std::string_view name, std::string_view bare, std::string_view ours,
                       std::string_view ratio, std::string_view spread, std::string_view rounds) {
    out << std::left << std::setw(34) << name << std::right << std::setw(14) << bare
        << std::setw(14) << ours << std::setw(8) << ratio << std::setw(18) << spread << std::setw(8)
        << rounds << "\n";
  };
  put("work", "asio socket", "smc on TCP", "ratio", "bare/bare", "rounds");
  for (const auto& l : lines)
    put(l.what.name, l.what.format(l.bare), l.what.format(l.ours), number(l.ratio),
        number(1 / l.spread) + " - " + number(l.spread), std::to_string(l.rounds));
  return out.str();
}

std::string to_sentence(const plan& plan, const std::vector<baseline_line>& lines) {
  if (holds(plan, lines))
    return "Our stream on TCP is within 5 % of Asio's own socket, or inside the spread of that "
           "socket against itself.";
  std::string text = "Our stream on TCP is not level with Asio's own socket:";
  for (const auto& l : lines)
    if (!l.holds()) text += " " + l.what.name + " " + number(l.ratio) + ";";
  if (lines.empty()) text += " no round without a change of topology; run it again;";
  text.back() = '.';
  return text;
}

nlohmann::ordered_json to_json(const std::vector<baseline_line>& lines) {
  auto json = nlohmann::ordered_json::array();
  for (const auto& l : lines)
    json.push_back({{"work", l.what.name},
                    {"rounds", l.rounds},
                    {"bare", l.bare},
                    {"smc_tcp", l.ours},
                    {"ratio", l.ratio},
                    {"bare_spread", {1 / l.spread, l.spread}},
                    {"holds", l.holds()}});
  return json;
}

}  // namespace demo
