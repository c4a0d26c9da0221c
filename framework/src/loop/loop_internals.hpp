#pragma once
#include <atomic>
#include <smc/detail/loop_core.hpp>

#include "loop/asio_internals.hpp"

namespace smc::detail {

/// Event loops in this process. Any thread.
std::size_t count_of_loops() noexcept;

struct loop_core::internals {
  explicit internals(loop_core& core)
      : work(core.inner_), wake(core.inner_, &internals::woken, &core) {}

  static void woken(void* owner) noexcept {
    auto& core = *static_cast<loop_core*>(owner);
    core.internal_handler();
    const std::lock_guard lock(core.mutex_);
    core.wake_posted_ = false;
  }

  handler_memory memory;
  inner_work work;
  wake_operation wake;
  std::atomic<int> wakers{0};  // threads on their way to post `wake`
};

}  // namespace smc::detail
