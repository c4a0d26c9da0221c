#include "demo/server_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <system_error>

namespace demo {
namespace {

constexpr auto start_limit = std::chrono::seconds(10);

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::system_category(), what);
}

// The first line that arrives within the limit; what came if none does.
std::string first_line(int descriptor) {
  std::string line;
  const auto end = std::chrono::steady_clock::now() + start_limit;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    pollfd wait{descriptor, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&wait, 1, static_cast<int>(left.count())) <= 0) return line;
    char c;
    if (::read(descriptor, &c, 1) != 1 || c == '\n') return line;
    line += c;
  }
}

}  // namespace

server_process::server_process(const std::vector<std::string>& arguments) {
  std::vector<std::string> words{"/proc/self/exe", "server"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  int out[2];
  if (::pipe2(out, O_CLOEXEC) != 0) fail("pipe");
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) {
    const int error = errno;
    ::close(out[0]);
    ::close(out[1]);
    errno = error;
    fail("fork");
  }
  if (pid_ == 0) {  // only async-signal-safe calls from here
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent || ::dup2(out[1], STDOUT_FILENO) < 0) ::_exit(126);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  ::close(out[1]);
  const std::string line = first_line(out[0]);
  ::close(out[0]);
  try {
    const int number = std::stoi(line.substr(line.rfind(':') + 1));
    if (number <= 0 || number > 65535) throw std::out_of_range(line);
    port_ = static_cast<std::uint16_t>(number);
  } catch (const std::logic_error&) {
    end();
    throw std::runtime_error("the server process did not start" +
                             (line.empty() ? line : ": " + line));
  }
}

server_process::~server_process() { end(); }

void server_process::end() noexcept {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGTERM);
  int status = 0;
  for (int i = 0; i < 200; ++i) {  // two seconds to leave by itself
    const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
    if (ended == pid_ || (ended < 0 && errno != EINTR)) {
      pid_ = -1;
      return;
    }
    ::poll(nullptr, 0, 10);
  }
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
}

}  // namespace demo
