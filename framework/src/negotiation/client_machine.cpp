#include "negotiation/client_machine.hpp"

#include <algorithm>
#include <ostream>
#include <type_traits>

#include "negotiation/reason_rank.hpp"

namespace smc::negotiation {

using kind = client_action::kind;

void client_machine::start(std::span<const announcer_id> announcers, duration handshake_timeout,
                           actions& out) {
  if (state_ != state::fresh) return;
  state_ = state::connecting;
  timeout_ = std::min<duration>(handshake_timeout, max_patience);
  for (const announcer_id id : announcers) {
    if (find(id)) continue;
    candidates_.push_back({id});
    out.push_back({kind::send_intent, id});
  }
  out.push_back({kind::connect_tcp});
}

void client_machine::tcp_underway(time_point now, actions& out) {
  if (state_ != state::connecting) return;
  propose(now, out);
  out.push_back({kind::await_tcp});
}

void client_machine::tcp_connected(time_point now, actions& out) {
  if (state_ == state::fresh || state_ == state::finished) return;
  connected_ = true;
  if (state_ == state::connecting) propose(now, out);
  finish_tcp_if_none_left(out);
}

void client_machine::propose(time_point now, actions& out) {
  state_ = state::proposed;
  limit_ = now + timeout_;
  for (const candidate& c : candidates_) {
    if (c.open) out.push_back({kind::send_proposal, c.id});
  }
}

// Servers keep proposals no longer than this; intents stand until the connection does.
void client_machine::propose_again_later(actions& out) {
  state_ = state::connecting;
  again_ = true;
  why_ = more_telling(why_, reason::handshake_timed_out);
  for (const candidate& c : candidates_) {
    if (!c.open) continue;
    out.push_back({kind::send_withdraw, c.id});
    out.push_back({kind::send_intent, c.id});
  }
}

void client_machine::tcp_failed(std::error_code error, actions& out) {
  if (state_ == state::fresh || state_ == state::finished) return;
  withdraw_all(out);
  state_ = state::finished;
  chosen_.reset();
  out.push_back({kind::finished_error, {}, reason::none, error});
}

void client_machine::accepted(announcer_id from, time_point now, actions& out) {
  candidate* c = find(from);
  if (!c) return;
  if (from == chosen_) return;
  if (state_ == state::proposed && c->open) {
    connected_ = true;  // the server has it
    if (expired(now)) {
      time_out(out);
      return;
    }
    state_ = state::confirming;
    chosen_ = from;
    out.push_back({kind::confirm, from});
    return;
  }
  // No proposal asked for this one, or the choice has been made.
  const bool early = state_ == state::connecting && !again_;
  const reason why = early ? reason::protocol_error : reason::not_offered;
  out.push_back({kind::send_decline, from, why});
  if (early) why_ = more_telling(why_, why);
  c->open = false;
}

void client_machine::declined(announcer_id from, reason why, actions& out) {
  candidate* c = find(from);
  if (!c) return;
  // It may be for the proposal that was withdrawn: then the new intent stands.
  if (state_ == state::connecting && again_ && c->open) out.push_back({kind::send_withdraw, from});
  drop(*c, why, out);
}

void client_machine::retired(announcer_id from, actions& out) {
  candidate* c = find(from);
  // An attempt that is being confirmed goes on: a closing listener does not take back its ACCEPT.
  if (!c || (state_ == state::confirming && from == chosen_)) return;
  drop(*c, reason::peer_unknown, out);
}

void client_machine::hung_up(announcer_id from, actions& out) {
  if (candidate* c = find(from)) drop(*c, reason::rendezvous_unreachable, out);
}

void client_machine::violated(announcer_id from, reason why, actions& out) {
  if (candidate* c = find(from)) drop(*c, why, out);
}

void client_machine::received(announcer_id from, const message& m, time_point now, actions& out) {
  std::visit(
      [&](const auto& content) {
        using type = std::decay_t<decltype(content)>;
        if constexpr (std::is_same_v<type, accept>) {
          accepted(from, now, out);
        } else if constexpr (std::is_same_v<type, decline>) {
          declined(from, reason_of(content), out);
        } else if constexpr (std::is_same_v<type, retire>) {
          retired(from, out);
        } else {
          violated(from, reason::protocol_error, out);
        }
      },
      m);
}

void client_machine::transport_confirmed(time_point now, actions& out) {
  if (state_ != state::confirming) return;
  if (expired(now)) {
    time_out(out);
    return;
  }
  out.push_back({kind::send_confirm, *chosen_});
  find(*chosen_)->open = false;
  withdraw_all(out);
  state_ = state::finished;
  out.push_back({kind::finished_transport, *chosen_});
}

void client_machine::transport_failed(reason why, actions& out) {
  if (state_ != state::confirming) return;
  out.push_back({kind::send_decline, *chosen_, why});
  find(*chosen_)->open = false;
  withdraw_all(out);
  finish_tcp(why, out);
}

void client_machine::deadline(time_point now, actions& out) {
  if (!next_deadline() || !expired(now)) return;
  if (connected_) {
    time_out(out);
  } else {
    propose_again_later(out);
  }
}

std::optional<time_point> client_machine::next_deadline() const noexcept {
  if (state_ != state::proposed && state_ != state::confirming) return std::nullopt;
  return limit_;
}

client_machine::candidate* client_machine::find(announcer_id id) noexcept {
  const auto at = std::find_if(candidates_.begin(), candidates_.end(),
                               [id](const candidate& c) { return c.id == id; });
  return at == candidates_.end() ? nullptr : &*at;
}

bool client_machine::expired(time_point now) const noexcept { return now >= limit_; }

// The announcer ended the attempt, or is gone.
void client_machine::drop(candidate& c, reason why, actions& out) {
  if (!c.open) return;
  c.open = false;
  if (state_ == state::finished) return;
  why_ = more_telling(why_, why);
  if (state_ == state::confirming && c.id == chosen_) {
    withdraw_all(out);
    finish_tcp(why, out);
  } else {
    finish_tcp_if_none_left(out);
  }
}

void client_machine::withdraw_all(actions& out) {
  for (candidate& c : candidates_) {
    if (!c.open) continue;
    c.open = false;
    out.push_back({kind::send_withdraw, c.id});
  }
}

void client_machine::time_out(actions& out) {
  withdraw_all(out);
  finish_tcp(reason::handshake_timed_out, out);
}

void client_machine::finish_tcp(reason why, actions& out) {
  state_ = state::finished;
  chosen_.reset();
  out.push_back({kind::finished_tcp, {}, why});
}

void client_machine::finish_tcp_if_none_left(actions& out) {
  const bool any = std::any_of(candidates_.begin(), candidates_.end(),
                               [](const candidate& c) { return c.open; });
  if (!any && connected_ && state_ == state::proposed) finish_tcp(why_, out);
}

std::string to_string(const client_action& a) {
  const std::string to = " to " + std::to_string(static_cast<std::uint64_t>(a.announcer));
  const std::string because = " because " + make_error_code(a.why).message();
  switch (a.what) {
    case kind::send_intent:
      return "send intent" + to;
    case kind::connect_tcp:
      return "connect tcp";
    case kind::send_proposal:
      return "send proposal" + to;
    case kind::await_tcp:
      return "await tcp";
    case kind::confirm:
      return "confirm" + to;
    case kind::send_confirm:
      return "send confirm" + to;
    case kind::send_decline:
      return "send decline" + to + because;
    case kind::send_withdraw:
      return "send withdraw" + to;
    case kind::finished_transport:
      return "finished with the transport" + to;
    case kind::finished_tcp:
      return "finished with tcp" + because;
    case kind::finished_error:
      return "finished with error " + a.error.message();
  }
  return "unknown action";
}

std::ostream& operator<<(std::ostream& out, const client_action& a) { return out << to_string(a); }

}  // namespace smc::negotiation
