#include "demo/comparison.hpp"

#include <algorithm>

#include "smcperf/client.hpp"

namespace demo {
namespace {

using clock = std::chrono::steady_clock;

trial run_trial(const plan& plan, std::size_t index, bool backwards) {
  trial result;
  result.work = index;
  result.rows.resize(plan.contenders.size());
  for (std::size_t turn = 0; turn < plan.contenders.size(); ++turn) {
    const std::size_t who = backwards ? plan.contenders.size() - 1 - turn : turn;
    smcperf::client_options options = plan.works[index].options;
    plan.contenders[who].apply(options);
    result.rows[who] = smcperf::run_client(options, plan.cpus);
  }
  return result;
}

bool every_work_counts(const plan& plan, const std::vector<trial>& rounds) {
  for (std::size_t w = 0; w < plan.works.size(); ++w)
    if (std::none_of(rounds.begin(), rounds.end(),
                     [w](const trial& r) { return r.work == w && r.where().has_value(); }))
      return false;
  return true;
}

}  // namespace

std::optional<smcperf::distance> trial::where() const {
  for (const auto& row : rows)
    if (row.where.changed() || row.where.label() != rows.front().where.label()) return std::nullopt;
  if (rows.empty()) return std::nullopt;
  return rows.front().where.label();
}

std::vector<trial> compare(const plan& plan, const std::function<void(std::size_t)>& passed) {
  std::vector<trial> rounds;
  const auto begin = clock::now();
  std::chrono::nanoseconds longest{};
  for (std::size_t pass = 0;; ++pass) {
    if (pass >= plan.rounds && every_work_counts(plan, rounds)) break;
    const auto pass_begin = clock::now();
    if (pass > 0 && pass_begin - begin + longest > plan.limit) break;
    for (std::size_t w = 0; w < plan.works.size(); ++w)
      rounds.push_back(run_trial(plan, w, pass % 2 == 1));
    longest = std::max<std::chrono::nanoseconds>(longest, clock::now() - pass_begin);
    passed(pass + 1);
  }
  return rounds;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

nlohmann::ordered_json to_json(const plan& plan, const std::vector<trial>& rounds) {
  auto json = nlohmann::ordered_json::array();
  for (const auto& r : rounds) {
    nlohmann::ordered_json one;
    one["work"] = plan.works[r.work].figures.front().name;
    const auto where = r.where();
    one["topology"] = where ? std::string(to_string(*where)) : "changed";
    for (std::size_t c = 0; c < r.rows.size(); ++c) {
      auto row = smcperf::to_json(r.rows[c]);
      row["contender"] = plan.contenders[c].name;
      one["rows"].push_back(std::move(row));
    }
    json.push_back(std::move(one));
  }
  return json;
}

}  // namespace demo
