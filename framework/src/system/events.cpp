#include "system/events.hpp"

#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

#include "system/injection.hpp"

namespace smc::system {

namespace {

using clock = std::chrono::steady_clock;

int poll_limit(std::chrono::milliseconds limit) noexcept {
  if (limit.count() < 0) return -1;
  return static_cast<int>(std::min<std::chrono::milliseconds::rep>(limit.count(), INT_MAX));
}

// Calls `wait(milliseconds)` again after a signal, with what is left of the limit.
template <typename Wait>
int wait_through_signals(std::chrono::milliseconds limit, Wait&& wait) noexcept {
  const auto end = clock::now() + std::max(limit, std::chrono::milliseconds(0));
  for (;;) {
    const int r = wait(poll_limit(limit));
    if (r >= 0 || errno != EINTR) return r;
    if (limit.count() > 0) {
      limit = std::max(std::chrono::ceil<std::chrono::milliseconds>(end - clock::now()),
                       std::chrono::milliseconds(0));
    }
  }
}

result<std::size_t> write_to(int number, std::span<const std::byte> from) noexcept {
  if (const int e = injected(call::write)) return error_of(e);
  ssize_t r;
  do {
    r = ::write(number, from.data(), from.size());
  } while (r < 0 && errno == EINTR);
  if (r < 0) return last_error();
  return static_cast<std::size_t>(r);
}

}  // namespace

result<descriptor> create_event() noexcept {
  if (const int e = injected(call::eventfd)) return error_of(e);
  const int number = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (number < 0) return last_error();
  return descriptor::adopt(number);
}

std::error_code ring(const descriptor& event) noexcept { return ring(event.get()); }

std::error_code ring(int event) noexcept {
  const std::uint64_t one = 1;
  const auto r = write_to(event, std::as_bytes(std::span(&one, 1)));
  return r.error.value() == EAGAIN ? std::error_code() : r.error;
}

result<bool> clear(const descriptor& event) noexcept {
  std::uint64_t count = 0;
  const auto r = read_some(event, std::as_writable_bytes(std::span(&count, 1)));
  if (r.error.value() == EAGAIN) return false;
  if (r.error) return r.error;
  return count != 0;
}

result<std::size_t> read_some(const descriptor& from, std::span<std::byte> into) noexcept {
  if (const int e = injected(call::read)) return error_of(e);
  ssize_t r;
  do {
    r = ::read(from.get(), into.data(), into.size());
  } while (r < 0 && errno == EINTR);
  if (r < 0) return last_error();
  return static_cast<std::size_t>(r);
}

result<std::size_t> write_some(const descriptor& to, std::span<const std::byte> from) noexcept {
  return write_to(to.get(), from);
}

result<int> poll(std::span<pollfd> entries, std::chrono::milliseconds limit) noexcept {
  if (const int e = injected(call::poll)) return error_of(e);
  const int r = wait_through_signals(limit, [&](int ms) {
    return ::poll(entries.data(), static_cast<nfds_t>(entries.size()), ms);
  });
  if (r < 0) return last_error();
  return r;
}

result<descriptor> create_epoll() noexcept {
  if (const int e = injected(call::epoll)) return error_of(e);
  const int number = ::epoll_create1(EPOLL_CLOEXEC);
  if (number < 0) return last_error();
  return descriptor::adopt(number);
}

std::error_code epoll_change(const descriptor& epoll, int operation, int number,
                             std::uint32_t events, std::uint64_t data) noexcept {
  if (const int e = injected(call::epoll)) return error_of(e);
  epoll_event event{};
  event.events = events;
  event.data.u64 = data;
  return ::epoll_ctl(epoll.get(), operation, number, &event) == 0 ? std::error_code()
                                                                  : last_error();
}

result<std::size_t> epoll_wait(const descriptor& epoll, std::span<epoll_event> events,
                               std::chrono::milliseconds limit) noexcept {
  if (const int e = injected(call::epoll)) return error_of(e);
  const int r = wait_through_signals(limit, [&](int ms) {
    return ::epoll_wait(epoll.get(), events.data(), static_cast<int>(events.size()), ms);
  });
  if (r < 0) return last_error();
  return static_cast<std::size_t>(r);
}

result<descriptor> open_process(pid_t process) noexcept {
  if (const int e = injected(call::pidfd_open)) return error_of(e);
  const long number = ::syscall(SYS_pidfd_open, process, 0);
  if (number < 0) return last_error();
  return descriptor::adopt(static_cast<int>(number));
}

result<descriptor> create_timer() noexcept {
  if (const int e = injected(call::timer)) return error_of(e);
  const int number = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  if (number < 0) return last_error();
  return descriptor::adopt(number);
}

std::error_code set_timer(const descriptor& timer, std::chrono::nanoseconds left) noexcept {
  if (const int e = injected(call::timer)) return error_of(e);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
  itimerspec spec{};
  spec.it_value.tv_sec = seconds.count();
  spec.it_value.tv_nsec = (left - seconds).count();
  return ::timerfd_settime(timer.get(), 0, &spec, nullptr) == 0 ? std::error_code() : last_error();
}

std::error_code fill_random(std::span<std::byte> into) noexcept {
  if (const int e = injected(call::random)) return error_of(e);
  while (!into.empty()) {
    const auto r = ::getrandom(into.data(), into.size(), 0);
    if (r < 0 && errno != EINTR) return last_error();
    if (r > 0) into = into.subspan(static_cast<std::size_t>(r));
  }
  return {};
}

}  // namespace smc::system
