#pragma once
// System calls that ring, and that wait for something to happen.
#include <poll.h>
#include <sys/epoll.h>
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "system/descriptor.hpp"
#include "system/result.hpp"

namespace smc::system {

/// An eventfd, non-blocking, close-on-exec, count 0.
result<descriptor> create_event() noexcept;
/// Adds one to an eventfd's count. A full one (EAGAIN) rings already: no error.
std::error_code ring(const descriptor& event) noexcept;
std::error_code ring(int event) noexcept;
/// Sets the count to 0; whether it was more. (would_block is no error.)
result<bool> clear(const descriptor& event) noexcept;

/// read() and write() with EINTR retried.
result<std::size_t> read_some(const descriptor& from, std::span<std::byte> into) noexcept;
result<std::size_t> write_some(const descriptor& to, std::span<const std::byte> from) noexcept;

/// poll(); EINTR is retried with what is left of the limit. A negative limit waits for ever.
/// Returns how many are ready.
result<int> poll(std::span<pollfd> entries, std::chrono::milliseconds limit) noexcept;

result<descriptor> create_epoll() noexcept;
/// `operation` is EPOLL_CTL_ADD, MOD or DEL.
std::error_code epoll_change(const descriptor& epoll, int operation, int number,
                             std::uint32_t events, std::uint64_t data) noexcept;
result<std::size_t> epoll_wait(const descriptor& epoll, std::span<epoll_event> events,
                               std::chrono::milliseconds limit) noexcept;

/// A timerfd of the monotonic clock: non-blocking, close-on-exec, not set.
result<descriptor> create_timer() noexcept;
/// Fires once after `left` (more than 0).
std::error_code set_timer(const descriptor& timer, std::chrono::nanoseconds left) noexcept;

/// Random bytes of the system, unguessable for others.
std::error_code fill_random(std::span<std::byte> into) noexcept;

/// A descriptor that becomes readable when the process ends. Close-on-exec.
result<descriptor> open_process(pid_t process) noexcept;

}  // namespace smc::system
