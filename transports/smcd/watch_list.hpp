#pragma once
// Rings that the loop's own thread looks at itself, instead of being told by an entry.
//
// While both sides are awake an entry costs the message three lines more between the CPUs: the
// reader's `armed`, the slot of the inbox, and the slot again when it is emptied. A loop that polls
// anyway may as well look at the producer line, which it needs next. So a reader that waits is
// watched first, and armed (wake.hpp) only where the loop is about to sleep, where the ring stays
// quiet for long, or where there are too many to look at.
//
// Nothing is lost: a watched ring is compared with what its reader has seen, however often and
// however late; and before the loop sleeps the reader arms and looks once more, as any other.
//
// A writer whose line is looked at all the time loses it to the reader after each message, and
// waits for it at the next. So where bytes come close behind those before, the reader pauses before
// it looks: some messages later it takes them together. From time to time it does not, to find
// whether that still holds; a peer that waits for answers is not paused for.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "smc/close_state.hpp"
#include "smcd/connection_slot.hpp"
#include "smcd/layout.hpp"
#include "smcd/prefetch.hpp"
#include "smcd/ticks.hpp"

namespace smc::smcd {

/// What a reader knows of its ring.
struct seen_of_ring {
  const producer_line* line = nullptr;
  std::array<const std::byte*, 2> next{};  ///< the lines that the first bytes to come will be in
  std::uint64_t cursor = 0;
  std::uint32_t flags = 0;
};

/// Threading: the loop's thread; remove() also others while no operation waits.
template <typename Ticks>
class basic_watch_list {
 public:
  static constexpr std::size_t most = 8;
  static constexpr unsigned looks_before_arming = 4096;
  // In ticks, between a wait's begin and the arrival:
  static constexpr std::uint64_t close_behind = 200;
  static constexpr std::uint64_t pause = 2000;
  static constexpr unsigned pauses_in_a_row = 16;

  /// False: there is no room.
  bool add(connection_slot& slot, const seen_of_ring& seen) noexcept {
    const auto free = std::find_if(places_.begin(), places_.end(), [](const place& p) {
      return p.slot.load(std::memory_order_relaxed) == nullptr;
    });
    if (free == places_.end()) return false;
    free->seen = seen;
    free->looks = 0;
    free->since = Ticks::now();
    free->pauses = slot.pauses != 0;
    free->slot.store(&slot, std::memory_order_relaxed);
    used_ = std::max(used_, static_cast<std::size_t>(free - places_.begin()) + 1);
    return true;
  }

  void remove(const connection_slot& slot) noexcept {
    for (place& p : places_) {
      if (p.slot.load(std::memory_order_relaxed) == &slot) p.free();
    }
  }

  /// Calls `moved(slot)` for each ring with something new, which is watched no longer, and arms
  /// those that have been quiet for long. Whether anything has moved.
  template <typename Moved>
  bool look(Moved&& moved) noexcept {
    bool any = false;
    for (std::size_t i = 0; i < used_; ++i) {
      place& p = places_[i];
      auto* slot = p.slot.load(std::memory_order_relaxed);
      if (slot == nullptr) continue;
      if (p.pauses && Ticks::now() - p.since < pause) continue;
      if (p.moved(std::memory_order_acquire)) {
        for (const std::byte* line : p.seen.next) prefetch_to_read(line);
        learn(p, *slot);
        p.free();
        moved(*slot);
        any = true;
      } else if (++p.looks == looks_before_arming) {
        p.looks = 0;
        arm(p, *slot);
      }
    }
    return any;
  }

  /// The loop is about to sleep: each is armed. False: something has moved, look() will tell.
  bool arm_all() noexcept {
    bool none_moved = true;
    for (std::size_t i = 0; i < used_; ++i) {
      auto* slot = places_[i].slot.load(std::memory_order_relaxed);
      if (slot != nullptr) none_moved &= arm(places_[i], *slot);
    }
    if (none_moved) used_ = 0;
    return none_moved;
  }

 private:
  struct place {
    std::atomic<connection_slot*> slot{nullptr};
    seen_of_ring seen;
    std::uint64_t since = 0;
    unsigned looks = 0;
    bool pauses = false;

    void free() noexcept { slot.store(nullptr, std::memory_order_relaxed); }
    bool moved(std::memory_order order) const noexcept {
      return seen.line->cursor.load(order) != seen.cursor ||
             (seen.line->flags.load(order) & detail::close_flag::all & ~seen.flags) != 0;
    }
  };

  static void learn(const place& p, connection_slot& slot) noexcept {
    if (p.pauses) {
      --slot.pauses;
    } else if (Ticks::available && Ticks::now() - p.since < close_behind) {
      slot.pauses = pauses_in_a_row;
    }
  }

  static bool arm(place& p, connection_slot& slot) noexcept {
    slot.arm(detail::direction::read);
    p.pauses = false;
    if (p.moved(std::memory_order_seq_cst)) return false;
    p.free();
    return true;
  }

  std::array<place, most> places_;
  std::size_t used_ = 0;  // places from here on are free
};

using watch_list = basic_watch_list<processor_ticks>;

}  // namespace smc::smcd
