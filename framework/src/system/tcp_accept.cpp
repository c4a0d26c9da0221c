#include "system/tcp_accept.hpp"

#include <sys/socket.h>

#include "system/injection.hpp"

namespace smc::system {

result<accepted_tcp> accept_tcp(int listener) noexcept {
  if (const int e = injected(call::accept)) return error_of(e);
  accepted_tcp accepted;
  int number;
  socklen_t length;
  do {
    length = static_cast<socklen_t>(accepted.peer.capacity());
    number = ::accept4(listener, accepted.peer.data(), &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
  } while (number < 0 && errno == EINTR);
  if (number < 0) return last_error();
  auto owned = descriptor::adopt(number);
  if (!owned) return owned.error;
  accepted.socket = std::move(owned.value);
  accepted.peer.resize(length);
  length = static_cast<socklen_t>(accepted.local.capacity());
  if (::getsockname(number, accepted.local.data(), &length) != 0) return last_error();
  accepted.local.resize(length);
  return accepted;
}

void reset_on_close(const descriptor& socket) noexcept {
  const linger at_once{1, 0};
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

}  // namespace smc::system
