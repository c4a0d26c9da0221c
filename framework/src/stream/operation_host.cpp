#include <asio/error.hpp>
#include <new>
#include <smc/detail/operation.hpp>
#include <utility>

namespace smc::detail {

void operation::run_node(ready_node* node, action what) {
  auto* op = static_cast<operation*>(node);
  if (what == action::run) {
    op->step();
  } else {
    op->discard();
  }
}

void operation::step() {
  operation_host& host = *host_;
  const unsigned char queue = queue_;
  std::shared_ptr<operation_host> last;
  std::shared_ptr<operation_host> keep;  // others may end and free what is queued behind this one
  bool done = false;
  bool more = false;
  {
    const operation_host::guard lock(host);
    if (state_ == state::scheduled) {
      if (host.try_perform(*this)) {
        host.unlink(*this);
        state_ = state::done;
      } else {
        if (direct_) {  // a spurious wake-up: no handler ran, the operation keeps its work
          host.loop_->work_started();
          host.loop_->internal_handler();
        }
        state_ = state::queued;  // from here on another thread may finish it
      }
    }
    if (state_ == state::done) {
      done = true;
      last = host.finished();
    }
    more = host.queues_[queue].head != nullptr;
    if (more && host.locking_) keep = host.shared_from_this();
  }
  if (more) host.serve(queue);
  if (done) table_->finish(*this, true);
}

void operation::discard() {
  std::shared_ptr<operation_host> last;
  {
    const operation_host::guard lock(*host_);
    if (state_ != state::done) host_->unlink(*this);
    last = host_->finished();
  }
  table_->finish(*this, false);
}

void operation_host::start(operation& op, bool direct) {
  op.host_ = this;
  struct unit {
    loop_core* of;
    ~unit() {
      if (of) of->work_finished();
    }
  } unless_thrown{direct ? loop_ : nullptr};
  if (direct) loop_->work_started();
  start_where_it_may(op);
  unless_thrown.of = nullptr;
}

void operation_host::start_where_it_may(operation& op) {
  if (!loop_ || loop_->on_this_thread()) {
    start_here(op);
    return;
  }
  struct pending {  // owns the operation until the loop's thread takes it
    operation* op;
    explicit pending(operation& o) noexcept : op(&o) {}
    pending(pending&& other) noexcept : op(std::exchange(other.op, nullptr)) {}
    pending(const pending&) = delete;
    pending& operator=(const pending&) = delete;
    ~pending() {
      if (op) op->table_->finish(*op, false);
    }
  };
  exclusively(
      [this, waiting = pending(op)]() mutable { start_here(*std::exchange(waiting.op, nullptr)); });
}

void operation_host::start_here(operation& op) {
  if (loop_ && !op.direct_) locking_ = true;  // its steps may run on another thread from now on
  bool ready = true;
  bool refused = false;
  {
    const guard lock(*this);
    const bool first = queues_[op.queue_].head == nullptr;
    if (first && try_perform(op)) {
      op.state_ = operation::state::done;
    } else if (append(op)) {
      ready = first && arm_head(op.queue_) != nullptr;
    } else {
      refused = true;
    }
    if (!refused) ++in_flight_;
  }
  if (refused) {
    op.table_->finish(op, false);
    throw std::bad_alloc();
  }
  if (ready) hand_over(op, true);
}

bool operation_host::try_perform(operation& op) noexcept {
  if (void* on = target(op.queue_)) return op.table_->perform(op, on);
  op.error = closed_error(op.queue_);
  return true;
}

/// Arms the waiting head; returns it, now scheduled, if it need not wait.
operation* operation_host::arm_head(unsigned char queue) noexcept {
  operation* head = queues_[queue].head;
  if (!head || head->state_ != operation::state::queued) return nullptr;
  if (target(queue) && arm(queue, *head)) return nullptr;
  head->state_ = operation::state::scheduled;
  return head;
}

/// After the head left or found nothing: arms the one that is now in front.
void operation_host::serve(unsigned char queue) noexcept {
  exclusively([this, queue] {
    operation* head = nullptr;
    {
      const guard lock(*this);
      head = arm_head(queue);
    }
    if (head) hand_over(*head, true);
  });
}

void operation_host::ready(unsigned char queue, bool post) noexcept {
  exclusively([this, queue, post] { schedule_head(queue, post); });
}

void operation_host::schedule_head(unsigned char queue, bool post) noexcept {
  operation* head = nullptr;
  {
    const guard lock(*this);
    head = queues_[queue].head;
    if (!head || head->state_ != operation::state::queued) return;
    head->state_ = operation::state::scheduled;
    // Handlers of operations that have ended wait in their executor: not to be overtaken.
    std::size_t waiting = 0;
    for (const fifo& each : queues_) {
      for (const operation* op = each.head; op; op = op->next_queued_) ++waiting;
    }
    post = post || in_flight_ > waiting;
  }
  hand_over(*head, post);
}

void operation_host::hand_over(operation& op, bool post) noexcept {
  if (op.direct_) {
    loop_->push(&op);
  } else {
    op.table_->schedule(op, post);
  }
}

void operation_host::cancel(std::uint64_t id) noexcept {
  exclusively([this, id] { cancel_here(id); });
}

void operation_host::cancel_here(std::uint64_t id) noexcept {
  operation* op = nullptr;
  bool in_flight = false;
  unsigned char queue = 0;
  {
    const guard lock(*this);
    op = find(id);
    if (!op) return;  // performed, or gone: too late
    in_flight = op->state_ == operation::state::scheduled;
    queue = op->queue_;
    const bool was_head = queues_[queue].head == op;
    unlink(*op);
    op->error = asio::error::operation_aborted;
    op->state_ = operation::state::done;
    if (was_head && !queues_[queue].head) disarm(queue);
  }
  disarmed();
  if (!in_flight) hand_over(*op, true);  // a scheduled one finishes when its step runs
  serve(queue);
}

void operation_host::cancel_all() noexcept {
  exclusively([this] { abort_queued(asio::error::operation_aborted); });
}

void operation_host::abort_queued(std::error_code error, bool call) noexcept {
  operation* aborted = nullptr;  // linked in order through next_queued_
  operation** end = &aborted;
  {
    const guard lock(*this);
    for (unsigned char queue = 0; queue < max_queues; ++queue) {
      if (queues_[queue].head) disarm(queue);
      while (operation* op = queues_[queue].head) {
        const bool in_flight = op->state_ == operation::state::scheduled;
        unlink(*op);
        op->error = error;
        op->state_ = operation::state::done;
        if (in_flight) continue;
        op->next_queued_ = nullptr;
        *end = op;
        end = &op->next_queued_;
      }
    }
  }
  const auto keep = weak_from_this().lock();
  disarmed();
  while (operation* op = aborted) {
    aborted = op->next_queued_;
    if (call) {
      hand_over(*op, true);
    } else {
      op->discard();
    }
  }
}

void operation_host::keep_until_idle() {
  const guard lock(*this);
  if (in_flight_ != 0) self_ = shared_from_this();
}

operation* operation_host::find(std::uint64_t id) noexcept {
  for (const fifo& queue : queues_) {
    for (operation* op = queue.head; op; op = op->next_queued_) {
      if (op->id_ == id) return op;
    }
  }
  return nullptr;
}

/// False: there is no memory for that it waits.
bool operation_host::append(operation& op) noexcept {
  try {
    waiting_changed(1);
  } catch (const std::bad_alloc&) {
    return false;
  }
  fifo& queue = queues_[op.queue_];
  op.next_queued_ = nullptr;
  if (queue.tail) {
    queue.tail->next_queued_ = &op;
  } else {
    queue.head = &op;
  }
  queue.tail = &op;
  return true;
}

void operation_host::unlink(operation& op) noexcept {
  fifo& queue = queues_[op.queue_];
  operation* before = nullptr;
  for (operation* o = queue.head; o != &op; o = o->next_queued_) before = o;
  (before ? before->next_queued_ : queue.head) = op.next_queued_;
  if (queue.tail == &op) queue.tail = before;
  waiting_changed(-1);
}

std::shared_ptr<operation_host> operation_host::finished() noexcept {
  return --in_flight_ == 0 ? std::move(self_) : nullptr;
}

}  // namespace smc::detail
