#include <sched.h>

#include <asio/multiple_exceptions.hpp>
#include <atomic>
#include <smc/detail/loop_core.hpp>
#include <utility>

#include "loop/loop_internals.hpp"
#include "loop/loop_service.hpp"

namespace smc::detail {

constinit thread_local char thread_marker = 0;

namespace {
std::atomic<std::size_t> loops{0};
}

std::size_t count_of_loops() noexcept { return loops.load(std::memory_order_relaxed); }

loop_core::loop_core(const event_loop_options& options) : spin_(options), options_(options) {
  internals_ = std::make_unique<internals>(*this);
  asio::make_service<loop_service>(inner_, this);
  loops.fetch_add(1, std::memory_order_relaxed);
}

loop_core::~loop_core() {
  loops.fetch_sub(1, std::memory_order_relaxed);
  while (internals_->wakers.load(std::memory_order_acquire) != 0) ::sched_yield();
  shutdown();
}

void loop_core::add_work(std::ptrdiff_t n) noexcept {
  const std::ptrdiff_t before = outstanding_.fetch_add(n, std::memory_order_acq_rel);
  // The step to zero comes after the unit's step from zero has returned to whoever passed the unit
  // on, so the inner count never falls below its true value.
  if (before == 0 && n > 0)
    internals_->work.start();
  else if (n < 0 && before + n == 0)
    internals_->work.finish();
}

void loop_core::push_remote(ready_node* node, bool counted) noexcept {
  std::unique_lock lock(mutex_);
  push_remote_locked(lock, node, counted);
}

// Unlocks where the loop has to be woken: it needs the lock at once.
void loop_core::push_remote_locked(std::unique_lock<std::mutex>& lock, ready_node* node,
                                   bool counted) noexcept {
  remote_.push(node, counted);
  remote_waiting_.store(true, std::memory_order_relaxed);
  if (!std::exchange(asleep_, false)) return;  // it looks into remote_ before it sleeps
  if (std::exchange(wake_posted_, true)) return;
  // The loop may run the node and go before this call is over: it waits for its wakers.
  std::atomic<int>& wakers = internals_->wakers;
  wakers.fetch_add(1, std::memory_order_relaxed);
  lock.unlock();
  internals_->wake.post();
  wakers.fetch_sub(1, std::memory_order_release);
}

void loop_core::take_remote() noexcept {
  if (!remote_waiting_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex_);
  remote_waiting_.store(false, std::memory_order_relaxed);
  ready_.append(remote_);
  requests_ready_ += std::exchange(requests_remote_, 0);
}

void loop_core::add_poller(poller& p) {
  leave_sleep();
  pollers_.push_back(&p);
}

void loop_core::remove_poller(poller& p) {
  leave_sleep();
  std::erase(pollers_, &p);
}

void loop_core::internal_handler() noexcept {
  uncounted_ = true;
  woken_by_library_ = true;
  leave_sleep();
}

void loop_core::release_unit() noexcept {
  if (depth_ == 0) {
    // The unit may be the inner context's last; giving it back now would stop a loop that has not
    // run yet.
    ++deferred_releases_;
    return;
  }
  leave_sleep();
  internals_->work.finish();
}

void loop_core::retake_unit() noexcept {
  if (deferred_releases_ != 0)
    --deferred_releases_;
  else
    internals_->work.start();
}

bool loop_core::inner_may_run_inline() noexcept {
  leave_sleep();
  if (!uncounted_ && ready_.empty()) return true;
  uncounted_ = true;  // the queued function counts instead
  return false;
}

void loop_core::keep_exception() noexcept {
  // As Asio: the first one, or that there were several.
  if (kept_exceptions_ == 0) {
    kept_ = std::current_exception();
    kept_exceptions_ = 1;
  } else if (kept_exceptions_ == 1) {
    kept_ = std::make_exception_ptr(asio::multiple_exceptions(kept_));
    kept_exceptions_ = 2;
  }
}

void loop_core::rethrow_kept_now() {
  kept_exceptions_ = 0;
  std::rethrow_exception(std::exchange(kept_, nullptr));
}

void loop_core::stop() {
  stop_.store(true, std::memory_order_relaxed);
  inner_.stop();
}

bool loop_core::stopped() const { return inner_.stopped(); }

void loop_core::restart() {
  stop_.store(false, std::memory_order_relaxed);
  inner_.restart();
}

void loop_core::destroy_queued() noexcept {
  for (take_remote(); !ready_.empty(); take_remote()) {
    ready_node* const node = ready_.pop().node;
    node->invoke(node, ready_node::action::destroy);
  }
}

void loop_core::shutdown() noexcept {
  // As the loop's thread: what the handlers own is destroyed with them and may touch the loop's
  // state.
  const bool entered = !on_this_thread() && enter_exclusive(nullptr) == admission::entered;
  // The queue first: its nodes may be part of what the services own.
  destroy_queued();
  do {
    inner_.shutdown();
    destroy_queued();
  } while (!ready_.empty() || remote_waiting_.load(std::memory_order_relaxed));
  if (entered) leave_exclusive();
}

}  // namespace smc::detail
