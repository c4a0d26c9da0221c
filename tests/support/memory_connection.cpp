#include "support/memory_connection.hpp"

#include <algorithm>
#include <asio/error.hpp>
#include <utility>

namespace smc::test {

using detail::direction;
using detail::transfer_result;
using guard = std::lock_guard<std::mutex>;

namespace {

std::size_t index(direction d) { return static_cast<std::size_t>(d); }

}  // namespace

bool memory_connection::blocked_for_nothing(direction d) noexcept {
  return baseless_[index(d)] = faults::takes_blocked_try(side_, d);
}

// --- reading ---

transfer_result memory_connection::read_some(
    std::span<const asio::mutable_buffer> buffers) noexcept {
  shown_ = 0;
  if (asio::buffer_size(buffers) == 0) return {};
  if (blocked_for_nothing(direction::read)) return {asio::error::would_block, 0};
  const guard lock(channel_->mutex_);
  if (const auto error = channel_->input(side_, 1)) return {error, 0};
  const std::size_t n = in().copy(buffers, faults::most(side_, direction::read));
  in().drop(n);
  channel_->announce();
  return {{}, n};
}

std::error_code memory_connection::data(std::size_t min, asio::const_buffer& bytes) noexcept {
  shown_ = 0;
  bytes = {};
  if (blocked_for_nothing(direction::read)) return asio::error::would_block;
  const guard lock(channel_->mutex_);
  if (min > in().capacity()) return asio::error::no_buffer_space;
  auto error = channel_->input(side_, min);
  if (error == asio::error::would_block) {
    if (min != 0) return error;
    error.clear();
  }
  in_bytes_.resize(in().capacity());
  shown_ = in().copy(asio::buffer(in_bytes_), unlimited);
  bytes = asio::buffer(in_bytes_.data(), shown_);
  return error;
}

std::error_code memory_connection::consume(std::size_t n) noexcept {
  if (n > shown_) return asio::error::invalid_argument;
  shown_ -= n;
  const guard lock(channel_->mutex_);
  in().drop(n);
  channel_->announce();
  return {};
}

std::size_t memory_connection::available() noexcept {
  const guard lock(channel_->mutex_);
  return in().visible();
}

// --- writing ---

std::error_code memory_connection::begin_write(std::size_t min) noexcept {
  if (faults::left_before_break(side_) == 0) channel_->break_down();
  return channel_->output(side_, min);
}

/// `n` bytes were passed on.
void memory_connection::written(std::size_t n) noexcept {
  faults::written(side_, n);
  channel_->announce();
  if (faults::left_before_break(side_) == 0) channel_->break_down();
}

transfer_result memory_connection::write_some(
    std::span<const asio::const_buffer> buffers) noexcept {
  prepared_ = 0;
  if (asio::buffer_size(buffers) == 0) return {};
  if (blocked_for_nothing(direction::write)) return {asio::error::would_block, 0};
  const guard lock(channel_->mutex_);
  if (const auto error = begin_write(1)) return {error, 0};
  const std::size_t limit =
      std::min(faults::most(side_, direction::write), faults::left_before_break(side_));
  const std::size_t n = out().put(buffers, limit);
  out().show(n);
  written(n);
  return {{}, n};
}

std::error_code memory_connection::prepare(std::size_t min, std::size_t max,
                                           asio::mutable_buffer& room) noexcept {
  prepared_ = 0;
  room = {};
  if (blocked_for_nothing(direction::write)) return asio::error::would_block;
  const guard lock(channel_->mutex_);
  if (min > out().capacity()) return asio::error::no_buffer_space;
  if (const auto error = begin_write(min)) return error;
  prepared_ = std::min(std::max(min, max), out().free());
  out_bytes_.resize(out().capacity());
  room = asio::buffer(out_bytes_.data(), prepared_);
  return {};
}

std::error_code memory_connection::commit(std::size_t n) noexcept {
  if (n > prepared_) return asio::error::invalid_argument;
  prepared_ = 0;
  if (n == 0) return {};
  const guard lock(channel_->mutex_);
  if (const auto error = begin_write(n)) return error;
  out().put(asio::buffer(out_bytes_.data(), n), faults::left_before_break(side_));
  const bool all = channel_->pass_on(side_);
  written(n);
  return all ? std::error_code() : asio::error::would_block;
}

// --- waiting ---

std::error_code memory_connection::poll(direction d, std::size_t min) noexcept {
  const guard lock(channel_->mutex_);
  const auto error =
      d == direction::read ? channel_->input(side_, min) : channel_->output(side_, min);
  return error == asio::error::would_block ? error : std::error_code();
}

bool memory_connection::arm(direction d, std::size_t min, detail::waiter& who) noexcept {
  const bool baseless = std::exchange(baseless_[index(d)], false);
  const guard lock(channel_->mutex_);
  // What blocked for nothing is to be waited for as if it had had a reason.
  if (!baseless && channel_->can_progress(side_, d, min)) return false;
  auto& armed = channel_->at(side_).armed[index(d)];
  armed = {&who, min, false};
  if (baseless || faults::takes_idle_wakeup(side_, d)) channel_->make_due(side_, armed);
  return true;
}

void memory_connection::disarm(direction d) noexcept {
  const guard lock(channel_->mutex_);
  channel_->at(side_).armed[index(d)] = {};
}

void memory_connection::wait(direction d, std::size_t min,
                             std::chrono::milliseconds limit) noexcept {
  if (std::exchange(baseless_[index(d)], false)) return;
  std::unique_lock lock(channel_->mutex_);
  (void)channel_->changed_.wait_for(lock, limit,
                                    [&] { return channel_->can_progress(side_, d, min); });
}

// --- ending ---

std::error_code memory_connection::shutdown(asio::socket_base::shutdown_type what) noexcept {
  const guard lock(channel_->mutex_);
  auto& own = channel_->at(side_);
  if (channel_->beyond(side_).reset) return asio::error::not_connected;
  if (what != asio::socket_base::shutdown_receive) {
    out().show(out().hidden());
    own.sending_over = true;
  }
  if (what != asio::socket_base::shutdown_send) own.receive_shut = true;
  channel_->announce();
  return {};
}

void memory_connection::close() noexcept {
  const guard lock(channel_->mutex_);
  channel_->close(side_, false);
}

void memory_connection::abort() noexcept {
  const guard lock(channel_->mutex_);
  channel_->close(side_, true);
}

void memory_connection::cut() noexcept {
  const guard lock(channel_->mutex_);
  channel_->break_down();
}

detail::transport_counters memory_connection::counters(direction d) const noexcept {
  const guard lock(channel_->mutex_);
  const auto& queue = d == direction::read ? channel_->at(side_).in : channel_->beyond(side_).in;
  detail::transport_counters c;
  c.ring_size = queue.capacity();
  return c;
}

}  // namespace smc::test
