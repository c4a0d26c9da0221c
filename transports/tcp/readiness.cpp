#include "tcp/readiness.hpp"

#include <asio/bind_cancellation_slot.hpp>
#include <asio/bind_executor.hpp>
#include <asio/system_executor.hpp>
#include <smc/detail/loop_core.hpp>
#include <utility>

namespace smc::tcp {

using detail::direction;

namespace {

class optional_lock {
 public:
  optional_lock(std::mutex& mutex, bool needed) : lock_(mutex, std::defer_lock) {
    if (needed) lock_.lock();
  }

 private:
  std::unique_lock<std::mutex> lock_;
};

}  // namespace

void readiness::arm(direction d, detail::waiter& who) {
  const optional_lock lock(mutex_, !loop_);
  side& s = sides_[static_cast<std::size_t>(d)];
  s.who = &who;
  if (s.waiting || !socket_) return;
  s.waiting = true;
  // The system executor runs the handler right where the reactor found the event, outside any
  // strand.
  auto handler = [self = shared_from_this(), &s](std::error_code) {
    if (self->loop_) self->loop_->internal_handler();
    self->on_ready(s);
  };
  socket_->async_wait(
      d == direction::read ? asio::socket_base::wait_read : asio::socket_base::wait_write,
      detail::waiting_in(s.memory, asio::bind_cancellation_slot(
                                       s.signal.slot(), asio::bind_executor(asio::system_executor(),
                                                                            std::move(handler)))));
}

void readiness::on_ready(side& s) {
  detail::waiter* who = nullptr;
  std::shared_ptr<void> keep;
  {
    const optional_lock lock(mutex_, !loop_);
    s.waiting = false;
    who = std::exchange(s.who, nullptr);
    if (who && !loop_) keep = who->keep_alive();
  }
  if (who) who->ready();
}

void readiness::disarm(direction d) {
  const optional_lock lock(mutex_, !loop_);
  side& s = sides_[static_cast<std::size_t>(d)];
  s.who = nullptr;
  if (s.waiting) s.signal.emit(asio::cancellation_type::terminal);
}

void readiness::detach() {
  const optional_lock lock(mutex_, !loop_);
  socket_ = nullptr;
  for (side& s : sides_) s.who = nullptr;
}

}  // namespace smc::tcp
