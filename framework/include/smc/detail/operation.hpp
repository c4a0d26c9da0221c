#pragma once
// One asynchronous operation in flight, without its types: what a stream's or acceptor's queues
// hold.
//
// An operation is tried ("perform") and then handed over ("finish"). Bytes move only in the step
// that also calls the handler, so a cancelled operation has moved none and a performed one always
// reports its count:
//
//   queued ──ready()──▶ scheduled ──step: performed──▶ done ──finish──▶ handler
//      ▲                    │ step: would block
//      └────────────────────┘            (the first try, in the initiating function, may lead
//      straight to done)
#include <array>
#include <asio/cancellation_type.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <smc/detail/loop_core.hpp>
#include <system_error>

namespace smc::detail {

class operation_host;

class operation : public ready_node {
 public:
  enum class state : unsigned char { queued, scheduled, done };

  /// What the typed part provides; one constant table per operation type.
  struct functions {
    /// Tries the operation on the host's target; false: would block. Stores error (and result)
    /// otherwise.
    bool (*perform)(operation&, void* target) noexcept;
    /// Runs step() on the handler's associated executor; `post`: not from inside the calling
    /// function.
    void (*schedule)(operation&, bool post);
    /// Moves the handler out, frees the operation, then calls the handler (or only destroys it).
    void (*finish)(operation&, bool call);
  };

  operation(const functions* table, unsigned char queue) noexcept : table_(table), queue_(queue) {
    invoke = &operation::run_node;
  }

  std::error_code error;
  bool counted = false;  ///< as a request, in the statistics

  /// The step that performs (if still to be done) and finishes. On the handler's associated
  /// executor.
  void step();
  /// Destroys the operation without calling its handler (the executor that held it goes away).
  void discard();

 protected:
  ~operation() = default;
  bool direct_ =
      false;  ///< the handler runs on the host's own loop: no dispatch, the loop's work count

 private:
  friend class operation_host;
  static void run_node(ready_node* node, action what);

  const functions* table_;
  operation_host* host_ = nullptr;
  operation* next_queued_ = nullptr;
  std::uint64_t id_ = 0;
  state state_ = state::queued;
  unsigned char queue_;
};

/// Queues of operations over one target (a stream's connection, an acceptor).
///
/// On an event_loop everything here belongs to the loop's thread and takes no lock; other threads
/// get there through loop_core::run_exclusive(). Elsewhere, and as soon as one handler's executor
/// is not the loop's, a mutex guards it. Derived classes are called with the lock held.
class operation_host : public std::enable_shared_from_this<operation_host> {
 public:
  static constexpr std::size_t max_queues = 4;

  operation_host(const operation_host&) = delete;
  operation_host& operator=(const operation_host&) = delete;
  virtual ~operation_host() = default;

  /// Starts `op`: tries it at once if nothing is ahead of it, never finishes it inside this call.
  /// Where it throws, `op` is gone, its handler destroyed.
  void start(operation& op, bool direct);
  /// A target's waiter says that the head of `queue` may make progress. Any thread.
  /// `post`: the caller must not run handlers.
  void ready(unsigned char queue, bool post = false) noexcept;
  /// Ends the operation with this key, if it was not performed yet, with operation_aborted. Any
  /// thread.
  void cancel(std::uint64_t id) noexcept;
  void cancel_all() noexcept;
  /// The execution context goes away: handlers are destroyed, not called.
  virtual void context_gone() noexcept = 0;
  /// This is the child of a fork(). Exclusively in the context.
  virtual void after_fork() noexcept = 0;

  loop_core* loop() const noexcept { return loop_; }
  /// A key for cancel(), to be given to the operation started next with it.
  std::uint64_t new_id() noexcept { return next_id_.fetch_add(1, std::memory_order_relaxed); }
  static void set_id(operation& op, std::uint64_t id) noexcept { op.id_ = id; }

 protected:
  explicit operation_host(loop_core* loop) noexcept : loop_(loop), locking_(loop == nullptr) {}

  /// What operations of `queue` are performed on; nullptr: they complete with `closed_error()`.
  virtual void* target(unsigned char queue) noexcept = 0;
  virtual std::error_code closed_error(unsigned char queue) const noexcept = 0;
  /// Asks to be told (ready()) when the head may make progress; false: it may now.
  virtual bool arm(unsigned char queue, operation& head) noexcept = 0;
  virtual void disarm(unsigned char queue) noexcept = 0;
  /// Follows calls of disarm(), without the lock.
  virtual void disarmed() noexcept {}
  /// An operation begins (1; may throw) or ceased (-1) to wait: for contexts that watch descriptors
  /// only meanwhile.
  virtual void waiting_changed(int difference) = 0;

  class guard {
   public:
    explicit guard(const operation_host& host) : host_(host.locking_ ? &host : nullptr) {
      if (host_) host_->mutex_.lock();
    }
    ~guard() {
      if (host_) host_->mutex_.unlock();
    }
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;

   private:
    const operation_host* host_;
  };

  /// Runs f where this object's state may be touched: now, or by the loop's thread soon.
  template <typename F>
  void exclusively(F&& f) {
    if (!loop_ || loop_->on_this_thread()) {
      f();
    } else {  // may be queued for the loop's thread: keep this object until then
      loop_->run_exclusive([self = shared_from_this(), f = std::forward<F>(f)]() mutable { f(); });
    }
  }

  /// Ends all queued operations; with `call` false they are destroyed without their handlers being
  /// called.
  void abort_queued(std::error_code error, bool call = true) noexcept;
  bool idle() const noexcept { return in_flight_ == 0; }
  /// Keeps this object alive until the last operation has finished (its owner is gone).
  void keep_until_idle();

 private:
  friend class operation;
  struct fifo {
    operation* head = nullptr;
    operation* tail = nullptr;
  };

  void start_where_it_may(operation& op);
  void start_here(operation& op);
  void cancel_here(std::uint64_t id) noexcept;
  bool try_perform(operation& op) noexcept;
  void schedule_head(unsigned char queue, bool post) noexcept;
  void serve(unsigned char queue) noexcept;
  operation* arm_head(unsigned char queue) noexcept;
  void hand_over(operation& op, bool post) noexcept;
  operation* find(std::uint64_t id) noexcept;
  bool append(operation& op) noexcept;
  void unlink(operation& op) noexcept;
  std::shared_ptr<operation_host> finished() noexcept;

  loop_core* loop_;
  mutable std::mutex mutex_;
  bool locking_;
  std::atomic<std::uint64_t> next_id_{1};
  std::size_t in_flight_ = 0;
  std::array<fifo, max_queues> queues_{};
  std::shared_ptr<operation_host> self_;
};

}  // namespace smc::detail
