#include "stream/tcp_socket.hpp"

#include <asio/error.hpp>
#include <chrono>

#include "system/tcp_sockets.hpp"

namespace smc::detail {

int tcp_socket::number() const noexcept {
  // Asio asks for a non-const socket, and changes nothing.
  return bare_ ? bare_.get() : const_cast<asio::ip::tcp::socket&>(socket_).native_handle();
}

std::error_code tcp_socket::open(const asio::ip::tcp& protocol) {
  if (is_open()) return asio::error::already_open;
  std::error_code error;
  socket_.open(protocol, error);
  if (!error) error = system::close_on_exec(socket_.native_handle());
  return error;
}

std::error_code tcp_socket::open_bare(const asio::ip::tcp& protocol) {
  if (is_open()) return asio::error::already_open;
  auto made = system::create_tcp_socket(protocol);
  if (!made) return made.error;
  adopt(std::move(made.value), protocol);
  return {};
}

void tcp_socket::adopt(system::descriptor connected, const asio::ip::tcp& protocol) noexcept {
  bare_ = std::move(connected);
  protocol_ = protocol;
}

std::error_code tcp_socket::connect(const asio::ip::tcp::endpoint& to) noexcept {
  std::error_code error;
  if (!bare_) {
    socket_.connect(to, error);
    return error;
  }
  error = start_connect(to);
  if (error == asio::error::in_progress) {
    error = system::tcp_connected(bare_, std::chrono::milliseconds(-1));
  }
  return error;
}

std::error_code tcp_socket::start_connect(const asio::ip::tcp::endpoint& to) noexcept {
  return system::connect_tcp(bare_, to);
}

std::error_code tcp_socket::connected() const noexcept {
  return system::tcp_connected(bare_, std::chrono::milliseconds(0));
}

std::error_code tcp_socket::pending_error() const noexcept {
  return system::pending_error(number());
}

std::error_code tcp_socket::enter_reactor() {
  if (!bare_) return {};
  std::error_code error;
  socket_.assign(protocol_, bare_.get(), error);
  if (!error) (void)bare_.release();
  return error;
}

std::error_code tcp_socket::bind(const asio::ip::tcp::endpoint& endpoint) {
  std::error_code error = enter_reactor();
  if (!error) socket_.bind(endpoint, error);
  return error;
}

std::error_code tcp_socket::endpoint(asio::ip::tcp::endpoint& endpoint,
                                     bool remote) const noexcept {
  if (!is_open()) return asio::error::bad_descriptor;
  const auto found = remote ? system::remote_endpoint(number()) : system::local_endpoint(number());
  if (found) endpoint = found.value;
  return found.error;
}

void tcp_socket::close() noexcept {
  bare_.reset();
  std::error_code ignored;
  socket_.close(ignored);
}

}  // namespace smc::detail
