#pragma once
// The acceptor's side of choosing a transport with local peers: one machine per acceptor, for many
// rendezvous connections (links) and many TCP connections at once.
//
// No socket, no clock, no descriptor: events go in, actions come out, appended to the vector given;
// the glue carries them out in order and feeds what comes of them as the next events. Times are
// inputs; next_deadline() says when to call deadline().
//
//   intent ─► proposal ─┐
//   tcp_accepted ───────┴─► answer ─► answered ─► confirm ─► establish ─► established ─► deliver
//                                         (anything else: deliver_tcp with a reason)
//
// Guarantees
//  - Every accepted connection is delivered or, where the client has confirmed and it can't be
//  served or the
//    acceptor closes, dropped; exactly once.
//  - CONFIRM alone decides: deliver only after it, deliver_tcp never after it.
//  - Links are untrusted. Nothing that one sends, in whatever order, touches an attempt of another;
//  a claim on
//    another's connection is at most served first and then given up for it. All that is kept is
//    bounded by `limits`; each event costs O(log n), amortised.
//  - A proposal for a connection that did not come from this host is never served.
//
// The glue
//  - feeds tcp_accepted and deadline() only after everything that has already arrived on the links
//  was fed
//    (pending rendezvous connections included): an intent or CONFIRM that was sent in time counts
//    as in time.
//  - carries out answer and establish before it feeds anything else, and feeds their outcome first.
//  - keeps the proposal of an attempt until the attempt was answered, declined or withdrawn, or its
//  link ended.
//  - at close() also sends retire on every link.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <smc/error.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "negotiation/accept_wait.hpp"
#include "negotiation/endpoint.hpp"
#include "negotiation/envelope.hpp"
#include "negotiation/server_action.hpp"

namespace smc::negotiation {

struct server_limits {
  std::size_t attempts_per_link = 1024;
  std::size_t attempts = 4096;         ///< of all links; beyond it
  std::size_t attempts_always = 16;    ///< of a link: others can't take them away
  std::size_t waiting_accepts = 4096;  ///< beyond it a connection is TCP at once
  /// How many attempts that claim one connection are answered, one after the other.
  unsigned answers_per_connection = 4;
  /// A link whose intents made so many accepts in a row wait in vain makes none wait any more,
  /// until it proposes something.
  unsigned vain_waits_per_link = 3;
};

class server_machine {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  using duration = std::chrono::steady_clock::duration;
  using actions = std::vector<server_action>;

  explicit server_machine(duration handshake_timeout, const server_limits& limits = {});

  void intent(link_id link, std::uint64_t attempt, actions& out);
  /// `patience`: how long after its proposal the client may still confirm.
  void proposal(link_id link, std::uint64_t attempt, const four_tuple& connection,
                duration patience, time_point now, actions& out);
  void confirm(link_id link, std::uint64_t attempt, actions& out);
  void decline(link_id link, std::uint64_t attempt, reason why, actions& out);
  void withdraw(link_id link, std::uint64_t attempt, actions& out);
  /// The link ended, or broke the protocol and is closed; everything that it carried was fed
  /// before.
  void hung_up(link_id link, actions& out);

  /// `from_this_host`: the client's address is one of the machine's own, or else can be that of a
  /// process that found the announcement.
  void tcp_accepted(connection_id c, const four_tuple& connection, bool from_this_host,
                    time_point now, actions& out);

  /// Whether a proposal stands that names this connection.
  bool claimed(const four_tuple& connection) const;

  // Outcomes of the action answer.
  void answered(connection_id c, time_point now, actions& out);
  void answer_failed(connection_id c, reason why, actions& out);
  // Outcomes of the action establish.
  void established(connection_id c, actions& out);
  void establish_failed(connection_id c, reason why, actions& out);

  void deadline(time_point now, actions& out);
  std::optional<time_point> next_deadline() const noexcept;

  /// The listener closes: nothing is delivered any more.
  void close(actions& out);

  /// Attempts and connections under way.
  std::size_t attempts() const noexcept { return attempts_.size(); }
  std::size_t connections() const noexcept { return pending_.size(); }

 private:
  struct link_state {
    std::size_t attempts = 0;
    unsigned vain_waits = 0;
    accept_wait::place counted = 0;  // the accept that was counted last
  };

  struct attempt_state {
    enum class stage : std::uint8_t { intent, standing, offered };
    stage at = stage::intent;
    accept_wait::place place = 0;  // intent, while accepts wait for it
    four_tuple connection{};       // from standing on
    std::uint64_t order = 0;       // standing: claims on one connection are served in this order
    duration patience{};
    time_point limit{};      // standing
    connection_id served{};  // offered
  };

  struct pending_state {
    enum class stage : std::uint8_t { waiting, answering, answered, establishing };
    stage at = stage::waiting;
    four_tuple connection{};
    accept_wait::place place = 0;  // waiting
    time_point limit{};            // waiting, answered
    attempt_key by{};              // from answering on
    unsigned answers = 0;
  };

  using attempt_map = std::map<attempt_key, attempt_state>;
  using pending_map = std::map<connection_id, pending_state>;
  using claim = std::tuple<four_tuple, std::uint64_t, attempt_key>;

  static server_action declining(const attempt_key& by, reason why);

  duration wait_for(duration patience) const noexcept;
  void erase(attempt_map::iterator a);
  void give_up_attempt(const attempt_key& by, reason why, actions& out);
  void spend(const std::vector<attempt_key>& intents, accept_wait::place accept);

  attempt_map::iterator next_claim(const four_tuple& connection);
  void answer(pending_map::iterator p, attempt_map::iterator a, actions& out);
  void end_offer(attempt_map::iterator a, bool made, reason why, actions& out);
  void deliver_tcp(pending_map::iterator p, reason why, actions& out);
  void decline_claims(const four_tuple& connection, reason why, actions& out);
  void stop_waiting(pending_map::iterator p);
  void forget(pending_map::iterator p);
  void release(actions& out);
  void expire(pending_map::iterator p, actions& out);

  const duration timeout_;
  const server_limits limits_;
  bool closed_ = false;

  std::map<link_id, link_state> links_;
  attempt_map attempts_;
  pending_map pending_;
  accept_wait wait_;

  std::uint64_t last_order_ = 0;
  std::set<claim> claims_;                       // attempts that stand, by connection
  std::map<four_tuple, connection_id> by_name_;  // pending connections; the newest of a name
  std::set<std::pair<time_point, attempt_key>> attempt_limits_;
  std::set<std::pair<time_point, connection_id>> pending_limits_;
};

}  // namespace smc::negotiation
