#include <atomic>
#include <memory>
#include <smc/config.hpp>
#include <utility>

#include "config/checked.hpp"

namespace smc {
namespace {

// Values live as long as the process, since references to them were given away. A chain, so that
// the replaced ones stay reachable; nothing is destroyed at exit, when streams may still be in use;
// and no lock, so that a fork finds none held.
struct kept {
  config value;
  kept* replaced = nullptr;
};

constinit std::atomic<kept*> current{nullptr};

}  // namespace

const config& config::process_default() {
  kept* found = current.load(std::memory_order_acquire);
  if (found == nullptr) {
    auto fresh = std::make_unique<kept>(kept{from_environment()});
    // Another thread's value, from the same environment or set by the program, is as good and came
    // first.
    if (current.compare_exchange_strong(found, fresh.get(), std::memory_order_acq_rel))
      found = fresh.release();
  }
  return found->value;
}

void config::set_process_default(config value) {
  auto fresh = std::make_unique<kept>(kept{config_detail::checked(std::move(value))});
  fresh->replaced = current.load(std::memory_order_acquire);
  while (!current.compare_exchange_weak(fresh->replaced, fresh.get(), std::memory_order_acq_rel)) {
  }
  (void)fresh.release();
}

}  // namespace smc
