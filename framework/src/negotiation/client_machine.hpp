#pragma once
// The client's side of choosing a transport with local peers: one machine per connect attempt to
// one destination.
//
// No socket, no clock, no descriptor: events go in, actions come out, appended to the vector given;
// the glue carries them out in order and feeds what comes of them as the next events. Times are
// inputs; next_deadline() says when to call deadline().
//
//   start ─► send_intent…, connect_tcp ─► tcp_underway ─► send_proposal…, await_tcp
//         ─► tcp_connected, accepted ─► confirm ─► transport_confirmed
//         ─► send_confirm, finished_transport            (else: finished_tcp with a reason)
//
// The proposals need the 4-tuple, not the connection: the server takes them in while the client
// still asks whether TCP stands.
//
// Guarantees
//  - Exactly one finished_… action per machine.
//  - CONFIRM alone decides: finished_transport comes together with send_confirm and never without
//  it, and no
//    send_confirm comes at or after the deadline or after anything that ended the attempt.
//  - An announcer that was told of the attempt and did not end it is told of its end.
//  - What comes twice, too late or from strangers changes nothing; an ACCEPT that can't be used is
//  declined.
//
// The glue
//  - calls `accepted` while it holds the ACCEPT: the action confirm, if it comes, comes from that
//  very call.
//    It then hands ACCEPT to the transport and reports transport_confirmed or transport_failed.
//  - undoes what the transport made where the attempt finishes as TCP or with an error after
//  confirm.
//  - answers messages for attempts whose machine is gone as this one would: ACCEPT by DECLINE, all
//  else not at
//    all; a DECLINE for an attempt that was confirmed to that very announcer means that the server
//    came to another end: that connection must be reset.
//  - takes finished_transport for finished_tcp (rendezvous_unreachable) where the send_confirm
//  before it failed:
//    no CONFIRM was sent, so both sides are TCP.
#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <smc/error.hpp>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "negotiation/envelope.hpp"

namespace smc::negotiation {

using time_point = std::chrono::steady_clock::time_point;
using duration = std::chrono::steady_clock::duration;

/// A listener's rendezvous that was found for the destination; chosen by the glue.
enum class announcer_id : std::uint64_t {};

struct client_action {
  enum class kind : std::uint8_t {
    send_intent,  ///< to announcer
    connect_tcp,
    send_proposal,       ///< to announcer, with the 4-tuple
    await_tcp,           ///< report tcp_connected or tcp_failed, when it is known
    confirm,             ///< let the transport process announcer's ACCEPT, then report
    send_confirm,        ///< to announcer
    send_decline,        ///< to announcer, with why
    send_withdraw,       ///< to announcer
    finished_transport,  ///< the one that announcer accepted
    finished_tcp,        ///< why: what stood against anything faster
    finished_error       ///< error: there is no connection
  };

  kind what;
  announcer_id announcer{};
  reason why = reason::none;
  std::error_code error{};

  bool operator==(const client_action&) const = default;
};

std::string to_string(const client_action& a);
std::ostream& operator<<(std::ostream& out, const client_action& a);

class client_machine {
 public:
  using actions = std::vector<client_action>;

  /// First event. Without announcers the attempt is plain TCP (peer_unknown). The time-out counts
  /// from the proposals and is at most max_patience. A connect that takes longer proposes again.
  void start(std::span<const announcer_id> announcers, duration handshake_timeout, actions& out);

  /// The 4-tuple is known; whether the connection stands is not. May be left out.
  void tcp_underway(time_point now, actions& out);
  void tcp_connected(time_point now, actions& out);
  /// The connect failed, or the caller gave up (operation_aborted), whenever that is.
  void tcp_failed(std::error_code error, actions& out);

  void accepted(announcer_id from, time_point now, actions& out);
  void declined(announcer_id from, reason why, actions& out);
  void retired(announcer_id from, actions& out);
  /// The link ended; everything that it carried was fed before.
  void hung_up(announcer_id from, actions& out);
  /// What came from there could not be decoded: protocol_error or version_mismatch. The glue ends
  /// the link.
  void violated(announcer_id from, reason why, actions& out);

  /// Dispatches accept, decline and retire; anything else is a violation.
  void received(announcer_id from, const message& m, time_point now, actions& out);

  /// The transport is ready to use the connection, or can't.
  void transport_confirmed(time_point now, actions& out);
  void transport_failed(reason why, actions& out);

  /// To be called at next_deadline() or later, after every message that has already arrived was
  /// fed.
  void deadline(time_point now, actions& out);
  std::optional<time_point> next_deadline() const noexcept;

  bool finished() const noexcept { return state_ == state::finished; }
  /// How long after sending the proposal CONFIRM may come: what proposals carry as patience.
  duration patience() const noexcept { return timeout_; }

 private:
  enum class state : std::uint8_t { fresh, connecting, proposed, confirming, finished };

  struct candidate {
    announcer_id id;
    bool open = true;  // was told of the attempt and neither side ended it yet
  };

  candidate* find(announcer_id id) noexcept;
  bool expired(time_point now) const noexcept;
  void propose(time_point now, actions& out);
  void propose_again_later(actions& out);
  void drop(candidate& c, reason why, actions& out);
  void withdraw_all(actions& out);
  void time_out(actions& out);
  void finish_tcp(reason why, actions& out);
  void finish_tcp_if_none_left(actions& out);

  state state_ = state::fresh;
  std::vector<candidate> candidates_;
  std::optional<announcer_id> chosen_;  // whose ACCEPT is being, or was, confirmed
  bool connected_ = false;              // TCP stands: it was reported, or an ACCEPT tells
  bool again_ = false;                  // earlier proposals were withdrawn
  duration timeout_{};
  time_point limit_{};
  reason why_ = reason::peer_unknown;  // the most telling so far
};

}  // namespace smc::negotiation
