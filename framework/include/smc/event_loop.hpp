#pragma once
// The event loop on which streams are fast: an asio::io_context to whoever uses it, with a ready
// queue of its own in front of it and a look at the shared-memory and RDMA transports each turn.
#include <algorithm>
#include <asio/execution_context.hpp>
#include <asio/io_context.hpp>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <smc/detail/loop_core.hpp>
#include <smc/detail/loop_executor.hpp>
#include <smc/event_loop_options.hpp>
#include <thread>
#include <type_traits>
#include <vector>

namespace smc {

/// Runs handlers, as asio::io_context does: run() results, order of posted handlers, exceptions,
/// stop() and restart() are those of an io_context with one thread.
///
/// Anything that takes an execution context or an executor takes the loop: `asio::steady_timer
/// t(loop)`, `asio::ip::tcp::socket s(loop)`, `asio::signal_set s(loop, SIGINT)`, `asio::post(loop,
/// f)`, `asio::co_spawn(loop, …)`, strands, `asio::any_io_executor(loop.get_executor())`. All run
/// on the same thread.
///
/// Order: handlers of posted functions, streams, timers and sockets go through one queue, first in,
/// first out.
///
/// Threads: one at a time in run(), run_one(), run_for(), run_until(), run_one_for(),
/// run_one_until(), poll() and poll_one(); a second one gets std::logic_error. A handler may call
/// them again (as with io_context). stop(), stopped(), get_executor() and everything done through
/// executors may be called from any thread.
///
/// Exceptions: what a handler throws leaves the function that ran it, run() for example; the loop
/// stays usable. A function run inside asio::dispatch() does not throw through it: its exception
/// leaves run() after the handler around it, several of them as asio::multiple_exceptions.
///
/// Destruction: handlers that were not called are destroyed. No other thread may use the loop any
/// more.
class event_loop {
 public:
  using executor_type = detail::loop_executor<>;
  using count_type = std::size_t;

  /// With the process's default options.
  event_loop();
  explicit event_loop(const event_loop_options& options);
  event_loop(const event_loop&) = delete;
  event_loop& operator=(const event_loop&) = delete;
  ~event_loop();

  executor_type get_executor() noexcept { return executor_type(core_); }

  /// The context on which timers, signals, files and plain sockets work. Running it directly is not
  /// allowed; its own executor may be used, but does not take part in the loop's order.
  operator asio::io_context&() noexcept { return core_.context(); }

  /// Runs handlers until no work is left or the loop was stopped. Returns how many ran.
  count_type run() { return core_.run(unlimited, true, std::nullopt); }
  /// Waits for one handler and runs it. 0: the loop is stopped.
  count_type run_one() { return core_.run(1, true, std::nullopt); }
  /// Runs what is ready, without waiting.
  count_type poll() { return core_.run(unlimited, false, std::nullopt); }
  /// Runs at most one handler that is ready, without waiting.
  count_type poll_one() { return core_.run(1, false, std::nullopt); }

  /// As run(), for at most `limit`.
  template <typename Rep, typename Period>
  count_type run_for(const std::chrono::duration<Rep, Period>& limit) {
    return run_until(after(limit));
  }
  /// As run_one(), for at most `limit`. 0: the time is over or the loop is stopped.
  template <typename Rep, typename Period>
  count_type run_one_for(const std::chrono::duration<Rep, Period>& limit) {
    return run_one_until(after(limit));
  }
  /// As run(), until `limit` at the latest. Handlers that become ready later stay for the next
  /// call.
  template <typename Clock, typename Duration>
  count_type run_until(const std::chrono::time_point<Clock, Duration>& limit) {
    return run_until(unlimited, limit);
  }
  /// As run_one(), until `limit` at the latest.
  template <typename Clock, typename Duration>
  count_type run_one_until(const std::chrono::time_point<Clock, Duration>& limit) {
    return run_until(1, limit);
  }

  /// Makes run() and its relatives return as soon as possible, and at once until restart().
  void stop() { core_.stop(); }
  /// Whether stop() was called or the loop ran out of work.
  bool stopped() const { return core_.stopped(); }
  /// Makes the loop usable again after it stopped. Not while a thread runs it.
  void restart() { core_.restart(); }

 private:
  friend class event_loop_pool;

  static constexpr std::size_t unlimited = static_cast<std::size_t>(-1);

  template <typename Rep, typename Period>
  static auto after(const std::chrono::duration<Rep, Period>& limit) {
    return std::chrono::steady_clock::now() + limit;
  }

  template <typename Clock, typename Duration>
  count_type run_until(std::size_t most, const std::chrono::time_point<Clock, Duration>& limit) {
    using steady = std::chrono::steady_clock;
    if constexpr (std::is_same_v<Clock, steady>) {
      return core_.run(most, true, std::chrono::time_point_cast<steady::duration>(limit));
    } else {
      // A clock that can be set is asked again at least every second, as Asio does.
      count_type ran = 0;
      for (auto now = Clock::now(); now < limit && ran < most; now = Clock::now()) {
        const auto rest =
            std::min<std::chrono::duration<double>>(limit - now, std::chrono::seconds(1));
        ran +=
            core_.run(most - ran, true, steady::now() + std::chrono::ceil<steady::duration>(rest));
        if (stopped()) break;
      }
      return ran;
    }
  }

  detail::loop_core core_;
};

/// Loops on threads of their own, one each.
///
/// The loops run from construction on, also while they have nothing to do, until join() or stop().
/// An exception that leaves a loop's run() stops all loops and leaves join(). Threads: all
/// functions may be called from any thread, join() from one that is not the pool's.
class event_loop_pool {
 public:
  /// With the process's default options. Zero loops: std::invalid_argument; no more threads:
  /// std::system_error.
  explicit event_loop_pool(std::size_t loops);
  event_loop_pool(std::size_t loops, const event_loop_options& options);
  event_loop_pool(const event_loop_pool&) = delete;
  event_loop_pool& operator=(const event_loop_pool&) = delete;
  /// Stops the loops and waits for their threads; handlers that were not called are destroyed.
  ~event_loop_pool();

  /// The loops in turn.
  event_loop& next_loop() noexcept;
  event_loop& loop(std::size_t index) noexcept { return *loops_[index]; }
  std::size_t size() const noexcept { return loops_.size(); }

  /// Stops all loops; their threads end.
  void stop();
  /// Returns when all loops have run out of work or were stopped. Rethrows the first exception that
  /// left one of them, once.
  void join();

 private:
  void run_loop(event_loop& loop) noexcept;
  void release_work() noexcept;
  void join_threads();

  std::vector<std::unique_ptr<event_loop>> loops_;
  std::vector<std::thread> threads_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;  // holds_work_, threads_, failure_
  bool holds_work_ = false;
  std::exception_ptr failure_;
};

}  // namespace smc
