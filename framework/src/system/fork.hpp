#pragma once
// What a child of fork() must know: it inherits addresses of shared memory that it does not have,
// and descriptors that belong to its parent's connections. Every object of shared memory remembers
// the generation it was made in.
#include <atomic>
#include <cstdint>

namespace smc::system {

namespace detail {
extern std::atomic<std::uint32_t> current_fork_generation;
}

/// Starts at 0 and grows by one in each child of fork(). Objects of another generation must not be
/// touched.
inline std::uint32_t fork_generation() noexcept {
  return detail::current_fork_generation.load(std::memory_order_relaxed);
}

/// Installs the child handler (once per process). Descriptors call it; so does anything else that
/// is of a generation.
void watch_forks() noexcept;

/// `handler` runs in every child, after the generation was raised and the library's descriptors
/// were neutralised. It must be async-signal-safe. At most 16 handlers; false where there is no
/// room. Registering twice counts once.
bool register_child_handler(void (*handler)() noexcept) noexcept;

}  // namespace smc::system
