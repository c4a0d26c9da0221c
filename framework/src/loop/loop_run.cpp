// run(): turns, looks at the inner context, the end.
#include <utility>

#include "loop/loop_internals.hpp"
#include "loop/loop_run_state.hpp"

namespace smc::detail {
namespace {

// A handler of the inner context may post to it for ever.
constexpr unsigned most_handlers_per_look = 256;
// What the library still had queued when the last work was done gets these turns, not more: a peer
// that keeps a poller busy does not keep run() from returning.
constexpr unsigned most_turns_without_work = 16;

}  // namespace

// The thread is the loop's, nested or not.
class loop_core::run_scope {
 public:
  explicit run_scope(loop_core& core)
      : core_(core), nested_(enter(core)), memory_(core.internals_->memory), inline_code_(core) {
    if (core.depth_++ == 0) {
      core.unfold_work();
      for (; core.deferred_releases_ != 0; --core.deferred_releases_)
        core.internals_->work.finish();
    } else {
      core.leave_sleep();
    }
    kept_ = std::exchange(core.kept_, nullptr);
    kept_exceptions_ = std::exchange(core.kept_exceptions_, 0);
  }
  run_scope(const run_scope&) = delete;
  run_scope& operator=(const run_scope&) = delete;
  ~run_scope() {
    core_.kept_ = std::move(kept_);
    core_.kept_exceptions_ = kept_exceptions_;
    if (--core_.depth_ == 0) core_.fold_work();
    if (!nested_) core_.leave_run();
  }

 private:
  static bool enter(loop_core& core) {
    if (core.on_this_thread()) return true;
    core.enter_run();
    return false;
  }

  loop_core& core_;
  const bool nested_;
  handler_memory::scope memory_;
  nested_call inline_code_;
  std::exception_ptr kept_;
  unsigned kept_exceptions_ = 0;
};

std::size_t loop_core::run(std::size_t most, bool block, const deadline& until) {
  if (until && clock::now() >= *until) return 0;
  const run_scope scope(*this);
  run_state state{most, block, until};
  if (!has_work()) settle();
  if (inner_.stopped()) return 0;
  // run_one() and poll_one() have no room for a look after their handler.
  if (schedule_.postponed()) look(state);
  if (state.ended()) return state.done;
  while (step(state)) {
  }
  return state.done;
}

void loop_core::fold_work() noexcept {
  counts_locally_ = false;
  add_work(std::exchange(local_work_, 0) - running_bias);
}

void loop_core::unfold_work() noexcept {
  add_work(running_bias);
  counts_locally_ = true;
}

// Lets the inner context see the exact count for a moment, so that it stops if that is zero.
bool loop_core::settle() noexcept {
  fold_work();
  const bool out_of_work = inner_.stopped();
  unfold_work();
  return out_of_work;
}

bool loop_core::step(run_state& state) {
  const auto go_on = [&] { return !state.ended() && !stop_.load(std::memory_order_relaxed); };
  ++counters_.turns;
  take_remote();
  turn(state);
  if (!go_on()) return false;

  const bool found = poll_all();
  const bool more = found || !ready_.empty() || remote_waiting_.load(std::memory_order_relaxed);
  if (has_work()) {
    state.turns_without_work = 0;
  } else if ((!more || ++state.turns_without_work > most_turns_without_work) && settle()) {
    return false;
  }
  if (more) return true;

  if (!state.block) return look(state) ? go_on() : !ready_.empty() && go_on();
  if (!pollers_.empty()) {
    if (spin(state)) return go_on();
    if (look(state) || !ready_.empty()) return go_on();
    if (state.over) return false;
  }
  sleep(state);
  if (!go_on() || inner_.stopped()) return false;
  return !state.until || clock::now() < *state.until;
}

void loop_core::turn(run_state& state) {
  struct unit_of_work {
    loop_core* core;
    ~unit_of_work() {
      if (core) core->work_finished();
    }
  };
  // The handlers queued now, not those they add. A nested run() may have taken some of them.
  for (std::size_t left = ready_.size(); left != 0 && !ready_.empty(); --left) {
    const ready_queue::entry next = ready_.pop();
    {
      const unit_of_work unit{next.counted ? this : nullptr};
      next.node->invoke(next.node, ready_node::action::run);
      if (next.counted && !std::exchange(uncounted_, false)) ++state.done;
    }
    rethrow_kept();
    if (schedule_.handler_ran()) check_time(state);
    if (state.ended() || stop_.load(std::memory_order_relaxed)) return;
  }
}

void loop_core::check_time(run_state& state) {
  const auto now = clock::now();
  const bool due = schedule_.due(now);
  if (state.until && now >= *state.until) state.over = true;
  if (!due) return;
  if (state.ended()) {
    schedule_.postpone();
    return;
  }
  look(state);
}

bool loop_core::poll_all() noexcept {
  bool found = false;
  for (poller* const p : pollers_) found = p->poll() || found;
  return found;
}

bool loop_core::look(run_state& state) {
  ++counters_.looks;
  const auto begin = clock::now();
  bool ran = false;
  for (unsigned taken = 0; taken < most_handlers_per_look && !state.ended(); ++taken) {
    if (!run_inner(state, [this] { return inner_.poll_one(); })) break;
    ran = true;
  }
  const auto end = clock::now();
  if (ran) {
    schedule_.looked(end);
    courtesy_.descriptor_was_ready();
  } else {
    schedule_.looked_in_vain(end, end - begin);
  }
  // Somebody may have stopped the inner context itself.
  if (inner_.stopped()) state.over = true;
  return ran;
}

}  // namespace smc::detail
