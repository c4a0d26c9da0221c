#include "system/tcp_sockets.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <asio/error.hpp>

#include "system/events.hpp"
#include "system/injection.hpp"
#include "system/sockets.hpp"

namespace smc::system {

namespace {

using address_call = int (*)(int, sockaddr*, socklen_t*);

result<asio::ip::tcp::endpoint> endpoint_of(int socket, address_call ask) noexcept {
  asio::ip::tcp::endpoint endpoint;
  auto length = static_cast<socklen_t>(endpoint.capacity());
  if (ask(socket, endpoint.data(), &length) != 0) return last_error();
  endpoint.resize(length);
  return endpoint;
}

}  // namespace

result<descriptor> create_tcp_socket(const asio::ip::tcp& protocol) noexcept {
  return create_socket(protocol.family(), protocol.type(), protocol.protocol(), true);
}

std::error_code connect_tcp(const descriptor& socket, const asio::ip::tcp::endpoint& to) noexcept {
  if (const int e = injected(call::connect)) return error_of(e);
  if (::connect(socket.get(), to.data(), static_cast<socklen_t>(to.size())) == 0) return {};
  // An interrupted connect goes on.
  return errno == EINTR ? error_of(EINPROGRESS) : last_error();
}

std::error_code tcp_connected(const descriptor& socket, std::chrono::milliseconds limit) noexcept {
  std::array<pollfd, 1> entry{pollfd{socket.get(), POLLOUT, 0}};
  const auto ready = poll(entry, limit);
  if (!ready) return ready.error;
  if (ready.value == 0) return asio::error::in_progress;
  if ((entry[0].revents & (POLLERR | POLLHUP)) == 0) return {};
  return pending_error(socket.get());
}

std::error_code pending_error(int socket) noexcept {
  int error = 0;
  std::size_t size = sizeof error;
  if (const auto failed = get_option(socket, SOL_SOCKET, SO_ERROR, &error, size)) return failed;
  return error == 0 ? std::error_code() : error_of(error);
}

result<asio::ip::tcp::endpoint> local_endpoint(int socket) noexcept {
  return endpoint_of(socket, &::getsockname);
}

result<asio::ip::tcp::endpoint> remote_endpoint(int socket) noexcept {
  return endpoint_of(socket, &::getpeername);
}

std::error_code set_option(int socket, int level, int name, const void* value,
                           std::size_t size) noexcept {
  if (const int e = injected(call::socket_option)) return error_of(e);
  return ::setsockopt(socket, level, name, value, static_cast<socklen_t>(size)) == 0
             ? std::error_code()
             : last_error();
}

std::error_code get_option(int socket, int level, int name, void* value,
                           std::size_t& size) noexcept {
  if (const int e = injected(call::socket_option)) return error_of(e);
  auto length = static_cast<socklen_t>(size);
  if (::getsockopt(socket, level, name, value, &length) != 0) return last_error();
  size = length;
  return {};
}

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
  const auto local = local_endpoint(number);
  if (!local) return local.error;
  accepted.local = local.value;
  return accepted;
}

std::error_code close_on_exec(int socket) noexcept {
  return ::fcntl(socket, F_SETFD, FD_CLOEXEC) == 0 ? std::error_code() : error_of(errno);
}

void reset_on_close(const descriptor& socket) noexcept {
  const linger at_once{1, 0};
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

}  // namespace smc::system
