#pragma once
// Processes beside the test's own, which have not inherited anything of the library's from it.
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <smc/transport_kind.hpp>
#include <string>

#include "support/mapped_file.hpp"
#include "system/descriptor.hpp"

namespace smc::test {

/// What a test and its other process share.
struct shared_facts {
  std::atomic<std::uint64_t> written{
      0};                              ///< bytes whose write has completed, counted by the process
  std::atomic<std::uint32_t> port{0};  ///< where it listens
  std::atomic<std::uint32_t> step{0};  ///< how far it has come
  std::atomic<transport_kind> transport{transport_kind::tcp};  ///< of its stream
};

struct role_argument {
  std::uint16_t port = 0;
  int number = 0;
};

/// What another process does; it ends with the function.
using role = void (*)(shared_facts& facts, const role_argument& argument);

/// Runs a role. Destroying it kills the process. The processes are forked off a helper that was
/// made when the program started and has never used the library.
class other_process {
 public:
  explicit other_process(role does, role_argument argument = {});
  ~other_process();
  other_process(const other_process&) = delete;
  other_process& operator=(const other_process&) = delete;

  pid_t pid() const noexcept { return pid_; }
  void signal(int number) const noexcept;
  /// SIGKILL, and waits until the process is gone.
  void kill() noexcept;
  bool ended() const noexcept;
  shared_facts& facts() const noexcept { return memory_->at<shared_facts>(0); }

 private:
  pid_t pid_ = 0;
  system::descriptor process_;
  std::unique_ptr<mapped_file> memory_;
};

}  // namespace smc::test
