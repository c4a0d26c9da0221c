#pragma once
// How the owner of a queue in shared memory sleeps, and how those who push into it wake it.
//
// Owner:  sleeping = 1; look at the queue; sleep only where it is empty.
// Pusher: push; look at sleeping; if set, clear it, then ring the owner's doorbell (an eventfd).
//
// Pushes, stores and looks are seq_cst, so there is one order of all four. If the owner's look
// comes before the push, then the owner's store, which precedes its look, comes before the pusher's
// look: the pusher sees it and rings. Otherwise the owner's look sees what was pushed and it
// doesn't sleep. Clearing before ringing matters: a pusher that rings first can be overtaken by the
// owner, who wakes, works, and announces its next sleep; the late clearing would wipe that
// announcement out.
#include <sys/stat.h>

#include <atomic>
#include <cstdint>

#include "system/descriptor.hpp"
#include "system/events.hpp"
#include "system/memory.hpp"

namespace smc::system {

using sleep_word = std::atomic<std::uint32_t>;

/// The owner's part. `empty` looks, with a seq_cst load, whether nothing was pushed. False: not to
/// sleep.
template <typename Empty>
bool announce_sleep(sleep_word& sleeping, Empty&& empty) noexcept {
  sleeping.store(1, std::memory_order_seq_cst);
  if (empty()) return true;
  sleeping.store(0, std::memory_order_seq_cst);
  return false;
}

inline void end_sleep(sleep_word& sleeping) noexcept {
  sleeping.store(0, std::memory_order_seq_cst);
}

/// The pusher's part, behind its seq_cst store. Whether the doorbell was rung.
inline bool ring_if_asleep(sleep_word& sleeping, const descriptor& doorbell) noexcept {
  if (sleeping.load(std::memory_order_seq_cst) == 0) return false;
  sleeping.store(0, std::memory_order_seq_cst);
  // A doorbell that can't be rung is one whose owner broke it, or is gone: its death is noticed
  // elsewhere.
  static_cast<void>(ring(doorbell));
  return true;
}

/// Whether this, from a peer, is a doorbell. An eventfd is an anonymous inode without a file type,
/// and ours never block; a pipe or a file that the peer put in its place could keep us waiting.
bool is_doorbell(const descriptor& file) noexcept;

}  // namespace smc::system
