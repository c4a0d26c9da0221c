#pragma once
// What the library keeps for each execution context: who waits there, and how they are woken.
//
// Two descriptors wake a context: the doorbell (an eventfd that peers ring), and one epoll set
// holding every other descriptor of the library (rendezvous sockets, pidfds, a timer). An
// event_loop is attached to both for good, without counting as work; another context waits on them
// only while a user's operation waits, so that run() and join() return as if the library were not
// there.
#include <array>
#include <asio/any_io_executor.hpp>
#include <asio/execution_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <smc/detail/loop_core.hpp>
#include <unordered_map>
#include <vector>

#include "stream/wait_memory.hpp"
#include "system/descriptor.hpp"
#include "system/fork.hpp"

namespace smc::detail {

class operation_host;

/// Told about events of one descriptor in a context's epoll set; called exclusively (see below).
class descriptor_watcher {
 public:
  virtual void on_event(std::uint32_t epoll_events) noexcept = 0;

 protected:
  ~descriptor_watcher() = default;
};

/// Something with a deadline; called exclusively.
class deadline_watcher {
 public:
  virtual void on_deadline(std::chrono::steady_clock::time_point now) noexcept = 0;

 protected:
  ~deadline_watcher() = default;
};

/// A stream over something else than its TCP connection; told exclusively when it has lasted.
class lasting_watcher {
 public:
  /// False: it could not do what it is there for, and is told again later.
  virtual bool on_lasting() noexcept = 0;

 protected:
  ~lasting_watcher() = default;

 private:
  friend class context_service;
  lasting_watcher* next_ = nullptr;
  lasting_watcher** place_ = nullptr;  // what points here, in a list
};

/// Told, exclusively, that this is the child of a fork(): what it shares with peers is its
/// parent's.
class fork_watcher {
 public:
  virtual void after_fork() noexcept = 0;

 protected:
  ~fork_watcher() = default;
};

/// Something to be done as soon as nobody is inside (see context_service::defer()).
class deferred_call {
 public:
  virtual ~deferred_call() = default;
  virtual void run() noexcept = 0;

 private:
  friend class context_service;
  std::unique_ptr<deferred_call> next_;
};

/// What a context polls while awake, and announces its sleep to.
class wake_source : public poller {
 public:
  virtual ~wake_source() = default;
  /// Nothing will come of it any more.
  virtual bool finished() const noexcept = 0;
};

class context_service final : public asio::execution_context::service, private poller {
 public:
  using key_type = context_service;
  using clock = std::chrono::steady_clock;
  static asio::execution_context::id id;

  explicit context_service(asio::execution_context& context);
  static context_service& of(const asio::any_io_executor& executor);

  loop_core* loop() const noexcept { return loop_; }
  /// For sockets of the library whose user said `executor`. On an event_loop their waits are the
  /// library's own business: they run in the inner context, uncounted.
  asio::any_io_executor socket_executor(const asio::any_io_executor& executor) const;
  /// Distinguishes contexts of this process (and its forks) from each other.
  std::uint32_t number() const noexcept { return number_; }

  /// Handshake state of this context (links, attempts, acceptors, the watched descriptors) belongs
  /// to whoever is inside: on an event_loop its thread (f may be run there a little later),
  /// elsewhere the mutex' owner. Not to be nested for two contexts.
  template <typename F>
  void exclusively(F&& f) {
    if (loop_) {
      loop_->run_exclusive([this, f = std::forward<F>(f)]() mutable {
        const section inside(*this);
        f();
      });
    } else {
      const section inside(*this);
      f();
    }
  }

  // Exclusively:
  /// Errors and hang-ups are always told, `epoll_events` besides.
  std::error_code watch(int descriptor, descriptor_watcher& watcher,
                        std::uint32_t epoll_events) noexcept;
  void unwatch(int descriptor) noexcept;
  /// An error where there is no timer and none can be had: then `watcher` is not told.
  std::error_code watch_deadline(deadline_watcher& watcher, clock::time_point when) noexcept;
  /// Takes the descriptors that deadlines need, for who will have one when none is left.
  std::error_code prepare_deadlines() noexcept;
  void unwatch_deadline(deadline_watcher& watcher) noexcept;
  void watch_forks(fork_watcher& watcher) { fork_watchers_.push_back(&watcher); }
  /// Runs `call`, which must not throw, as soon as nobody is inside: for what may lead to users'
  /// handlers.
  template <typename F>
  void defer(F call) {
    struct made final : deferred_call {
      explicit made(F&& f) : f_(std::move(f)) {}
      void run() noexcept override { f_(); }
      F f_;
    };
    defer_prepared(std::make_unique<made>(std::move(call)));
  }
  /// For what was prepared while there was memory.
  void defer_prepared(std::unique_ptr<deferred_call> call) noexcept;
  /// Tells `watcher`, once, when it has been there for a while: most connections don't last, and
  /// what is done for those that do (a system call or two) should cost the others nothing. Without
  /// its host's lock.
  void watch_lasting(lasting_watcher& watcher) noexcept;
  /// Any thread.
  void unwatch_lasting(lasting_watcher& watcher) noexcept;
  /// Handles whatever the watched descriptors and deadlines have for us, without waiting.
  void poll_descriptors() noexcept;

  /// For a blocked caller, which no running loop may serve: sleeps until a peer, a watched
  /// descriptor or `descriptor` has something, at most `limit`, then takes in what there is. False,
  /// at once: another thread runs the loop and does it.
  bool wait(std::chrono::milliseconds limit, int descriptor = -1) noexcept;

  /// Link groups of this context, with which it goes to sleep and wakes up. Any thread; on an
  /// event_loop that another thread runs the source is polled a little later.
  void add_source(std::shared_ptr<wake_source> source);
  /// For a blocked caller, which no running loop may serve: takes in what peers say of connections.
  void poll_sources() noexcept;
  /// The eventfd that peers ring. Made at the first call. Any thread.
  std::error_code doorbell(int& descriptor) noexcept;

  /// A call that blocks its thread. What peers say meanwhile is taken in, but runs no handler of
  /// the user's inside it: on TCP it would not either.
  class blocking_call {
   public:
    blocking_call() noexcept;
    ~blocking_call();
    blocking_call(const blocking_call&) = delete;
    blocking_call& operator=(const blocking_call&) = delete;
  };
  /// Whether the calling thread is inside one.
  static bool in_blocking_call() noexcept;

  /// Operations that wait here; `executor` is one of this context's. With more of them it may
  /// throw, and nothing has changed.
  void waiting_changed(int difference, const asio::any_io_executor& executor);

  void add_host(operation_host& host);
  void remove_host(operation_host& host) noexcept;

 private:
  void shutdown() override;
  void notify_fork(asio::execution_context::fork_event event) override;
  bool poll() noexcept override;
  bool before_sleep() noexcept override;
  void after_sleep() noexcept override;

  /// In a child of fork(): gives up what is the parent's. Sources know by themselves not to touch
  /// it.
  void check_fork() noexcept {
    if (generation_ != system::fork_generation()) [[unlikely]]
      renew();
  }
  void renew() noexcept;
  void enter() noexcept;
  void leave() noexcept;
  class section {
   public:
    explicit section(context_service& service) noexcept : service_(service) { service_.enter(); }
    ~section() { service_.leave(); }
    section(const section&) = delete;
    section& operator=(const section&) = delete;

   private:
    context_service& service_;
  };
  void keep_source(std::shared_ptr<wake_source> source);
  void forget_finished_sources() noexcept;
  std::error_code open_control() noexcept;
  std::error_code make_control();
  void dispatch_events() noexcept;
  void expire() noexcept;
  void tell_lasting() noexcept;
  std::error_code set_timer(clock::time_point when) noexcept;
  void forget_waits() noexcept;
  void attach(const asio::any_io_executor& executor);
  void start_waits();
  void stop_waits() noexcept;
  void wait_for_doorbell();
  void wait_for_control();
  void handled() noexcept;
  bool poll_each_source() noexcept;

  loop_core* loop_;
  const std::uint32_t number_;

  std::uint32_t generation_ = system::fork_generation();
  std::uint32_t renewals_ = 0;  // how often the descriptors were renewed
  bool polled_ = false;         // by the loop

  std::recursive_mutex mutex_;  // exclusive sections
  int depth_ = 0;
  std::unique_ptr<deferred_call> deferred_;  // the first of a list
  deferred_call* last_deferred_ = nullptr;
  std::vector<fork_watcher*> fork_watchers_;
  system::descriptor control_;
  system::descriptor timer_;
  std::unordered_map<int, descriptor_watcher*> watched_;
  using deadline_map = std::multimap<clock::time_point, deadline_watcher*>;
  deadline_map deadlines_;
  std::unordered_map<deadline_watcher*, deadline_map::iterator> deadline_of_;
  std::optional<clock::time_point> timer_set_;
  lasting_watcher* young_ = nullptr;  // a list, which needs no memory
  std::optional<clock::time_point> young_until_;

  mutable std::recursive_mutex wake_mutex_;  // guards what follows, where there is no loop
  system::descriptor doorbell_;
  std::vector<std::shared_ptr<wake_source>> sources_;
  int polling_ = 0;                                // sources_, by the loop's thread
  std::optional<asio::any_io_executor> executor_;  // of whoever waited first
  std::optional<asio::posix::stream_descriptor> doorbell_wait_;
  std::optional<asio::posix::stream_descriptor> control_wait_;
  wait_memory doorbell_memory_;
  wait_memory control_memory_;
  std::uint64_t rings_ = 0;
  std::int64_t waiting_ = 0;
  std::uint32_t polls_ = 0;  // of a loop
  bool doorbell_pending_ = false;
  bool control_pending_ = false;
  int handling_ = 0;

  std::mutex hosts_mutex_;
  std::vector<operation_host*> hosts_;
};

}  // namespace smc::detail
