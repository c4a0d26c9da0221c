#include "negotiation/in_band_client.hpp"

#include <ostream>

namespace smc::negotiation {

using kind = in_band_client_action::kind;

void in_band_client::start(const clc::proposal& offered, time_point now, actions& out) {
  if (state_ != state::fresh) return;
  state_ = state::proposed;
  offered_ = offered;
  limit_ = now + clc_timeout_;
  out.push_back({kind::send_proposal});
}

void in_band_client::received(const clc::message& m, time_point now, actions& out) {
  if (const auto* d = std::get_if<clc::decline>(&m)) {
    declined(*d, out);
    return;
  }
  const auto* a = std::get_if<clc::accept_confirm>(&m);
  if (a && a->type == clc::message_type::accept && state_ == state::proposed) {
    accepted(*a, now, out);
  } else {
    give_up(reason::protocol_error, out);
  }
}

void in_band_client::accepted(const clc::accept_confirm& m, time_point now, actions& out) {
  if (const auto bad = clc::check_accept(offered_, m)) {
    decline(*bad, clc::to_reason(*bad), out);
    return;
  }
  first_contact_ = m.first_contact();
  state_ = state::preparing;
  // The server's patience is as long as ours was. What is sent near its end may meet a reset.
  limit_ = now + clc_timeout_ / 2;
  out.push_back({kind::prepare});
}

void in_band_client::declined(const clc::decline& m, actions& out) {
  if (state_ == state::fresh || finished()) return;
  if (has_prepared()) out.push_back({kind::abandon});
  finish(kind::finished_tcp, clc::reason_of(m), out);
}

void in_band_client::received_rubbish(actions& out) { give_up(reason::protocol_error, out); }

void in_band_client::ended(actions& out) {
  // Who hangs up on a proposal does not speak SMC, if that is all that was said.
  give_up(state_ == state::proposed ? reason::peer_unknown : reason::link_failed, out);
}

void in_band_client::prepared(actions& out) {
  if (state_ != state::preparing) return;
  out.push_back({kind::send_confirm});
  if (first_contact_) {
    state_ = state::linking;
  } else {
    finish(kind::finished_transport, reason::none, out);
  }
}

void in_band_client::prepare_failed(reason why, bool out_of_sync, actions& out) {
  if (state_ != state::preparing) return;
  decline(out_of_sync ? clc::diagnosis::out_of_sync : clc::to_diagnosis(why), why, out);
}

void in_band_client::linked(actions& out) {
  if (state_ != state::linking) return;
  finish(kind::finished_transport, reason::none, out);
}

// RFC 7609 C.2: up to here a DECLINE makes it TCP. Linux waits for the peer's, so that they don't
// cross: the second would be taken for data.
void in_band_client::link_failed(reason why, time_point now, actions& out) {
  if (state_ != state::linking) return;
  out.push_back({kind::abandon});
  link_failure_ = why;
  state_ = state::declining;
  limit_ = now + short_wait;
}

void in_band_client::deadline(time_point now, actions& out) {
  if (!next_deadline() || now < limit_) return;
  if (state_ != state::declining) {
    give_up(reason::handshake_timed_out, out);
  } else {
    decline_link(clc::diagnosis::confirm_link_timed_out, link_failure_, out);
  }
}

std::optional<in_band_client::time_point> in_band_client::next_deadline() const noexcept {
  const bool waiting =
      state_ == state::proposed || state_ == state::preparing || state_ == state::declining;
  return waiting ? std::optional(limit_) : std::nullopt;
}

bool in_band_client::has_prepared() const noexcept {
  return state_ == state::preparing || state_ == state::linking;
}

void in_band_client::decline(clc::diagnosis code, reason why, actions& out) {
  if (has_prepared()) out.push_back({kind::abandon});
  out.push_back({kind::send_decline, reason::none, code});
  finish(kind::finished_tcp, why, out);
}

// The peer's link may have failed just now, too.
void in_band_client::decline_link(clc::diagnosis code, reason why, actions& out) {
  decline(code, why, out);
  out.back().decline_may_follow = true;
}

void in_band_client::give_up(reason why, actions& out) {
  if (state_ == state::fresh || finished()) return;
  if (has_prepared()) out.push_back({kind::abandon});
  finish(kind::reconnect, why, out);
}

void in_band_client::finish(kind how, reason why, actions& out) {
  state_ = state::finished;
  out.push_back({how, why});
}

std::string to_string(const in_band_client_action& a) {
  const std::string because = " because " + make_error_code(a.why).message();
  switch (a.what) {
    case kind::send_proposal:
      return "send proposal";
    case kind::prepare:
      return "prepare";
    case kind::send_confirm:
      return "send confirm";
    case kind::send_decline:
      return "send decline " + std::to_string(static_cast<std::uint32_t>(a.code));
    case kind::abandon:
      return "abandon";
    case kind::finished_transport:
      return "finished with the transport";
    case kind::finished_tcp:
      return "finished with tcp" + because;
    case kind::reconnect:
      return "reconnect" + because;
  }
  return "unknown action";
}

std::ostream& operator<<(std::ostream& out, const in_band_client_action& a) {
  return out << to_string(a);
}

}  // namespace smc::negotiation
