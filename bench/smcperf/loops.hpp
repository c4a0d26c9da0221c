#pragma once
// The threads a test runs on: one loop each.
#include <asio/any_io_executor.hpp>
#include <asio/executor_work_guard.hpp>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <smc/smc.hpp>
#include <thread>
#include <vector>

#include "smcperf/options.hpp"

namespace smcperf {

/// n event loops or io_contexts, each run by a thread of its own from construction on.
/// Threading: executor(), size() and request_stop() from any thread, the rest by the owner only.
class loops {
 public:
  /// Threads inherit the caller's CPUs. `spin` unset: the loop's own default.
  loops(executor_kind kind, std::size_t threads,
        const std::optional<smc::event_loop_options>& spin);
  ~loops();
  loops(const loops&) = delete;
  loops& operator=(const loops&) = delete;

  std::size_t size() const noexcept { return members_.size(); }
  asio::any_io_executor executor(std::size_t index) const;
  asio::any_io_executor next() {
    return executor(turn_++ % size());
  }  ///< round robin; one thread at a time

  /// Ends the loops where they are; what is pending is dropped when the loops are destroyed. Any
  /// thread, also a loop's.
  void request_stop() noexcept;
  /// Waits until somebody requested a stop; rethrows the first exception that left a loop.
  void wait();
  /// request_stop() and waiting, but throws nothing.
  void stop() noexcept;

 private:
  struct member {
    std::unique_ptr<smc::event_loop> loop;
    std::unique_ptr<asio::io_context> context;
    std::optional<asio::executor_work_guard<asio::any_io_executor>> work;
    std::thread thread;
    asio::any_io_executor executor() const;
    void run();
    void stop();
  };
  void run(member& m) noexcept;

  std::vector<std::unique_ptr<member>> members_;
  std::size_t turn_ = 0;
  std::mutex mutex_;
  std::exception_ptr failure_;  // guarded by mutex_
};

}  // namespace smcperf
