#include "support/watchdog.hpp"

#include <execinfo.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace smc::test {

struct watchdog::shared_state {
  std::atomic<std::int64_t> deadline{0};  // CLOCK_MONOTONIC nanoseconds, 0: nothing to watch
  std::array<char, 240> what{};
};

namespace {

constexpr int poll_interval_ms = 200;

std::int64_t now_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// Where there is no debugger: the main thread prints its own stack.
void print_own_stack(int) {
  std::array<void*, 64> frames;
  const int count = ::backtrace(frames.data(), static_cast<int>(frames.size()));
  ::backtrace_symbols_fd(frames.data(), count, STDERR_FILENO);
}

bool print_stacks_with_gdb(pid_t program) {
  const pid_t gdb = ::fork();
  if (gdb == 0) {
    ::dup2(STDERR_FILENO, STDOUT_FILENO);
    const int null = ::open("/dev/null", O_RDONLY);
    ::dup2(null, STDIN_FILENO);
    std::array<char, 16> pid{};
    std::snprintf(pid.data(), pid.size(), "%d", static_cast<int>(program));
    ::execlp("gdb", "gdb", "-nx", "-batch", "-ex", "set width 0", "-ex", "thread apply all bt",
             "-p", pid.data(), nullptr);
    ::_exit(127);
  }
  for (int waited = 0; waited < 60'000; waited += poll_interval_ms) {
    int status = 0;
    if (::waitpid(gdb, &status, WNOHANG) == gdb)
      return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    ::poll(nullptr, 0, poll_interval_ms);
  }
  ::kill(gdb, SIGKILL);
  ::waitpid(gdb, nullptr, 0);
  return false;
}

bool ended_within(int program_fd, int milliseconds) {
  pollfd p{program_fd, POLLIN, 0};
  return ::poll(&p, 1, milliseconds) > 0;
}

[[noreturn]] void watch(const std::atomic<std::int64_t>& deadline, const char* what, pid_t program,
                        int program_fd) {
  for (;;) {
    if (ended_within(program_fd, poll_interval_ms)) ::_exit(0);
    const std::int64_t limit = deadline.load();
    if (limit == 0 || now_ns() < limit) continue;
    std::fprintf(stderr, "\nwatchdog: %s does not end; stacks of process %d:\n", what,
                 static_cast<int>(program));
    if (!print_stacks_with_gdb(program)) {
      ::kill(program, SIGRTMAX);  // to any thread that does not block it, the main one first
      ended_within(program_fd, 1000);
    }
    ::kill(program, SIGABRT);
    if (!ended_within(program_fd, 5000)) ::kill(program, SIGKILL);
    ::_exit(0);
  }
}

}  // namespace

watchdog::watchdog() {
  void* memory = ::mmap(nullptr, sizeof(shared_state), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("watchdog: mmap");
    std::abort();
  }
  state_ = new (memory) shared_state;
  struct sigaction action {};
  action.sa_handler = print_own_stack;
  ::sigaction(SIGRTMAX, &action, nullptr);
  ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);

  const pid_t program = ::getpid();
  const pid_t middle = ::fork();
  if (middle == 0) {
    const int program_fd = static_cast<int>(::syscall(SYS_pidfd_open, program, 0));
    if (program_fd < 0) ::_exit(1);
    if (::fork() != 0) ::_exit(0);
    watch(state_->deadline, state_->what.data(), program, program_fd);
  }
  int status = 0;
  if (middle < 0 || ::waitpid(middle, &status, 0) != middle || status != 0) {
    std::fprintf(stderr, "watchdog: not started, tests are not watched\n");
  }
}

void watchdog::arm(std::string_view what, std::chrono::milliseconds limit) noexcept {
  state_->deadline.store(0);
  const std::size_t length = std::min(what.size(), state_->what.size() - 1);
  std::memcpy(state_->what.data(), what.data(), length);
  state_->what[length] = '\0';
  state_->deadline.store(now_ns() + std::chrono::nanoseconds(limit).count());
}

void watchdog::disarm() noexcept { state_->deadline.store(0); }

}  // namespace smc::test
