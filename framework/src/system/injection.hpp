#pragma once
// Every system call of the shared-memory and local-socket code can be made to fail on purpose, or
// be the moment of something else, so that each error path is walked by a test. Unused it costs one
// relaxed load per call.
#include <atomic>
#include <cstdint>

namespace smc::system {

/// The kinds of system calls that go through this room.
enum class call : unsigned char {
  memfd_create,
  fallocate,
  fcntl,
  fstat,
  mmap,
  mprotect,
  madvise,
  eventfd,
  read,
  write,
  socket,
  bind,
  listen,
  connect,
  accept,
  send,
  receive,
  poll,
  epoll,
  timer,
  pidfd_open,
  futex,
  socket_option,
  duplicate,
  open,
  unlink,
  random,
  count
};

namespace detail {
extern std::atomic<bool> injection_active;
int injected_failure(call kind) noexcept;
}  // namespace detail

/// The errno with which this call shall fail, or 0.
inline int injected(call kind) noexcept {
  return detail::injection_active.load(std::memory_order_relaxed) ? detail::injected_failure(kind)
                                                                  : 0;
}

/// While it lives, one call made in this process fails: the `nth` (from 0) of its kind, or the
/// `nth` of all kinds. One at a time; any thread's calls count.
class failure_scope {
 public:
  failure_scope(call kind, std::uint64_t nth, int error) noexcept;
  failure_scope(std::uint64_t nth_of_all, int error) noexcept;
  failure_scope(const failure_scope&) = delete;
  failure_scope& operator=(const failure_scope&) = delete;
  ~failure_scope();

  /// Whether the call was reached and failed.
  bool triggered() const noexcept;
  /// How many calls of its kind, or of all, were made since it began.
  std::uint64_t calls() const noexcept;

 private:
  const std::uint64_t nth_;
};

/// While it lives, `then` is called once: before the `nth` (from 0) system call of any kind that
/// this process makes. One at a time, and none beside a failure_scope; any thread's calls count.
class interruption_scope {
 public:
  using interruption = void (*)() noexcept;
  interruption_scope(std::uint64_t nth, interruption then) noexcept;
  interruption_scope(const interruption_scope&) = delete;
  interruption_scope& operator=(const interruption_scope&) = delete;
  ~interruption_scope();
};

}  // namespace smc::system
