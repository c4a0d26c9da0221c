#include "negotiation/server_machine.hpp"

#include <algorithm>

namespace smc::negotiation {

using kind = server_action::kind;

server_machine::server_machine(duration handshake_timeout, const server_limits& limits)
    : timeout_(handshake_timeout), limits_(limits) {}

// Messages

void server_machine::intent(link_id link, std::uint64_t attempt, actions& out) {
  const attempt_key by{link, attempt};
  if (closed_) {
    out.push_back(declining(by, reason::peer_unknown));
    return;
  }
  if (attempts_.contains(by)) return;
  link_state& l = links_[link];
  const bool crowded =
      attempts_.size() >= limits_.attempts && l.attempts >= limits_.attempts_always;
  if (crowded || l.attempts >= limits_.attempts_per_link) {
    out.push_back(declining(by, reason::declined_by_peer));
    return;
  }
  ++l.attempts;
  attempt_state& a = attempts_[by];
  if (l.vain_waits < limits_.vain_waits_per_link) a.place = wait_.add_intent(by);
}

void server_machine::proposal(link_id link, std::uint64_t attempt, const four_tuple& connection,
                              duration patience, time_point now, actions& out) {
  const attempt_key by{link, attempt};
  const auto a = attempts_.find(by);
  if (a == attempts_.end()) {
    out.push_back(declining(by, closed_ ? reason::peer_unknown : reason::protocol_error));
    return;
  }
  if (a->second.at != attempt_state::stage::intent) return;
  links_[link].vain_waits = 0;
  wait_.resolve(std::exchange(a->second.place, 0));

  a->second.at = attempt_state::stage::standing;
  a->second.connection = connection;
  a->second.patience = patience;
  a->second.order = ++last_order_;
  a->second.limit = now + wait_for(patience);
  claims_.emplace(connection, a->second.order, by);
  attempt_limits_.emplace(a->second.limit, by);

  const auto named = by_name_.find(connection);
  if (named != by_name_.end()) {
    const auto p = pending_.find(named->second);
    if (p->second.at == pending_state::stage::waiting) answer(p, a, out);
  }
  release(out);
}

void server_machine::confirm(link_id link, std::uint64_t attempt, actions& out) {
  const attempt_key by{link, attempt};
  const auto a = attempts_.find(by);
  if (a == attempts_.end()) {
    out.push_back(declining(by, closed_ ? reason::peer_unknown : reason::handshake_timed_out));
    return;
  }
  if (a->second.at == attempt_state::stage::offered) {
    const auto p = pending_.find(a->second.served);
    if (p->second.at == pending_state::stage::establishing) return;
    if (p->second.at == pending_state::stage::answered) {
      pending_limits_.erase({p->second.limit, p->first});
      p->second.at = pending_state::stage::establishing;
      out.push_back({kind::establish, p->first, by});
      return;
    }
  }
  // Nothing was accepted that could be confirmed.
  out.push_back(declining(by, reason::protocol_error));
  give_up_attempt(by, reason::protocol_error, out);
  release(out);
}

void server_machine::decline(link_id link, std::uint64_t attempt, reason why, actions& out) {
  give_up_attempt({link, attempt}, why, out);
  release(out);
}

void server_machine::withdraw(link_id link, std::uint64_t attempt, actions& out) {
  give_up_attempt({link, attempt}, reason::handshake_timed_out, out);
  release(out);
}

void server_machine::hung_up(link_id link, actions& out) {
  // What the link still claims must be gone before a connection looks for its next claim.
  std::vector<attempt_key> offered;
  const attempt_key first{link, 0};
  for (auto a = attempts_.lower_bound(first); a != attempts_.end() && a->first.link == link;) {
    const auto here = a++;
    if (here->second.at == attempt_state::stage::offered) {
      offered.push_back(here->first);
    } else {
      erase(here);
    }
  }
  for (const attempt_key& by : offered) {
    const auto a = attempts_.find(by);
    if (pending_.at(a->second.served).at == pending_state::stage::establishing) {
      // Confirmed: the transport sees the end by itself, behind the bytes that came before it.
      erase(a);
    } else {
      end_offer(a, true, reason::rendezvous_unreachable, out);
    }
  }
  links_.erase(link);
  release(out);
}

// Connections

void server_machine::tcp_accepted(connection_id c, const four_tuple& connection,
                                  bool from_this_host, time_point now, actions& out) {
  if (closed_) {
    out.push_back({kind::drop, c});
    return;
  }
  if (pending_.contains(c)) return;
  if (!from_this_host) {
    decline_claims(connection, reason::other_host, out);
    out.push_back({kind::deliver_tcp, c, {}, reason::peer_unknown});
    return;
  }
  const auto claimed = next_claim(connection);
  const bool none = claimed == attempts_.end();
  if (none && !wait_.any_intent()) {
    out.push_back({kind::deliver_tcp, c, {}, reason::not_offered});
    return;
  }
  if (none && wait_.waiting() >= limits_.waiting_accepts) {
    out.push_back({kind::deliver_tcp, c, {}, reason::handshake_timed_out});
    return;
  }
  const auto p = pending_.emplace(c, pending_state{}).first;
  p->second.connection = connection;
  by_name_.insert_or_assign(connection, c);
  p->second.place = wait_.add_accept(c);
  p->second.limit = now + timeout_;
  pending_limits_.emplace(p->second.limit, c);
  if (!none) answer(p, claimed, out);
}

void server_machine::answered(connection_id c, time_point now, actions&) {
  const auto p = pending_.find(c);
  if (p == pending_.end() || p->second.at != pending_state::stage::answering) return;
  p->second.at = pending_state::stage::answered;
  p->second.limit = now + wait_for(attempts_.at(p->second.by).patience);
  pending_limits_.emplace(p->second.limit, c);
}

void server_machine::answer_failed(connection_id c, reason why, actions& out) {
  const auto p = pending_.find(c);
  if (p == pending_.end() || p->second.at != pending_state::stage::answering) return;
  out.push_back(declining(p->second.by, why));
  end_offer(attempts_.find(p->second.by), false, why, out);
}

void server_machine::established(connection_id c, actions& out) {
  const auto p = pending_.find(c);
  if (p == pending_.end() || p->second.at != pending_state::stage::establishing) return;
  const auto a = attempts_.find(p->second.by);
  if (a != attempts_.end()) erase(a);
  const four_tuple connection = p->second.connection;
  forget(p);
  out.push_back({kind::deliver, c});
  decline_claims(connection, reason::declined_by_peer, out);
}

void server_machine::establish_failed(connection_id c, reason why, actions& out) {
  const auto p = pending_.find(c);
  if (p == pending_.end() || p->second.at != pending_state::stage::establishing) return;
  const auto a = attempts_.find(p->second.by);
  if (a != attempts_.end()) {
    out.push_back(declining(a->first, why));
    erase(a);
  }
  const four_tuple connection = p->second.connection;
  forget(p);
  // The client has confirmed, so TCP would be another transport than its own.
  out.push_back({kind::drop, c, {}, why});
  decline_claims(connection, why, out);
}

void server_machine::deadline(time_point now, actions& out) {
  while (!pending_limits_.empty() && pending_limits_.begin()->first <= now) {
    expire(pending_.find(pending_limits_.begin()->second), out);
  }
  while (!attempt_limits_.empty() && attempt_limits_.begin()->first <= now) {
    const attempt_key by = attempt_limits_.begin()->second;
    erase(attempts_.find(by));
    out.push_back(declining(by, reason::handshake_timed_out));
  }
  release(out);
}

std::optional<server_machine::time_point> server_machine::next_deadline() const noexcept {
  std::optional<time_point> next;
  if (!pending_limits_.empty()) next = pending_limits_.begin()->first;
  if (!attempt_limits_.empty()) {
    const time_point t = attempt_limits_.begin()->first;
    next = next ? std::min(*next, t) : t;
  }
  return next;
}

void server_machine::close(actions& out) {
  closed_ = true;
  for (const auto& [c, p] : pending_) {
    if (p.at != pending_state::stage::waiting) out.push_back({kind::abandon, c, p.by});
    out.push_back({kind::drop, c});
  }
  pending_.clear();
  by_name_.clear();
  pending_limits_.clear();
  attempts_.clear();
  attempt_limits_.clear();
  claims_.clear();
  links_.clear();
  wait_.clear();
}

}  // namespace smc::negotiation
