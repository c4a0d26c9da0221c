// server_machine's bookkeeping: attempts, the claims they make on connections, and the end of both.
#include <algorithm>

#include "negotiation/server_machine.hpp"

namespace smc::negotiation {

using kind = server_action::kind;

server_action server_machine::declining(const attempt_key& by, reason why) {
  return {kind::send_decline, {}, by, why};
}

// A client that waits longer than this side may confirm later: waiting as long keeps both of one
// opinion.
server_machine::duration server_machine::wait_for(duration patience) const noexcept {
  return std::max(timeout_, std::min<duration>(patience, max_patience));
}

void server_machine::erase(attempt_map::iterator a) {
  const attempt_key by = a->first;
  attempt_state& s = a->second;
  wait_.resolve(s.place);
  if (s.at == attempt_state::stage::standing) {
    claims_.erase({s.connection, s.order, by});
    attempt_limits_.erase({s.limit, by});
  }
  attempts_.erase(a);
  --links_.at(by.link).attempts;
}

// The client ended the attempt, or may not go on with it.
void server_machine::give_up_attempt(const attempt_key& by, reason why, actions& out) {
  const auto a = attempts_.find(by);
  if (a == attempts_.end()) return;
  if (a->second.at != attempt_state::stage::offered) {
    erase(a);
  } else if (pending_.at(a->second.served).at != pending_state::stage::establishing) {
    end_offer(a, true, why, out);
  }
}

void server_machine::spend(const std::vector<attempt_key>& intents, accept_wait::place accept) {
  for (const attempt_key& by : intents) {
    attempts_.at(by).place = 0;
    link_state& l = links_.at(by.link);
    if (std::exchange(l.counted, accept) != accept) ++l.vain_waits;
  }
}

bool server_machine::claimed(const four_tuple& connection) const {
  const auto first = claims_.lower_bound({connection, 0, {}});
  return first != claims_.end() && std::get<four_tuple>(*first) == connection;
}

server_machine::attempt_map::iterator server_machine::next_claim(const four_tuple& connection) {
  const auto first = claims_.lower_bound({connection, 0, {}});
  if (first == claims_.end() || std::get<four_tuple>(*first) != connection) return attempts_.end();
  return attempts_.find(std::get<attempt_key>(*first));
}

void server_machine::answer(pending_map::iterator p, attempt_map::iterator a, actions& out) {
  attempt_state& s = a->second;
  claims_.erase({s.connection, s.order, a->first});
  attempt_limits_.erase({s.limit, a->first});
  s.at = attempt_state::stage::offered;
  s.served = p->first;
  stop_waiting(p);
  p->second.at = pending_state::stage::answering;
  p->second.by = a->first;
  ++p->second.answers;
  out.push_back({kind::answer, p->first, a->first});
}

// The attempt ends unconfirmed: the connection goes to the next that claims it, or is TCP.
void server_machine::end_offer(attempt_map::iterator a, bool made, reason why, actions& out) {
  const auto p = pending_.find(a->second.served);
  if (made) out.push_back({kind::abandon, p->first, a->first});
  if (p->second.at == pending_state::stage::answered) {
    pending_limits_.erase({p->second.limit, p->first});
  }
  erase(a);
  const auto next = next_claim(p->second.connection);
  if (next != attempts_.end() && p->second.answers < limits_.answers_per_connection) {
    answer(p, next, out);
  } else {
    deliver_tcp(p, why, out);
  }
}

void server_machine::deliver_tcp(pending_map::iterator p, reason why, actions& out) {
  const connection_id c = p->first;
  const four_tuple connection = p->second.connection;
  stop_waiting(p);
  forget(p);
  out.push_back({kind::deliver_tcp, c, {}, why});
  decline_claims(connection, why, out);
}

// The connection was decided without them.
void server_machine::decline_claims(const four_tuple& connection, reason why, actions& out) {
  for (auto a = next_claim(connection); a != attempts_.end(); a = next_claim(connection)) {
    out.push_back(declining(a->first, why));
    erase(a);
  }
}

void server_machine::stop_waiting(pending_map::iterator p) {
  if (p->second.at != pending_state::stage::waiting) return;
  wait_.remove_accept(p->second.place);
  pending_limits_.erase({p->second.limit, p->first});
}

void server_machine::forget(pending_map::iterator p) {
  const auto named = by_name_.find(p->second.connection);
  if (named != by_name_.end() && named->second == p->first) by_name_.erase(named);
  pending_.erase(p);
}

// Connections that none of the outstanding intents can belong to are plain TCP.
void server_machine::release(actions& out) {
  while (const auto c = wait_.pop_free()) deliver_tcp(pending_.find(*c), reason::not_offered, out);
}

void server_machine::expire(pending_map::iterator p, actions& out) {
  if (p->second.at == pending_state::stage::waiting) {
    spend(wait_.give_up(p->second.place), p->second.place);
    deliver_tcp(p, reason::handshake_timed_out, out);
    return;
  }
  const auto a = attempts_.find(p->second.by);
  out.push_back(declining(a->first, reason::handshake_timed_out));
  end_offer(a, true, reason::handshake_timed_out, out);
}

}  // namespace smc::negotiation
