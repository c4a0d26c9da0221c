#include "negotiation/in_band_server.hpp"

#include <ostream>

namespace smc::negotiation {

using kind = in_band_server_action::kind;

void in_band_server::start(const clc::proposal& proposed, actions& out) {
  if (state_ != state::fresh) return;
  state_ = state::choosing;
  proposed_ = proposed;
  out.push_back({kind::choose});
}

// RFC 7609 C.6: what is malformed ends the TCP connection.
void in_band_server::start_with_rubbish(actions& out) {
  if (state_ != state::fresh) return;
  finish(kind::drop, reason::protocol_error, out);
}

void in_band_server::chosen(const clc::accept_confirm& accept, time_point now, actions& out) {
  if (state_ != state::choosing) return;
  state_ = state::accepted;
  accept_ = accept;
  limit_ = now + clc_timeout_;
  out.push_back({kind::send_accept});
}

void in_band_server::choose_failed(reason why, actions& out) {
  if (state_ != state::choosing) return;
  out.push_back({kind::send_decline, reason::none, clc::to_diagnosis(why)});
  finish(kind::finished_tcp, why, out);
}

void in_band_server::received(const clc::message& m, actions& out) {
  if (const auto* d = std::get_if<clc::decline>(&m)) {
    declined(*d, out);
    return;
  }
  const auto* c = std::get_if<clc::accept_confirm>(&m);
  if (c && c->type == clc::message_type::confirm && state_ == state::accepted) {
    confirmed(*c, out);
  } else {
    give_up(reason::protocol_error, out);
  }
}

void in_band_server::confirmed(const clc::accept_confirm& m, actions& out) {
  const auto bad = clc::check_confirm(proposed_, accept_, m);
  if (!bad) {
    state_ = state::establishing;
    out.push_back({kind::establish});
  } else if (m.version != accept_.version) {
    give_up(reason::protocol_error, out);
  } else if (accept_.first_contact()) {
    decline_link(*bad, clc::to_reason(*bad), out);
  } else {
    give_up(clc::to_reason(*bad), out);  // the client has finished with the transport
  }
}

void in_band_server::declined(const clc::decline& m, actions& out) {
  const bool expected = state_ == state::choosing || state_ == state::accepted ||
                        state_ == state::declining ||
                        (state_ == state::establishing && accept_.first_contact());
  if (!expected) {
    give_up(reason::protocol_error, out);
    return;
  }
  if (has_chosen()) out.push_back({kind::abandon});
  if (m.out_of_sync && state_ == state::accepted && !accept_.first_contact()) {
    out.push_back({kind::end_group});
  }
  finish(kind::finished_tcp, clc::reason_of(m), out);
}

void in_band_server::received_rubbish(actions& out) { give_up(reason::protocol_error, out); }

void in_band_server::ended(actions& out) { give_up(reason::link_failed, out); }

void in_band_server::established(actions& out) {
  if (state_ != state::establishing) return;
  finish(kind::finished_transport, reason::none, out);
}

void in_band_server::establish_failed(reason why, time_point now, actions& out) {
  if (state_ != state::establishing) return;
  if (!accept_.first_contact()) {
    give_up(why, out);
    return;
  }
  out.push_back({kind::abandon});
  link_failure_ = why;
  state_ = state::declining;
  limit_ = now + short_wait;
}

void in_band_server::deadline(time_point now, actions& out) {
  if (!next_deadline() || now < limit_) return;
  if (state_ == state::accepted) {
    give_up(reason::handshake_timed_out, out);
  } else {
    decline_link(clc::diagnosis::confirm_link_timed_out, link_failure_, out);
  }
}

std::optional<in_band_server::time_point> in_band_server::next_deadline() const noexcept {
  if (state_ != state::accepted && state_ != state::declining) return std::nullopt;
  return limit_;
}

bool in_band_server::has_chosen() const noexcept {
  return state_ == state::choosing || state_ == state::accepted || state_ == state::establishing;
}

void in_band_server::decline(clc::diagnosis code, reason why, actions& out) {
  if (has_chosen()) out.push_back({kind::abandon});
  out.push_back({kind::send_decline, reason::none, code});
  finish(kind::finished_tcp, why, out);
}

// The peer's link may have failed just now, too.
void in_band_server::decline_link(clc::diagnosis code, reason why, actions& out) {
  decline(code, why, out);
  out.back().decline_may_follow = true;
}

void in_band_server::give_up(reason why, actions& out) {
  if (state_ == state::fresh || finished()) return;
  if (has_chosen()) out.push_back({kind::abandon});
  finish(kind::drop, why, out);
}

void in_band_server::finish(kind how, reason why, actions& out) {
  state_ = state::finished;
  out.push_back({how, why});
}

std::string to_string(const in_band_server_action& a) {
  const std::string because = " because " + make_error_code(a.why).message();
  switch (a.what) {
    case kind::choose:
      return "choose";
    case kind::send_accept:
      return "send accept";
    case kind::establish:
      return "establish";
    case kind::send_decline:
      return "send decline " + std::to_string(static_cast<std::uint32_t>(a.code));
    case kind::abandon:
      return "abandon";
    case kind::end_group:
      return "end the group";
    case kind::finished_transport:
      return "finished with the transport";
    case kind::finished_tcp:
      return "finished with tcp" + because;
    case kind::drop:
      return "drop" + because;
  }
  return "unknown action";
}

std::ostream& operator<<(std::ostream& out, const in_band_server_action& a) {
  return out << to_string(a);
}

}  // namespace smc::negotiation
