// Waiting for a connection, and ending it.
#include <algorithm>
#include <asio/error.hpp>

#include "smc/close_state.hpp"
#include "smcd/connection.hpp"
#include "system/fork.hpp"
#include "system/memory.hpp"

namespace smc::smcd {

using detail::close_state;
using detail::direction;
namespace close_flag = detail::close_flag;

namespace {
std::error_code make(asio::error::basic_errors e) noexcept {
  return asio::error::make_error_code(e);
}
}  // namespace

std::error_code connection::poll(direction d, std::size_t min) noexcept {
  if (stale()) return {};  // a transfer answers bad_descriptor at once
  const auto error = d == direction::read ? input(min) : output(min);
  return error == make(asio::error::would_block) ? error : std::error_code();
}

bool connection::arm(direction d, std::size_t min, detail::waiter& who) noexcept {
  if (stale()) return false;
  const auto lock = group_->lock_waiters();
  if (!poll(d, min)) return false;
  if (d == direction::write || !group_->watch(slot_, in_)) {
    slot_.arm(d);
    // Found ready, the arming stays outstanding (wake.hpp says why).
    if (!poll(d, min)) return false;
  }
  slot_.waiter_of(d).store(&who, std::memory_order_relaxed);
  return true;
}

void connection::disarm(direction d) noexcept {
  if (stale()) return;
  const auto lock = group_->lock_waiters();
  slot_.waiter_of(d).store(nullptr, std::memory_order_relaxed);
  if (d == direction::read) group_->watched_.remove(slot_);
}

void connection::wait(direction d, std::size_t min, std::chrono::milliseconds limit) noexcept {
  // Nobody tells of the peer's death where no loop runs: the caller looks for it between slices.
  constexpr std::chrono::milliseconds slice(100);
  if (stale()) return;
  auto& word = d == direction::read ? in_.blocked() : out_.blocked();
  word.store(1, std::memory_order_seq_cst);
  if (poll(d, min)) static_cast<void>(system::futex_wait(word, 1, std::min(limit, slice)));
  word.store(0, std::memory_order_relaxed);
}

std::error_code connection::shutdown(asio::socket_base::shutdown_type what) noexcept {
  if (stale()) return make(asio::error::bad_descriptor);
  const auto theirs = out_.ring().header->consumer.flags.load(std::memory_order_relaxed);
  if (failed_.load(std::memory_order_relaxed) || over() || (theirs & close_flag::aborted) != 0) {
    return make(asio::error::not_connected);
  }
  if (what != asio::socket_base::shutdown_receive) {
    const auto before = sent_flags_.fetch_or(close_flag::sending_done, std::memory_order_relaxed);
    if (!close_state::sending_over(before)) {
      prepared_ = 0;
      tell_peer(direction::write, out_.publish_flags(before | close_flag::sending_done));
      tell_own_waiter(direction::write);
    }
  }
  // As with TCP: bytes that came, and those still to come, can be read; then it is the end instead
  // of waiting.
  if (what != asio::socket_base::shutdown_send) {
    receive_shut_ = true;
    tell_own_waiter(direction::read);
  }
  return {};
}

void connection::tell_own_waiter(direction d) noexcept {
  if (slot_.waiter_of(d).load(std::memory_order_relaxed) != nullptr) {
    group_->request_announcement();
  }
}

void connection::close() noexcept { end(false); }
void connection::abort() noexcept { end(true); }

// The peer meets the reset on its own TCP connection, and hears of it when we close. Telling it
// here would be a second mover of our ring beside the thread that may be writing (wake.hpp).
void connection::cut() noexcept {
  if (stale()) return;
  cut_.store(true, std::memory_order_seq_cst);
  group_->request_announcement();
}

// A write of the peer's that meets this: either our look below finds its bytes, and the close
// becomes a reset; or the peer's look after its store finds our first flag (both pairs are
// seq_cst), and its next write fails.
void connection::end(bool throw_away) noexcept {
  if (stale() || closed_) return;
  closed_ = true;
  auto& in = *in_.ring().header;
  in.consumer.flags.store(close_flag::closed, std::memory_order_seq_cst);
  const bool unread = !in_.look() || in_.available() != 0;
  const bool reset = throw_away || unread || failed_.load(std::memory_order_relaxed) ||
                     cut_.load(std::memory_order_relaxed);
  const auto flags =
      close_state::flags_of_close(sent_flags_.load(std::memory_order_relaxed), reset);
  sent_flags_.store(flags, std::memory_order_relaxed);
  in.consumer.flags.store(flags | close_flag::closed, std::memory_order_seq_cst);
  // Who is armed for bytes gets its entry also now: the peer counts on one for each arming that we
  // cleared. Who waits for space is told by the state entry, or woken here.
  tell_peer(direction::write, out_.publish_flags(flags));
  wake_sleeper(in.producer.writer_blocked);
  group_->close_slot(slot_, peer_);
}

detail::transport_counters connection::counters(direction d) const noexcept {
  detail::transport_counters c;
  if (d == direction::read) {
    c.ring_size = static_cast<std::size_t>(in_.ring().size);
    c.wakeups_sent = in_woke_.get();
    c.wakeups_avoided = in_quiet_.get();
  } else {
    c.ring_size = static_cast<std::size_t>(out_.ring().size);
    c.buffer_full_remote = ring_full_.get();
    c.buffer_too_small_remote = ring_too_small_.get();
    c.wakeups_sent = out_woke_.get();
    c.wakeups_avoided = out_quiet_.get();
  }
  return c;
}

}  // namespace smc::smcd
