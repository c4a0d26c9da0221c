#pragma once
// Which accepted connections wait for which intents.
//
// A client sends its intent before its TCP connect, so the intents of a connection that was just
// accepted are among those outstanding: it waits until each of these has a tuple or is gone.
// Intents that come later can't be its own. Both kinds therefore stand in one order, and an accept
// may go as soon as the oldest outstanding intent is younger than it: O(log n) per event, whatever
// waits.
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "negotiation/server_action.hpp"

namespace smc::negotiation {

class accept_wait {
 public:
  /// A place in the common order; 0 is none.
  using place = std::uint64_t;

  place add_intent(const attempt_key& by);
  /// The intent's tuple is known, or it is gone. 0 is ignored.
  void resolve(place intent) noexcept { intents_.erase(intent); }
  bool any_intent() const noexcept { return !intents_.empty(); }

  place add_accept(connection_id c);
  void remove_accept(place accept) noexcept { accepts_.erase(accept); }
  std::size_t waiting() const noexcept { return accepts_.size(); }

  /// Takes out an accept that waits for nothing any more.
  std::optional<connection_id> pop_free();

  /// Takes out the accept, and all intents that it waits for: they make nobody wait again.
  std::vector<attempt_key> give_up(place accept);

  void clear() noexcept;

 private:
  place last_ = 0;
  std::map<place, attempt_key> intents_;
  std::map<place, connection_id> accepts_;
};

}  // namespace smc::negotiation
