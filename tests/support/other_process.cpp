#include "support/other_process.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
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

/// Sends without the library: the helper must not use it.
void send_order(int socket, const order& what, int memory) {
  iovec piece{const_cast<order*>(&what), sizeof what};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &memory, sizeof memory);
  if (::sendmsg(socket, &message, MSG_NOSIGNAL) != sizeof what) std::abort();
}

bool receive_order(int socket, order& what, int& memory) {
  iovec piece{&what, sizeof what};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (::recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != sizeof what) return false;
  std::memcpy(&memory, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof memory);
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
