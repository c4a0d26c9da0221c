#include "system/fork.hpp"

#include <pthread.h>

#include <array>
#include <cerrno>

#include "system/descriptor.hpp"

namespace smc::system {

namespace detail {
std::atomic<std::uint32_t> current_fork_generation{0};
}

namespace {

using child_handler = void (*)() noexcept;
constinit std::array<std::atomic<child_handler>, 16> handlers{};

// Async-signal-safe: other threads of the parent may have held any lock.
void in_child() {
  const int kept = errno;
  detail::current_fork_generation.store(
      detail::current_fork_generation.load(std::memory_order_relaxed) + 1,
      std::memory_order_relaxed);
  detail::neutralise_registered_descriptors();
  for (auto& entry : handlers) {
    if (auto handler = entry.load(std::memory_order_acquire)) handler();
  }
  errno = kept;
}

}  // namespace

void watch_forks() noexcept {
  static const int installed = ::pthread_atfork(nullptr, nullptr, &in_child);
  static_cast<void>(installed);
}

bool register_child_handler(void (*handler)() noexcept) noexcept {
  watch_forks();
  for (auto& entry : handlers) {
    child_handler expected = nullptr;
    if (entry.compare_exchange_strong(expected, handler, std::memory_order_acq_rel)) return true;
    if (expected == handler) return true;
  }
  return false;
}

}  // namespace smc::system
