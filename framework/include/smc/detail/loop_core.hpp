#pragma once
// The loop behind event_loop, as streams, link groups and the wake driver see it.
#include <asio/execution_context.hpp>
#include <asio/io_context.hpp>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <smc/detail/look_schedule.hpp>
#include <smc/detail/poller.hpp>
#include <smc/detail/ready_queue.hpp>
#include <smc/detail/spin_budget.hpp>
#include <smc/detail/spin_courtesy.hpp>
#include <smc/event_loop_options.hpp>
#include <type_traits>
#include <utility>
#include <vector>

namespace smc::detail {

/// Its address names the thread. Defined in the library, so that there is one per thread and not
/// one per module.
extern constinit thread_local char thread_marker;

/// What a loop did; written by its thread, read there or while it does not run.
struct loop_counters {
  std::uint64_t turns = 0;
  std::uint64_t looks = 0;  ///< at the inner context, without sleeping
  std::uint64_t sleeps = 0;
  std::uint64_t spins = 0;
  std::uint64_t spins_paid = 0;
  std::uint64_t yields = 0;
};

/// A ready queue in front of an io_context.
///
/// Work is counted in two places: by the loop's thread in a plain number, by all others in an
/// atomic one. While the loop runs the atomic carries a large bias, so that nobody else can see a
/// false zero (also not by finishing work that only the plain number knows of); its steps from and
/// to zero take and give back one unit of the inner context's work. So the inner context's
/// stopped() is the only truth about both "out of work" and "stop() was called".
class loop_core {
 public:
  using clock = std::chrono::steady_clock;
  using deadline = std::optional<clock::time_point>;

  explicit loop_core(const event_loop_options& options);
  loop_core(const loop_core&) = delete;
  loop_core& operator=(const loop_core&) = delete;
  ~loop_core();

  // --- For the library

  /// The calling thread is inside run() or poll() of this loop, or inside run_exclusive().
  bool on_this_thread() const noexcept {
    // Only the thread itself ever stores its own marker here, so a stale value can't be mistaken
    // for it.
    return owner_.load(std::memory_order_relaxed) == &thread_marker;
  }

  /// One more, one less thing that run() waits for. Any thread.
  void work_started() noexcept {
    if (on_this_thread() && counts_locally_)
      ++local_work_;
    else
      add_work(1);
  }
  void work_finished() noexcept {
    if (on_this_thread() && counts_locally_)
      --local_work_;
    else
      add_work(-1);
  }

  /// Queues a user's handler. Its unit of work was taken by the caller (work_started()); the loop
  /// gives it back after the call. Counts in run()'s result. Any thread.
  void push(ready_node* node) noexcept {
    if (on_this_thread())
      ready_.push(node, true);
    else
      push_remote(node, true);
  }
  /// Queues something of the library's: neither work nor counted. Any thread; wakes a sleeping
  /// loop. One order with push().
  void push_internal(ready_node* node) noexcept {
    if (on_this_thread())
      ready_.push(node, false);
    else
      push_remote(node, false);
  }

  /// Runs f() where it may touch the state that belongs to the loop's thread. On that thread: at
  /// once. If no thread runs the loop: at once, as the loop's thread for the duration. Otherwise f
  /// is moved to the heap and queued for the thread that runs the loop; the call returns without
  /// waiting for it. f must not throw once it was queued.
  template <typename F>
  void run_exclusive(F&& f);

  /// Like run_exclusive(), but where another thread runs the loop f is not called: false.
  template <typename F>
  bool try_exclusive(F&& f);

  /// The pollers are not owned. On the loop's thread or inside run_exclusive().
  void add_poller(poller& p);
  void remove_poller(poller& p);

  /// To be called first in a handler of the library's that the inner context runs: it does not
  /// count in run()'s result, and the loop is awake from here on.
  void internal_handler() noexcept;

  /// A library wait that stays pending on the inner context while nobody waits for it must not keep
  /// run() from returning: after starting it give its unit of the inner context's work back, at the
  /// start of its handler take it again. On the loop's thread or inside run_exclusive().
  void release_unit() noexcept;
  void retake_unit() noexcept;

  asio::io_context& context() noexcept { return inner_; }
  const event_loop_options& options() const noexcept { return options_; }
  const loop_counters& counters() const noexcept { return counters_; }

  // --- For event_loop

  /// Runs at most `most` handlers. `block`: waits for them, until `until` at the latest.
  std::size_t run(std::size_t most, bool block, const deadline& until);
  void stop();
  bool stopped() const;
  void restart();
  /// Destroys all handlers. Further ones are destroyed with the loop. The destructor does this,
  /// too.
  void shutdown() noexcept;

  // --- For the executor

  /// The calling thread is in run() or poll().
  bool runs_here() const noexcept { return on_this_thread() && depth_ != 0; }

  /// Whether a function may be run inside execute(). A completion of the inner context's may not
  /// while others are queued: both sources share one order.
  bool may_run_inline() noexcept { return runs_here() && (!in_inner_ || inner_may_run_inline()); }

  template <typename F>
  void run_inline(F& f) noexcept {
    const nested_call scope(*this);
    try {
      f();
    } catch (...) {
      keep_exception();
    }
  }

 private:
  struct internals;  // what needs asio::detail
  struct run_state;  // one call of run()
  class run_scope;
  class inner_scope;

  class inner_context : public asio::io_context {
   public:
    inner_context() : asio::io_context(1) {}
    using asio::io_context::shutdown;
  };

  // A handler's own code, called from inside the inner context: what it dispatches runs in place.
  class nested_call {
   public:
    explicit nested_call(loop_core& core) noexcept : core_(core), in_inner_(core.in_inner_) {
      core_.in_inner_ = false;
    }
    nested_call(const nested_call&) = delete;
    nested_call& operator=(const nested_call&) = delete;
    ~nested_call() { core_.in_inner_ = in_inner_; }

   private:
    loop_core& core_;
    bool in_inner_;
  };

  // A function that waits for the loop's thread.
  struct request : ready_node {
    using call_function = void (*)(request*, action);
    explicit request(call_function f) noexcept : call(f) { invoke = &request::forward; }
    static void forward(ready_node* node, action what);
    call_function call;
    loop_core* core = nullptr;
  };
  template <typename F>
  struct request_for;
  struct exclusive_exit {
    loop_core& core;
    ~exclusive_exit() { core.leave_exclusive(); }
  };

  static constexpr std::ptrdiff_t running_bias = PTRDIFF_MAX / 2;

  enum class gate : unsigned char { open, exclusive, running };
  enum class admission : unsigned char { entered, queued, busy };

  // loop_core.cpp
  void add_work(std::ptrdiff_t n) noexcept;
  void push_remote(ready_node* node, bool counted) noexcept;
  void push_remote_locked(std::unique_lock<std::mutex>& lock, ready_node* node,
                          bool counted) noexcept;
  void take_remote() noexcept;
  void destroy_queued() noexcept;
  bool inner_may_run_inline() noexcept;
  void keep_exception() noexcept;
  void rethrow_kept() {
    if (kept_exceptions_ != 0) [[unlikely]]
      rethrow_kept_now();
  }
  [[noreturn]] void rethrow_kept_now();

  // loop_gate.cpp
  admission enter_exclusive(request* queue_if_running) noexcept;
  void leave_exclusive() noexcept;
  void enter_run();
  void leave_run() noexcept;
  void open_gate(std::unique_lock<std::mutex>& lock) noexcept;

  // loop_run.cpp
  bool has_work() const noexcept {
    return outstanding_.load(std::memory_order_relaxed) + local_work_ > running_bias;
  }
  void fold_work() noexcept;
  void unfold_work() noexcept;
  bool settle() noexcept;
  bool step(run_state& state);
  void turn(run_state& state);
  void check_time(run_state& state);
  bool look(run_state& state);
  bool poll_all() noexcept;
  template <typename Call>
  bool run_inner(run_state& state, Call call);

  // loop_sleep.cpp
  bool something_new() noexcept;
  bool spin(run_state& state);
  bool announce_sleep() noexcept;
  void sleep(run_state& state);
  void leave_sleep() noexcept;

  // The loop's thread's, or the gate holder's.
  ready_queue ready_;
  std::ptrdiff_t local_work_ = 0;
  bool counts_locally_ = false;  // in run() and awake
  bool in_inner_ = false;        // directly below a handler that the inner context calls
  bool uncounted_ = false;       // the inner context's handler is not to be counted
  bool woken_by_library_ = false;
  bool folded_ = false;  // asleep, or in the handler that ended the sleep
  unsigned depth_ = 0;   // of nested run()s
  unsigned kept_exceptions_ = 0;
  std::exception_ptr kept_;
  look_schedule schedule_;
  spin_budget spin_;
  spin_courtesy courtesy_;
  std::vector<poller*> pollers_;
  std::size_t requests_ready_ = 0;  // in ready_
  std::size_t deferred_releases_ = 0;
  loop_counters counters_;
  const event_loop_options options_;

  // Everybody's.
  alignas(64) std::atomic<std::ptrdiff_t> outstanding_{0};
  std::atomic<const char*> owner_{nullptr};
  std::atomic<bool> remote_waiting_{false};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  ready_queue remote_;               // mutex_
  std::size_t requests_remote_ = 0;  // mutex_; in remote_
  bool asleep_ = false;              // mutex_
  bool wake_posted_ = false;         // mutex_
  gate gate_ = gate::open;           // mutex_
  unsigned gate_waiters_ = 0;        // mutex_
  std::condition_variable gate_changed_;

  std::unique_ptr<internals> internals_;
  inner_context inner_;  // goes first: what its services destroy may still count work and push
};

/// The loop to which a context belongs: nullptr for contexts that are not an event_loop's. Any
/// thread.
loop_core* loop_of(asio::execution_context& context);

template <typename F>
struct loop_core::request_for : request {
  template <typename G>
  explicit request_for(G&& g) : request(&request_for::run_or_destroy), f(std::forward<G>(g)) {}

  static void run_or_destroy(request* r, action what) {
    const std::unique_ptr<request_for> self(static_cast<request_for*>(r));
    if (what == action::run) self->f();
  }

  F f;
};

template <typename F>
bool loop_core::try_exclusive(F&& f) {
  if (on_this_thread()) {
    f();
    return true;
  }
  if (enter_exclusive(nullptr) != admission::entered) return false;
  const exclusive_exit at_end{*this};
  f();
  return true;
}

template <typename F>
void loop_core::run_exclusive(F&& f) {
  if (try_exclusive(f)) return;
  auto queued = std::make_unique<request_for<std::decay_t<F>>>(std::forward<F>(f));
  if (enter_exclusive(queued.get()) == admission::queued) {
    static_cast<void>(queued.release());  // the loop's now
    return;
  }
  const exclusive_exit at_end{*this};
  queued->f();
}

}  // namespace smc::detail
