#pragma once
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>

namespace smc::test {

/// Runs `body` in a child of fork(). Whether it returned true there; an exception is printed and
/// counts as false.
template <typename Body>
bool in_child(Body&& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    bool good = false;
    try {
      good = body();
    } catch (const std::exception& e) {
      std::fprintf(stderr, "in the child: %s\n", e.what());
    }
    ::_exit(good ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace smc::test
