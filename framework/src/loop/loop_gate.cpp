// Who is the loop's thread: at most one of run() and the exclusive sections.
#include <smc/detail/loop_core.hpp>
#include <stdexcept>
#include <utility>

namespace smc::detail {

void loop_core::request::forward(ready_node* node, action what) {
  auto* const self = static_cast<request*>(node);
  --self->core->requests_ready_;
  self->call(self, what);
}

loop_core::admission loop_core::enter_exclusive(request* queue_if_running) noexcept {
  std::unique_lock lock(mutex_);
  ++gate_waiters_;
  gate_changed_.wait(lock, [this] { return gate_ != gate::exclusive; });
  --gate_waiters_;
  if (gate_ == gate::running) {
    if (!queue_if_running) return admission::busy;
    // Under the same lock as the gate: who leaves run() has to see it.
    queue_if_running->core = this;
    ++requests_remote_;
    push_remote_locked(lock, queue_if_running, false);
    return admission::queued;
  }
  gate_ = gate::exclusive;
  owner_.store(&thread_marker, std::memory_order_relaxed);
  return admission::entered;
}

void loop_core::leave_exclusive() noexcept {
  std::unique_lock lock(mutex_);
  open_gate(lock);
}

void loop_core::enter_run() {
  std::unique_lock lock(mutex_);
  ++gate_waiters_;
  gate_changed_.wait(lock, [this] { return gate_ != gate::exclusive; });
  --gate_waiters_;
  if (gate_ == gate::running)
    throw std::logic_error("smc::event_loop: another thread is running this loop already");
  gate_ = gate::running;
  owner_.store(&thread_marker, std::memory_order_relaxed);
}

void loop_core::leave_run() noexcept {
  std::unique_lock lock(mutex_);
  // Requests that came while the loop ran would otherwise wait for a run() that may never come.
  while (requests_ready_ + requests_remote_ != 0) {
    remote_waiting_.store(false, std::memory_order_relaxed);
    ready_.append(remote_);
    requests_ready_ += std::exchange(requests_remote_, 0);
    lock.unlock();
    for (ready_queue requests = ready_.extract(&request::forward); !requests.empty();) {
      ready_node* const node = requests.pop().node;
      node->invoke(node, ready_node::action::run);
    }
    lock.lock();
  }
  open_gate(lock);
}

void loop_core::open_gate(std::unique_lock<std::mutex>&) noexcept {
  gate_ = gate::open;
  owner_.store(nullptr, std::memory_order_relaxed);
  // Still locked, so that nobody can destroy the loop before this call is over.
  if (gate_waiters_ != 0) gate_changed_.notify_all();
}

}  // namespace smc::detail
