#include "negotiation/accept_wait.hpp"

namespace smc::negotiation {

accept_wait::place accept_wait::add_intent(const attempt_key& by) {
  intents_.emplace_hint(intents_.end(), ++last_, by);
  return last_;
}

accept_wait::place accept_wait::add_accept(connection_id c) {
  accepts_.emplace_hint(accepts_.end(), ++last_, c);
  return last_;
}

std::optional<connection_id> accept_wait::pop_free() {
  const auto first = accepts_.begin();
  if (first == accepts_.end()) return std::nullopt;
  if (!intents_.empty() && intents_.begin()->first < first->first) return std::nullopt;
  const connection_id c = first->second;
  accepts_.erase(first);
  return c;
}

std::vector<attempt_key> accept_wait::give_up(place accept) {
  accepts_.erase(accept);
  std::vector<attempt_key> spent;
  const auto end = intents_.lower_bound(accept);
  for (auto i = intents_.begin(); i != end; ++i) spent.push_back(i->second);
  intents_.erase(intents_.begin(), end);
  return spent;
}

void accept_wait::clear() noexcept {
  intents_.clear();
  accepts_.clear();
}

}  // namespace smc::negotiation
