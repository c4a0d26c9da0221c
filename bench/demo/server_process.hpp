#pragma once
// A server in a process of its own: this program, started once more.
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace demo {

/// Starts this very program with `server` and `arguments` (as smcperf server takes them), and reads
/// the port that it prints. The child ends with its parent. Owner's thread only.
class server_process {
 public:
  /// Throws std::system_error, or std::runtime_error where the server did not come up within ten
  /// seconds.
  explicit server_process(const std::vector<std::string>& arguments);
  ~server_process();
  server_process(const server_process&) = delete;
  server_process& operator=(const server_process&) = delete;

  std::uint16_t port() const noexcept { return port_; }

 private:
  void end() noexcept;

  pid_t pid_ = -1;
  std::uint16_t port_ = 0;
};

}  // namespace demo
