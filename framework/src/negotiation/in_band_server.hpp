#pragma once
// The server's side of a CLC handshake over the TCP connection itself (RFC 7609 3.5; times as Linux
// 6.12): one machine per connection that begins with a PROPOSAL (see in_band_detection.hpp).
//
// No socket, no clock, no device: events go in, actions come out, appended to the vector given; the
// glue carries them out in order. Times are inputs; next_deadline() says when to call deadline().
//
//   start ─► choose ─► chosen ─► send_accept ─► confirmed ─► establish ─► established
//         ─► finished_transport
//
// Three ends: finished_transport; finished_tcp: the connection is TCP from the next byte on; drop:
// it is reset, for the two sides can't agree on anything any more. The client then connects anew.
//
// Guarantees
//  - Exactly one of the three, and nothing behind it.
//  - finished_tcp only behind a DECLINE, sent or received.
//  - What choose made is abandoned unless the transport is what it ends with.
#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <smc/error.hpp>
#include <string>
#include <vector>

#include "negotiation/clc.hpp"

namespace smc::negotiation {

struct in_band_server_action {
  enum class kind : std::uint8_t {
    choose,        ///< ask the transports; report chosen or choose_failed
    send_accept,   ///< of the transport that was chosen
    establish,     ///< let it process the CONFIRM at hand; report established or establish_failed
    send_decline,  ///< with code
    abandon,       ///< undo what the transport made, or is making
    end_group,     ///< the client knows nothing of the link group it was given (RFC 7609 C.4)
    finished_transport,
    finished_tcp,  ///< why
    drop           ///< why
  };

  kind what;
  reason why = reason::none;
  clc::diagnosis code{};
  /// finished_tcp: the peer's own DECLINE may still come; no byte of it is data.
  bool decline_may_follow = false;

  bool operator==(const in_band_server_action&) const = default;
};

std::string to_string(const in_band_server_action& a);
std::ostream& operator<<(std::ostream& out, const in_band_server_action& a);

class in_band_server {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  using duration = std::chrono::steady_clock::duration;
  using actions = std::vector<in_band_server_action>;

  /// As in_band_client's.
  static constexpr std::chrono::seconds short_wait{1};

  explicit in_band_server(duration clc_timeout) noexcept : clc_timeout_(clc_timeout) {}

  void start(const clc::proposal& proposed, actions& out);
  /// The PROPOSAL could not be decoded; its frame was in order.
  void start_with_rubbish(actions& out);

  void chosen(const clc::accept_confirm& accept, time_point now, actions& out);
  void choose_failed(reason why, actions& out);

  /// A whole message, decoded.
  void received(const clc::message& m, actions& out);
  void received_rubbish(actions& out);
  void ended(actions& out);

  /// First contact: the client has answered CONFIRM LINK. Otherwise at once.
  void established(actions& out);
  void establish_failed(reason why, time_point now, actions& out);

  void deadline(time_point now, actions& out);
  std::optional<time_point> next_deadline() const noexcept;

  bool finished() const noexcept { return state_ == state::finished; }

 private:
  enum class state : std::uint8_t { fresh, choosing, accepted, establishing, declining, finished };

  void confirmed(const clc::accept_confirm& m, actions& out);
  void declined(const clc::decline& m, actions& out);
  void decline(clc::diagnosis code, reason why, actions& out);
  void decline_link(clc::diagnosis code, reason why, actions& out);
  void give_up(reason why, actions& out);
  void finish(in_band_server_action::kind how, reason why, actions& out);
  bool has_chosen() const noexcept;

  const duration clc_timeout_;
  state state_ = state::fresh;
  clc::proposal proposed_;
  clc::accept_confirm accept_;
  reason link_failure_ = reason::none;
  time_point limit_{};
};

}  // namespace smc::negotiation
