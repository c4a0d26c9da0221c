#include "smcd/connection.hpp"

#include <algorithm>
#include <asio/error.hpp>
#include <utility>

#include "smc/close_state.hpp"
#include "system/fork.hpp"

namespace smc::smcd {

using detail::close_state;
using detail::direction;
namespace close_flag = detail::close_flag;

namespace {
std::error_code make(asio::error::basic_errors e) noexcept {
  return asio::error::make_error_code(e);
}
std::error_code end_of_stream() noexcept { return asio::error::make_error_code(asio::error::eof); }
}  // namespace

connection::connection(std::shared_ptr<link_group> group, connection_slot& slot,
                       const ring_memory& in, const ring_memory& out, std::uint64_t own_token,
                       const ring_descriptor& peer) noexcept
    : in_(in),
      out_(out),
      group_(std::move(group)),
      slot_(slot),
      peer_(peer),
      own_token_(own_token),
      mapped_(group_->through().mappable()),
      fork_generation_(system::fork_generation()) {}

connection::~connection() { close(); }

bool connection::stale() const noexcept { return fork_generation_ != system::fork_generation(); }

bool connection::peer_attached() const noexcept {
  return !stale() &&
         in_.ring().header->producer.attached.load(std::memory_order_acquire) == own_token_;
}

// --- what can be done now ---

std::error_code connection::input(std::uint64_t min) noexcept {
  min = std::max<std::uint64_t>(min, 1);
  if (in_.available() >= min) return {};
  if (failed_.load(std::memory_order_relaxed)) return make(asio::error::connection_reset);
  // Asked before the look: what a dead peer has published is seen by any look after its death.
  const bool ended = over();
  if (!in_.look()) return fail();
  if (in_.available() >= min) return {};
  const auto flags = in_.writer_flags();
  if (close_state::sending_over(flags)) {
    return close_state::orderly_end(flags) ? end_of_stream() : make(asio::error::connection_reset);
  }
  if (ended) return make(asio::error::connection_reset);
  if (receive_shut_) return end_of_stream();
  if (const auto wake = in_.drained()) tell_peer(direction::read, wake);
  return make(asio::error::would_block);
}

std::error_code connection::output(std::uint64_t min) noexcept {
  min = std::max<std::uint64_t>(min, 1);
  if (close_state::orderly_end(sent_flags_.load(std::memory_order_relaxed))) {
    return make(asio::error::broken_pipe);
  }
  if (failed_.load(std::memory_order_relaxed) || over()) {
    return make(asio::error::connection_reset);
  }
  if (!out_.look()) return fail();
  const auto flags = out_.reader_flags();
  if ((flags & close_flag::aborted) != 0) return make(asio::error::connection_reset);
  if ((flags & close_flag::closed) != 0) return make(asio::error::broken_pipe);
  return out_.free() >= min ? std::error_code() : make(asio::error::would_block);
}

// The peer can't be reasoned with: it is told that we are gone, and our own waiters that it is
// over.
std::error_code connection::fail() noexcept {
  if (!failed_.exchange(true, std::memory_order_relaxed)) {
    const auto flags =
        sent_flags_.fetch_or(close_flag::aborted, std::memory_order_relaxed) | close_flag::aborted;
    in_.ring().header->consumer.flags.store(flags | close_flag::closed, std::memory_order_seq_cst);
    tell_peer(direction::write, out_.publish_flags(flags));
    group_->request_announcement();
  }
  return make(asio::error::connection_reset);
}

// A move of the read half interests the peer's writer, and the other way round.
void connection::tell_peer(direction moved, wake_up wake) noexcept {
  const bool read = moved == direction::read;
  bool woke = false;
  if (wake.sleeper) {
    auto& word = read ? in_.ring().header->producer.writer_blocked
                      : out_.ring().header->consumer.reader_blocked;
    woke = system::futex_wake(word).value > 0;
  }
  if (wake.entry && group_->signal(peer_, read ? entry_kind::space : entry_kind::data)) woke = true;
  (read ? (woke ? in_woke_ : in_quiet_) : (woke ? out_woke_ : out_quiet_)).add(1);
}

// --- reading ---

detail::transfer_result connection::read_some(
    std::span<const asio::mutable_buffer> buffers) noexcept {
  if (stale()) return {make(asio::error::bad_descriptor), 0};
  shown_ = 0;
  const auto step = detail::publish_step(in_.ring().size);
  std::size_t done = 0;
  for (const auto& buffer : buffers) {
    auto* to = static_cast<std::byte*>(buffer.data());
    for (auto left = buffer.size(); left != 0;) {
      // The first byte decides about errors; behind it, what is there at a look is enough.
      if (in_.available() == 0) {
        if (auto error = input(1)) return {done == 0 ? error : std::error_code(), done};
      }
      const auto n =
          static_cast<std::size_t>(std::min<std::uint64_t>({left, step, in_.available()}));
      in_.copy(to, n);
      if (const auto wake = in_.consume(n)) tell_peer(direction::read, wake);
      to += n;
      left -= n;
      done += n;
    }
  }
  return {{}, done};
}

std::error_code connection::data(std::size_t min, asio::const_buffer& bytes) noexcept {
  bytes = {};
  shown_ = 0;
  if (stale()) return make(asio::error::bad_descriptor);
  const auto size = in_.ring().size;
  if (min > size) return make(asio::error::no_buffer_space);
  // A second look at what is enough already: the caller wants all there is.
  auto error = input(min);
  if (!error && !in_.look()) error = fail();
  if (error == make(asio::error::would_block)) {
    if (min != 0) return error;
    error.clear();
  }
  auto n = static_cast<std::size_t>(in_.available());
  const std::byte* at = in_.front();
  if (n > in_.contiguous()) {
    const auto whole = static_cast<std::size_t>(in_.contiguous());
    if (std::byte* apart = in_buffer_.get(size)) {
      in_.copy(apart, n);
      at = apart;
    } else if (whole >= min && !error) {
      n = whole;
    } else {
      return make(asio::error::no_memory);
    }
  }
  shown_ = n;
  bytes = asio::const_buffer(at, n);
  return error;
}

std::error_code connection::consume(std::size_t n) noexcept {
  if (stale()) return make(asio::error::bad_descriptor);
  if (n > shown_) return make(asio::error::invalid_argument);
  shown_ -= n;
  if (n == 0) return {};
  if (const auto wake = in_.consume(n)) tell_peer(direction::read, wake);
  return {};
}

std::size_t connection::available() noexcept {
  if (stale()) return 0;
  if (!failed_.load(std::memory_order_relaxed) && !in_.look()) static_cast<void>(fail());
  return static_cast<std::size_t>(in_.available());
}

// --- writing ---

detail::transfer_result connection::write_some(
    std::span<const asio::const_buffer> buffers) noexcept {
  if (stale()) return {make(asio::error::bad_descriptor), 0};
  prepared_ = 0;
  std::size_t wanted = 0;
  for (const auto& buffer : buffers) wanted += buffer.size();
  if (wanted == 0) return {};
  if (wanted > out_.ring().size) ring_too_small_.add(1);
  if (auto error = output(1)) {
    if (error == make(asio::error::would_block)) ring_full_.add(1);
    return {error, 0};
  }
  return {{}, write_pieces(buffers)};
}

std::size_t connection::write_pieces(std::span<const asio::const_buffer> buffers) noexcept {
  const auto step = detail::publish_step(out_.ring().size);
  std::size_t done = 0;
  for (const auto& buffer : buffers) {
    auto* from = static_cast<const std::byte*>(buffer.data());
    for (auto left = buffer.size(); left != 0;) {
      if (out_.free() == 0) {
        // The reader may be at work on what was published in this very call.
        if (out_.unpublished() != 0) tell_peer(direction::write, out_.publish());
        if (output(1)) return done;
      }
      const auto n = static_cast<std::size_t>(
          std::min<std::uint64_t>({left, step - out_.unpublished(), out_.free()}));
      put(from, n);
      from += n;
      left -= n;
      done += n;
      if (out_.unpublished() == step) tell_peer(direction::write, out_.publish());
    }
  }
  if (out_.unpublished() != 0) tell_peer(direction::write, out_.publish());
  return done;
}

// Into the ring, not yet published.
void connection::put(const std::byte* from, std::size_t n) noexcept {
  const auto& ring = out_.ring();
  if (mapped_) {
    ring.store(out_.next(), from, n);
  } else {
    std::byte* send_buffer = out_buffer_.get(ring.size);
    copy_bytes(send_buffer, from, n);
    group_->through().move_data(ring, out_.next(), {send_buffer, n});
  }
  out_.advance(n);
}

std::error_code connection::prepare(std::size_t min, std::size_t max,
                                    asio::mutable_buffer& room) noexcept {
  room = {};
  prepared_ = 0;
  if (stale()) return make(asio::error::bad_descriptor);
  const auto size = out_.ring().size;
  if (min > size) {
    ring_too_small_.add(1);
    return make(asio::error::no_buffer_space);
  }
  if (auto error = output(min)) {
    if (error == make(asio::error::would_block)) ring_full_.add(1);
    return error;
  }
  auto n = static_cast<std::size_t>(std::min<std::uint64_t>(std::max(min, max), out_.free()));
  prepared_apart_ = !mapped_;
  if (mapped_ && n > out_.contiguous()) {
    // A shorter span that lies in one piece does, if it is long enough.
    const auto whole = static_cast<std::size_t>(out_.contiguous());
    if (whole >= std::max<std::size_t>(min, 1)) {
      n = whole;
    } else {
      prepared_apart_ = true;
    }
  }
  std::byte* at = out_.back();
  if (prepared_apart_ && (at = out_buffer_.get(size)) == nullptr) {
    return make(asio::error::no_memory);
  }
  prepared_ = n;
  room = asio::mutable_buffer(at, n);
  return {};
}

std::error_code connection::commit(std::size_t n) noexcept {
  if (stale()) return make(asio::error::bad_descriptor);
  if (n > prepared_) return make(asio::error::invalid_argument);
  prepared_ = 0;
  if (n == 0) return {};
  if (auto error = output(n)) return error;
  if (prepared_apart_) {
    std::byte* from = out_buffer_.get(out_.ring().size);
    group_->through().move_data(out_.ring(), out_.next(), {from, n});
  }
  out_.advance(n);
  tell_peer(direction::write, out_.publish());
  return {};
}

}  // namespace smc::smcd
