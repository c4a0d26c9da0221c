// How a link group tells and is told: entries, waiters, sleep, the peer's death.
#include "smcd/link_group.hpp"
#include "smcd/wake.hpp"
#include "system/events.hpp"

namespace smc::smcd {

using detail::direction;

namespace {
// Entries that one poll() takes: other groups and the loop's handlers want their turn.
constexpr int entries_per_poll = 256;
}  // namespace

/// Waiters to be told: at once (loop mode), or after the lock was released (shared mode), kept
/// alive until then.
class link_group::batch {
 public:
  explicit batch(bool at_once) noexcept : at_once_(at_once) {}

  void add(detail::waiter& who) noexcept {
    if (at_once_) {
      who.ready();
    } else {
      told_[count_++] = {&who, who.keep_alive()};
    }
  }
  /// No room for the two waiters of one more connection.
  bool full() const noexcept { return count_ + 2 > told_.size(); }
  void tell_all() noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
      told_[i].who->ready();
      told_[i].alive.reset();
    }
    count_ = 0;
  }

 private:
  const bool at_once_;
  std::size_t count_ = 0;
  std::array<told, 64> told_{};
};

std::unique_lock<std::mutex> link_group::lock_waiters() noexcept {
  return threads_.loop_mode ? std::unique_lock<std::mutex>() : std::unique_lock<std::mutex>(mutex_);
}

bool link_group::signal(const ring_descriptor& peer, entry_kind kind) noexcept {
  if (ended()) return false;
  const entry e{peer.connection_number, kind, peer.connection_generation};
  const auto signalled = device_->signal(e.encode(), threads_.here());
  if (signalled == signal_outcome::refused) end(true);
  return signalled == signal_outcome::rang;
}

bool link_group::poll() noexcept {
  if (stale()) return false;
  batch waiters(threads_.loop_mode);
  if (threads_.loop_mode) return poll_lane(waiters, false);
  bool any;
  {
    std::lock_guard lock(mutex_);
    any = poll_lane(waiters, true);
  }
  waiters.tell_all();
  return any;
}

bool link_group::poll_lane(batch& waiters, bool locked) noexcept {
  bool any = false;
  if (announcement_.load(std::memory_order_acquire)) {
    announcement_.store(false, std::memory_order_seq_cst);
    announce(waiters, locked);
    any = true;
  }
  if (threads_.loop_mode) {
    any |= watched_.look([&](connection_slot& slot) {
      tell_waiter(slot, direction::read, waiters);  // it is watched no longer
    });
  }
  for (int i = 0; i < entries_per_poll && !waiters.full(); ++i) {
    // Whoever broke the protocol could keep us busy for ever.
    if (violated_.load(std::memory_order_relaxed)) break;
    const auto word = inbox_.take();
    if (word == 0) break;
    handle(word, waiters, locked);
    any = true;
  }
  return any;
}

void link_group::handle(std::uint32_t word, batch& waiters, bool locked) noexcept {
  const auto e = entry::decode(word);
  auto* slot = table_.find(e.connection);
  if (slot == nullptr || (word >> 31) == 0 || static_cast<std::uint32_t>(e.kind) > 2) {
    end(true);
    return;
  }
  const auto generation = slot->generation.load(std::memory_order_relaxed);
  // Entries of a former connection, or of one that never was, mean nothing.
  if ((generation & entry::generation_mask) != e.generation) return;
  if (e.kind == entry_kind::state) {
    handle_state(*slot, generation, waiters, locked);
    return;
  }
  const auto d = e.kind == entry_kind::data ? direction::read : direction::write;
  slot->outstanding_of(d).store(false, std::memory_order_relaxed);
  tell(*slot, d, waiters);
  if (slot->state.load(std::memory_order_relaxed) == connection_slot::use::closing) {
    std::unique_lock lock(mutex_, std::defer_lock);
    if (!locked) lock.lock();
    if (slot->generation.load(std::memory_order_relaxed) == generation) release_if_through(*slot);
  }
}

void link_group::handle_state(connection_slot& slot, std::uint32_t generation, batch& waiters,
                              bool locked) noexcept {
  {
    std::unique_lock lock(mutex_, std::defer_lock);
    if (!locked) lock.lock();
    if (slot.generation.load(std::memory_order_relaxed) != generation ||
        slot.state.load(std::memory_order_relaxed) == connection_slot::use::free) {
      return;
    }
    slot.peer_ended = true;
    release_if_through(slot);
  }
  tell(slot, direction::read, waiters);
  tell(slot, direction::write, waiters);
}

void link_group::tell(connection_slot& slot, direction d, batch& waiters) noexcept {
  if (d == direction::read && threads_.loop_mode) watched_.remove(slot);
  tell_waiter(slot, d, waiters);
}

void link_group::tell_waiter(connection_slot& slot, direction d, batch& waiters) noexcept {
  auto& place = slot.waiter_of(d);
  if (auto* who = place.load(std::memory_order_relaxed)) {
    place.store(nullptr, std::memory_order_relaxed);
    waiters.add(*who);
  }
}

void link_group::request_announcement() noexcept {
  announcement_.store(true, std::memory_order_seq_cst);
  if (own_doorbell_ >= 0) static_cast<void>(system::ring(own_doorbell_));
}

void link_group::announce(batch& waiters, bool locked) noexcept {
  {
    std::unique_lock lock(mutex_, std::defer_lock);
    if (!locked) lock.lock();
    table_.for_each([&](connection_slot& slot) {
      if (slot.out != nullptr) {
        wake_sleeper(slot.in->consumer.reader_blocked);
        wake_sleeper(slot.out->producer.writer_blocked);
      }
      release_if_through(slot);
    });
  }
  bool more = false;
  table_.for_each([&](connection_slot& slot) {
    if (waiters.full()) {
      more = true;
      return;
    }
    tell(slot, direction::read, waiters);
    tell(slot, direction::write, waiters);
  });
  if (more) announcement_.store(true, std::memory_order_seq_cst);
}

bool link_group::before_sleep() noexcept {
  if (stale()) return true;
  auto lock = lock_waiters();
  if (announcement_.load(std::memory_order_seq_cst)) return false;
  return watched_.arm_all() && inbox_.before_sleep();
}

void link_group::after_sleep() noexcept {
  if (stale()) return;
  auto lock = lock_waiters();
  inbox_.after_sleep();
}

void link_group::end(bool violation) noexcept {
  if (violation) violated_.store(true, std::memory_order_relaxed);
  ended_.store(true, std::memory_order_seq_cst);
  request_announcement();
}

void link_group::peer_died() noexcept {
  if (stale()) return;
  end(false);
  if (threads_.loop_mode && !threads_.here()) return;
  while (announcement_.load(std::memory_order_seq_cst)) poll();
}

reason link_group::why_ended() const noexcept {
  if (!ended()) return reason::none;
  return violated_.load(std::memory_order_relaxed) ? reason::protocol_error : reason::link_failed;
}

}  // namespace smc::smcd
