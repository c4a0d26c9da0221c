#pragma once
// The client's side of a CLC handshake over the TCP connection itself (RFC 7609 3.5; times as Linux
// 6.12): one machine per connection.
//
// No socket, no clock, no device: events go in, actions come out, appended to the vector given; the
// glue carries them out in order. Times are inputs; next_deadline() says when to call deadline().
//
//   start ─► send_proposal ─► accepted ─► prepare ─► prepared ─► send_confirm
//         ─► [first contact: linked] ─► finished_transport
//
// Three ends: finished_transport; finished_tcp: the connection is TCP from the next byte on;
// reconnect: what was said on it makes it useless, and a new one, plain TCP, has to take its place.
// No byte of the user's has been sent by then.
//
// Guarantees
//  - Exactly one of the three, and nothing behind it.
//  - The peer of a connection that becomes finished_tcp was told or said so: a DECLINE went one
//    way, not both.
//  - What prepare made is abandoned unless the transport is what it ends with.
#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <smc/error.hpp>
#include <string>
#include <vector>

#include "negotiation/clc.hpp"

namespace smc::negotiation {

struct in_band_client_action {
  enum class kind : std::uint8_t {
    send_proposal,
    prepare,       ///< let the transport process the ACCEPT at hand; report prepared or failed
    send_confirm,  ///< what the transport prepared
    send_decline,  ///< with code; out_of_sync: the S bit with it
    abandon,       ///< undo what prepare made, or is making
    finished_transport,
    finished_tcp,  ///< why
    reconnect      ///< why
  };

  kind what;
  reason why = reason::none;
  clc::diagnosis code{};
  /// finished_tcp: the peer's own DECLINE may still come; no byte of it is data.
  bool decline_may_follow = false;

  bool operator==(const in_band_client_action&) const = default;
};

std::string to_string(const in_band_client_action& a);
std::ostream& operator<<(std::ostream& out, const in_band_client_action& a);

class in_band_client {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  using duration = std::chrono::steady_clock::duration;
  using actions = std::vector<in_band_client_action>;

  /// How long a DECLINE is waited for that crosses a link's failure (Linux: CLC_WAIT_TIME_SHORT).
  static constexpr std::chrono::seconds short_wait{1};

  explicit in_band_client(duration clc_timeout) noexcept : clc_timeout_(clc_timeout) {}

  void start(const clc::proposal& offered, time_point now, actions& out);

  /// A whole message, decoded.
  void received(const clc::message& m, time_point now, actions& out);
  /// What came is no CLC message, or a broken one.
  void received_rubbish(actions& out);
  /// The peer closed or reset the connection.
  void ended(actions& out);

  /// The transport can send its CONFIRM.
  void prepared(actions& out);
  /// It can't; out_of_sync: it knows no link group that the ACCEPT could mean (RFC 7609 C.4).
  void prepare_failed(reason why, bool out_of_sync, actions& out);
  /// First contact, behind send_confirm: the first link is confirmed.
  void linked(actions& out);
  void link_failed(reason why, time_point now, actions& out);

  void deadline(time_point now, actions& out);
  std::optional<time_point> next_deadline() const noexcept;

  bool finished() const noexcept { return state_ == state::finished; }

 private:
  enum class state : std::uint8_t { fresh, proposed, preparing, linking, declining, finished };

  void accepted(const clc::accept_confirm& m, time_point now, actions& out);
  void declined(const clc::decline& m, actions& out);
  void decline(clc::diagnosis code, reason why, actions& out);
  void decline_link(clc::diagnosis code, reason why, actions& out);
  void give_up(reason why, actions& out);
  void finish(in_band_client_action::kind how, reason why, actions& out);
  bool has_prepared() const noexcept;

  const duration clc_timeout_;
  state state_ = state::fresh;
  clc::proposal offered_;
  bool first_contact_ = false;
  reason link_failure_ = reason::none;
  time_point limit_{};
};

}  // namespace smc::negotiation
