#pragma once
#include <chrono>
#include <string_view>

namespace smc::test {

/// Ends a test program that hangs, after printing the stacks of all its threads.
///
/// The watcher is a process of its own, forked before the first test and not a child (tests may
/// wait for any child): a thread or a signal of ours would change what tests of fork, signals and
/// threads see, and would not see a program that spins. One per process.
class watchdog {
 public:
  /// Starts the watcher; call while the process has one thread.
  watchdog();
  watchdog(const watchdog&) = delete;
  watchdog& operator=(const watchdog&) = delete;

  /// The program is aborted if neither arm() nor disarm() follows within `limit`. `what` is named
  /// in the report.
  void arm(std::string_view what, std::chrono::milliseconds limit) noexcept;
  void disarm() noexcept;

 private:
  struct shared_state;
  shared_state* state_;
};

}  // namespace smc::test
