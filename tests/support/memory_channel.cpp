#include "support/memory_channel.hpp"

#include <algorithm>
#include <asio/error.hpp>
#include <utility>

#include "system/events.hpp"

namespace smc::test {

using detail::direction;

void memory_channel::open(memory_side side, std::size_t receive_size, system::descriptor doorbell,
                          token own, token seen) {
  byte_queue queue(receive_size);
  const std::lock_guard lock(mutex_);
  end& e = at(side);
  e.in = std::move(queue);
  e.doorbell = std::move(doorbell);
  e.own = own;
  e.seen = seen;
}

bool memory_channel::has(memory_side side, token own) const noexcept {
  const std::lock_guard lock(mutex_);
  return own != 0 && at(side).own == own;
}

bool memory_channel::saw(memory_side side, token of_other) const noexcept {
  const std::lock_guard lock(mutex_);
  return of_other != 0 && at(side).seen == of_other;
}

bool memory_channel::tell_waiters(memory_side side) noexcept {
  struct told {
    detail::waiter* who = nullptr;
    std::shared_ptr<void> keep;
  };
  std::array<told, 2> all;
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t d = 0; d < all.size(); ++d) {
      arming& a = at(side).armed[d];
      if (!a.who || !a.due) continue;
      all[d] = {a.who, a.who->keep_alive()};
      a = {};
    }
  }
  for (const told& each : all) {
    if (each.who) each.who->ready();
  }
  return all[0].who || all[1].who;
}

bool memory_channel::has_due(memory_side side) const noexcept {
  const std::lock_guard lock(mutex_);
  const auto& armed = at(side).armed;
  return std::any_of(armed.begin(), armed.end(), [](const arming& a) { return a.who && a.due; });
}

bool memory_channel::is_closed(memory_side side) const noexcept {
  const std::lock_guard lock(mutex_);
  return at(side).closed;
}

std::error_code memory_channel::input(memory_side side, std::size_t min) noexcept {
  if (at(side).in.visible() >= std::max<std::size_t>(min, 1)) return {};
  if (beyond(side).sending_over) return asio::error::make_error_code(asio::error::eof);
  if (beyond(side).reset) return asio::error::connection_reset;
  if (at(side).receive_shut) return asio::error::make_error_code(asio::error::eof);
  return asio::error::would_block;
}

std::error_code memory_channel::output(memory_side side, std::size_t min) noexcept {
  if (at(side).sending_over) return asio::error::broken_pipe;
  if (beyond(side).reset) return asio::error::connection_reset;
  if (beyond(side).closed) return asio::error::broken_pipe;
  if (!pass_on(side)) return asio::error::would_block;
  const bool enough = beyond(side).in.free() >= std::max<std::size_t>(min, 1);
  return enough ? std::error_code() : asio::error::would_block;
}

bool memory_channel::pass_on(memory_side writer) noexcept {
  byte_queue& out = beyond(writer).in;
  if (out.hidden() == 0) return true;
  out.show(std::min(out.hidden(), faults::most(writer, direction::write)));
  announce();
  return out.hidden() == 0;
}

bool memory_channel::can_progress(memory_side side, direction d, std::size_t min) noexcept {
  if (d == direction::read) return input(side, min) != asio::error::would_block;
  const byte_queue& out = beyond(side).in;
  return at(side).sending_over || beyond(side).reset || beyond(side).closed || out.hidden() != 0 ||
         out.free() >= std::max<std::size_t>(min, 1);
}

void memory_channel::make_due(memory_side side, arming& which) noexcept {
  if (std::exchange(which.due, true)) return;
  (void)system::ring(at(side).doorbell);
}

void memory_channel::announce() noexcept {
  for (const memory_side side : {memory_side::client, memory_side::server}) {
    for (const direction d : {direction::read, direction::write}) {
      arming& a = at(side).armed[static_cast<std::size_t>(d)];
      if (a.who && can_progress(side, d, a.min)) make_due(side, a);
    }
  }
  changed_.notify_all();
}

void memory_channel::break_down() noexcept {
  for (end& e : ends_) e.reset = true;
  announce();
}

void memory_channel::close(memory_side side, bool throw_away) noexcept {
  end& e = at(side);
  if (std::exchange(e.closed, true)) return;
  byte_queue& out = beyond(side).in;
  out.show(out.hidden());
  if (throw_away || e.in.visible() + e.in.hidden() != 0) {
    e.reset = true;  // an end of stream that was published before wins
  } else if (!e.reset) {
    e.sending_over = true;
  }
  e.armed = {};
  e.doorbell.reset();
  announce();
}

bool memory_wakeups::poll() noexcept {
  const auto channel = channel_.lock();
  return channel && channel->tell_waiters(side_);
}

bool memory_wakeups::before_sleep() noexcept {
  const auto channel = channel_.lock();
  return !channel || !channel->has_due(side_);
}

bool memory_wakeups::finished() const noexcept {
  const auto channel = channel_.lock();
  return !channel || channel->is_closed(side_);
}

}  // namespace smc::test
