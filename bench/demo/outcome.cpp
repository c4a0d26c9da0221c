#include "demo/outcome.hpp"

#include <algorithm>
#include <cstdio>
#include <iomanip>
#include <sstream>

#include "smcperf/units.hpp"

namespace demo {
namespace {

using smcperf::distance;

// Where both processes share one CPU nothing can overlap: being no slower is what can be asked for.
constexpr double least_on_one_cpu = 0.95;

std::string times(double ratio) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(ratio < 10 ? 2 : 1) << ratio << " x";
  return text.str();
}

std::vector<line> lines_of(const plan& plan, const std::vector<trial>& rounds) {
  std::vector<line> lines;
  for (std::size_t w = 0; w < plan.works.size(); ++w)
    for (const auto& what : plan.works[w].figures)
      for (const auto where : {distance::near, distance::far, distance::one_cpu}) {
        std::vector<double> base, other, ratio;
        for (const auto& r : rounds) {
          if (r.work != w || r.where() != where) continue;
          base.push_back(what.of(r.rows[0]));
          other.push_back(what.of(r.rows[1]));
          ratio.push_back(what.ratio(base.back(), other.back()));
        }
        if (!ratio.empty())
          lines.push_back({what, where, ratio.size(), median(base), median(other), median(ratio)});
      }
  return lines;
}

// "round trip 100 B, p50: 26.5 us on TCP, 0.38 us on SMC-D (69.7 x, near)"
std::string describe(const line& l) {
  return l.what.name + ": " + l.what.format(l.base) + " on TCP, " + l.what.format(l.other) +
         " on SMC-D (" + times(l.ratio) + ", " + std::string(to_string(l.where)) + ")";
}

std::string tell(const std::vector<line>& lines, bool& won) {
  won = false;
  std::vector<const line*> judged, lost, behind;
  for (const auto& l : lines) {
    if (l.what.least == 0) continue;
    judged.push_back(&l);
    if (l.lost()) {
      lost.push_back(&l);
    } else if (l.ratio < 1) {
      behind.push_back(&l);
    }
  }
  if (judged.empty())
    return "Nothing can be said: the topology of the CPUs changed during every comparison. Run it "
           "again.";
  const auto worse = [](const line* a, const line* b) { return a->ratio < b->ratio; };
  std::string text;
  if (!lost.empty()) {
    text = "SMC-D did not win: ";
    for (const auto* l : lost) text += (l == lost.front() ? "" : "; ") + describe(*l);
    return text + ".";
  }
  won = true;
  const auto* best = *std::max_element(judged.begin(), judged.end(), worse);
  const auto* least = *std::min_element(judged.begin(), judged.end(), worse);
  if (behind.empty()) {
    text = "The same program on the same sockets was faster over shared memory in all " +
           std::to_string(judged.size()) + " comparisons";
  } else {
    text = "The same program over shared memory was faster than or level with TCP in " +
           std::to_string(judged.size() - behind.size()) + " of " + std::to_string(judged.size()) +
           " comparisons, and as much behind in the others as is allowed there";
  }
  return text + "; the most in " + describe(*best) + ", the least in " + describe(*least) + ".";
}

}  // namespace

bool line::lost() const noexcept {
  if (what.least == 0) return false;
  return ratio < (where == distance::one_cpu ? std::min(what.least, least_on_one_cpu) : what.least);
}

outcome judge(const plan& plan, const std::vector<trial>& rounds) {
  outcome result;
  result.lines = lines_of(plan, rounds);
  result.discarded = static_cast<std::size_t>(std::count_if(
      rounds.begin(), rounds.end(), [](const trial& r) { return !r.where().has_value(); }));
  result.sentence = tell(result.lines, result.won);
  return result;
}

std::string to_table(const outcome& result) {
  std::ostringstream out;
  const auto put = [&](std::string_view name, std::string_view base, std::string_view other,
                       std::string_view ratio, std::string_view where, std::string_view pairs) {
    out << std::left << std::setw(34) << name << std::right << std::setw(13) << base
        << std::setw(13) << other << std::setw(11) << ratio << "  " << std::left << std::setw(8)
        << where << std::right << std::setw(5) << pairs << "\n";
  };
  put("work", "TCP", "SMC-D", "ratio", "CPUs", "pairs");
  for (const auto& l : result.lines)
    put(l.what.name, l.what.format(l.base), l.what.format(l.other), times(l.ratio),
        to_string(l.where), std::to_string(l.pairs));
  if (result.discarded > 0)
    out << "(" << result.discarded
        << " pairs discarded: the CPUs moved nearer or farther in between)\n";
  return out.str();
}

nlohmann::ordered_json to_json(const outcome& result) {
  nlohmann::ordered_json json;
  json["won"] = result.won;
  json["sentence"] = result.sentence;
  json["discarded"] = result.discarded;
  json["lines"] = nlohmann::ordered_json::array();
  for (const auto& l : result.lines)
    json["lines"].push_back({{"work", l.what.name},
                             {"topology", to_string(l.where)},
                             {"pairs", l.pairs},
                             {"tcp", l.base},
                             {"smc_d", l.other},
                             {"ratio", l.ratio},
                             {"lost", l.lost()}});
  return json;
}

}  // namespace demo
