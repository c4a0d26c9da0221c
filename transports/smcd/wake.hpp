#pragma once
// The wake-up protocol of a connection, one direction of one ring. "Sleeper" is whoever waits: the
// reader for bytes, the writer for space. "Mover" is the other, who moves its cursor (or sets a
// flag) and thereby may end the waiting.
//
//   Sleeper: armed = 1; look at the mover's cursor; wait only where it has not moved.
//   Mover:   cursor = new; look at armed; if set: armed = 0, then an entry into the sleeper's
//   inbox.
//
// No wake-up is lost. The two stores and the two looks are seq_cst: there is one order S of all
// four. If the mover's look precedes the sleeper's store in S, then so does the mover's store, and
// the sleeper's look, behind its store, sees the new cursor. Otherwise the mover's look sees armed
// and pushes.
//
// At most one entry per arming, without read-modify-write. Only the mover stores 0, only the
// sleeper stores 1, and it does so only while no arming is outstanding: outstanding is set with the
// store of 1 and ends when the sleeper takes the entry from its inbox. The mover pushes only if it
// saw a 1 and has stored 0 first. It sees a second 1 only after the sleeper stored one, hence after
// the sleeper took the entry of the first, hence (the inbox's store and load are release and
// acquire) after the mover's 0, which therefore can't overwrite it. So entries and armings
// alternate.
//
// A sleeper that finds, after arming, that it need not wait leaves the arming outstanding: taking
// it back would race with the mover. The entry comes with the next move, finds nobody waiting, and
// ends the arming. A sleeper that waits again before that only looks again: either armed is still
// 1, and the proof above holds with the older store; or the mover has stored 0 and its entry is on
// the way, and will end this waiting.
//
// A loop that polls anyway arms late: until then it looks at the cursor itself (watch_list.hpp).
//
// A thread that sleeps itself, without a loop, uses `blocked` in the same way; it is a futex,
// nothing goes through the inbox, and both sides may store 0: the worst is that it wakes for
// nothing.
#include "smcd/layout.hpp"
#include "system/memory.hpp"

namespace smc::smcd {

/// Who has to be told after a move.
struct wake_up {
  bool entry = false;    ///< an entry into the peer's inbox
  bool sleeper = false;  ///< a thread that sleeps on the futex word

  explicit operator bool() const noexcept { return entry || sleeper; }
};

/// The mover's look, after its seq_cst store.
inline wake_up who_waits(shared_word& armed, shared_word& blocked) noexcept {
  wake_up wake;
  if (armed.load(std::memory_order_seq_cst) != 0) {
    armed.store(0, std::memory_order_relaxed);
    wake.entry = true;
  }
  if (blocked.load(std::memory_order_seq_cst) != 0) {
    blocked.store(0, std::memory_order_relaxed);
    wake.sleeper = true;
  }
  return wake;
}

/// Ends the sleep of a thread on this word, if one sleeps.
inline void wake_sleeper(shared_word& word) noexcept {
  if (word.load(std::memory_order_seq_cst) == 0) return;
  word.store(0, std::memory_order_relaxed);
  static_cast<void>(system::futex_wake(word));
}

}  // namespace smc::smcd
