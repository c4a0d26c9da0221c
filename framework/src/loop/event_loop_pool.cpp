#include <smc/event_loop.hpp>
#include <stdexcept>
#include <utility>

#include "loop/default_options.hpp"

namespace smc {

event_loop_pool::event_loop_pool(std::size_t loops)
    : event_loop_pool(loops, detail::default_loop_options()) {}

event_loop_pool::event_loop_pool(std::size_t loops, const event_loop_options& options) {
  if (loops == 0) throw std::invalid_argument("smc::event_loop_pool: at least one loop is needed");
  loops_.reserve(loops);
  threads_.reserve(loops);
  for (std::size_t i = 0; i < loops; ++i) {
    loops_.push_back(std::make_unique<event_loop>(options));
    loops_.back()->core_.work_started();  // until join()
  }
  holds_work_ = true;
  try {
    for (auto& loop : loops_) threads_.emplace_back([this, &loop] { run_loop(*loop); });
  } catch (...) {
    stop();
    join_threads();
    throw;
  }
}

event_loop_pool::~event_loop_pool() {
  stop();
  join_threads();
  // All handlers before any loop: a handler of one loop may own timers or streams of another.
  for (auto& loop : loops_) loop->core_.shutdown();
}

event_loop& event_loop_pool::next_loop() noexcept {
  return *loops_[next_.fetch_add(1, std::memory_order_relaxed) % loops_.size()];
}

void event_loop_pool::stop() {
  for (auto& loop : loops_) loop->stop();
}

void event_loop_pool::join() {
  release_work();
  join_threads();
  const std::exception_ptr failure = [this] {
    const std::lock_guard lock(mutex_);
    return std::exchange(failure_, nullptr);
  }();
  if (failure) std::rethrow_exception(failure);
}

void event_loop_pool::run_loop(event_loop& loop) noexcept {
  try {
    loop.run();
  } catch (...) {
    {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
    // What this loop still had to do may be what another one waits for.
    stop();
  }
}

void event_loop_pool::release_work() noexcept {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(holds_work_, false)) return;
  for (auto& loop : loops_) loop->core_.work_finished();
}

void event_loop_pool::join_threads() {
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace smc
