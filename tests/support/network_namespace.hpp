#pragma once
// Networks of one's own, where the process may have them.
#include <sched.h>

#include <cstdlib>
#include <string>

namespace smc::test {

/// Whether a command succeeds; what it prints is dropped.
inline bool shell(const std::string& command) {
  return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

/// Moves this process into a fresh network namespace, whose loopback is up. False: it may not.
inline bool enter_network_namespace() {
  return ::unshare(CLONE_NEWNET) == 0 && shell("ip link set lo up");
}

}  // namespace smc::test
