// What the loop does while nothing is ready: it polls for a while, then sleeps in the inner
// context.
#include <sched.h>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

#include <utility>

#include "loop/loop_run_state.hpp"

namespace smc::detail {
namespace {

// Most events of a busy peer come within these, which need no clock.
constexpr int polls_before_clock = 16;
constexpr int polls_per_clock = 4;

void relax_cpu() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

bool loop_core::something_new() noexcept {
  return poll_all() || remote_waiting_.load(std::memory_order_relaxed);
}

// True: there is something to do, or a reason to end.
bool loop_core::spin(run_state& state) {
  const auto budget = spin_.current();
  if (budget == spin_budget::duration::zero() || !has_work()) {
    if (spin_.learns()) state.idle_since = clock::now();
    return false;
  }
  ++counters_.spins;
  bool yielded = false;
  const auto paid = [this](bool in_first_poll) {
    ++counters_.spins_paid;
    spin_.paid();
    if (in_first_poll) courtesy_.paid();
    return true;
  };
  const bool at_once = courtesy_.at_once();
  for (int i = 0; i < polls_before_clock && !at_once; ++i) {
    if (something_new()) return paid(true);
    relax_cpu();
  }
  const auto begin = clock::now();
  state.idle_since = begin;
  const auto first_poll =
      at_once ? spin_courtesy::duration::zero() : courtesy_.first_poll(schedule_.cost());
  for (auto next_yield = begin + first_poll;;) {
    for (int i = 0; i < polls_per_clock; ++i) {
      if (something_new()) return paid(!yielded);
      relax_cpu();
    }
    if (stop_.load(std::memory_order_relaxed)) return true;
    if (!has_work()) return false;
    const auto now = clock::now();
    if (state.until && now >= *state.until) {
      state.over = true;
      return true;
    }
    const bool missed = now - begin >= budget;
    if (!yielded && !at_once && (missed || now >= next_yield)) courtesy_.in_vain();
    if (missed) {
      spin_.missed();
      return false;
    }
    if (now >= next_yield) {
      // Descriptors have their turn, then the other processes.
      if (look(state) || !ready_.empty() || state.ended()) return true;
      ++counters_.yields;
      ::sched_yield();
      if (!std::exchange(yielded, true)) {
        const bool met = something_new();
        courtesy_.yielded(met);
        if (met) return paid(false);
      }
      next_yield = clock::now() + spin_courtesy::hasty_poll;
    }
  }
}

// False: something is there after all, and nothing is announced any more.
bool loop_core::announce_sleep() noexcept {
  std::size_t announced = 0;
  bool quiet = true;
  while (quiet && announced < pollers_.size()) quiet = pollers_[announced++]->before_sleep();
  if (quiet && ready_.empty()) {
    const std::lock_guard lock(mutex_);
    // From here on whoever pushes wakes the loop.
    if (remote_.empty()) {
      asleep_ = true;
      return true;
    }
  }
  for (std::size_t i = 0; i < announced; ++i) pollers_[i]->after_sleep();
  return false;
}

void loop_core::sleep(run_state& state) {
  struct awake {
    loop_core& core;
    ~awake() { core.leave_sleep(); }
  };
  if (!announce_sleep()) return;
  ++counters_.sleeps;
  folded_ = true;
  fold_work();  // stops the inner context if nothing is left
  woken_by_library_ = false;
  {
    const awake at_end{*this};
    // One handler: it may queue work, which comes next. Code of the library's or behind the
    // executor ends the sleep before it runs.
    run_inner(state,
              [&] { return state.until ? inner_.run_one_until(*state.until) : inner_.run_one(); });
  }
  const auto now = clock::now();
  schedule_.woke(now);
  if (pollers_.empty()) return;
  if (woken_by_library_)
    spin_.woken(now - state.idle_since, schedule_.cost());
  else
    courtesy_.descriptor_was_ready();
}

void loop_core::leave_sleep() noexcept {
  if (!folded_) return;
  folded_ = false;
  unfold_work();
  {
    const std::lock_guard lock(mutex_);
    asleep_ = false;
  }
  for (poller* const p : pollers_) p->after_sleep();
}

}  // namespace smc::detail
