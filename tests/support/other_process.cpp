#include "support/other_process.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>

#include "system/events.hpp"
#include "system/memory.hpp"
#include "system/sockets.hpp"

namespace smc::test {
namespace {

struct order {
  role does;
  role_argument argument;
};

constexpr std::size_t facts_size = 4096;

/// An order with a descriptor, without the library: the helper must not use it.
struct order_message {
  explicit order_message(order& what) noexcept : piece{&what, sizeof what} {
    header.msg_iov = &piece;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
  }
  order_message(const order_message&) = delete;
  order_message& operator=(const order_message&) = delete;

  iovec piece;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
};

void send_order(int socket, order what, int memory) {
  order_message message(what);
  cmsghdr* rights = CMSG_FIRSTHDR(&message.header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(rights), &memory, sizeof memory);
  if (::sendmsg(socket, &message.header, MSG_NOSIGNAL) != sizeof what) std::abort();
}

bool receive_order(int socket, order& what, int& memory) {
  order_message message(what);
  if (::recvmsg(socket, &message.header, MSG_CMSG_CLOEXEC) != sizeof what) return false;
  std::memcpy(&memory, CMSG_DATA(CMSG_FIRSTHDR(&message.header)), sizeof memory);
  return true;
}

[[noreturn]] void play(const order& what, int memory) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    const mapped_file facts(memory, facts_size);
    ::close(memory);
    what.does(facts.at<shared_facts>(0), what.argument);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "other process: %s\n", e.what());
  }
  ::_exit(0);
}

/// Forks one process for each order, until the test program is gone.
[[noreturn]] void help(int socket) {
  std::signal(SIGCHLD, SIG_IGN);
  order what{};
  int memory = -1;
  while (receive_order(socket, what, memory)) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(socket);
      std::signal(SIGCHLD, SIG_DFL);
      play(what, memory);
    }
    ::close(memory);
    if (::send(socket, &child, sizeof child, MSG_NOSIGNAL) != sizeof child) break;
  }
  ::_exit(0);
}

int start_helper() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
  if (::fork() == 0) {
    ::close(ends[0]);
    help(ends[1]);
  }
  ::close(ends[1]);
  return ends[0];
}

const int helper = start_helper();

}  // namespace

other_process::other_process(role does, role_argument argument) {
  const auto file = system::create_memory_file("test-facts");
  if (!file || ::ftruncate(file.value.get(), facts_size) != 0) {
    throw std::runtime_error("no memory to share with another process");
  }
  memory_ = std::make_unique<mapped_file>(file.value.get(), facts_size);
  new (memory_->data()) shared_facts;
  send_order(helper, {does, argument}, file.value.get());
  if (::recv(helper, &pid_, sizeof pid_, 0) != sizeof pid_ || pid_ <= 0) {
    throw std::runtime_error("no other process");
  }
  // Already over, it may have no number any more: then there is nothing to wait for.
  auto opened = system::open_process(pid_);
  if (!opened.error) process_ = std::move(opened.value);
}

other_process::~other_process() { kill(); }

void other_process::signal(int number) const noexcept {
  if (!ended()) ::kill(pid_, number);
}

void other_process::kill() noexcept {
  if (!process_) return;
  signal(SIGKILL);
  pollfd p{process_.get(), POLLIN, 0};
  (void)::poll(&p, 1, -1);
  process_.reset();
}

bool other_process::ended() const noexcept {
  pollfd p{process_.get(), POLLIN, 0};
  return !process_ || ::poll(&p, 1, 0) != 0;
}

}  // namespace smc::test
