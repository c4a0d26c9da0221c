#pragma once
// The TCP connection of a stream.
#include <asio/any_io_executor.hpp>
#include <asio/ip/tcp.hpp>
#include <system_error>

#include "system/descriptor.hpp"

namespace smc::detail {

/// Bare as long as nobody waits for it, and unknown to the reactor, which would cost several system
/// calls for each connection; under another transport it stays so. Becomes a socket of Asio's where
/// somebody waits, or wants to have it before it is connected. Threading: as Asio's sockets.
class tcp_socket {
 public:
  explicit tcp_socket(const asio::any_io_executor& executor) : socket_(executor) {}

  bool is_bare() const noexcept { return static_cast<bool>(bare_); }
  bool is_open() const noexcept { return bare_ || socket_.is_open(); }
  int number() const noexcept;

  /// As Asio's.
  std::error_code open(const asio::ip::tcp& protocol);
  /// To be connected at once.
  std::error_code open_bare(const asio::ip::tcp& protocol);
  /// Takes over a connection.
  void adopt(system::descriptor connected, const asio::ip::tcp& protocol) noexcept;

  /// Connects in the calling thread.
  std::error_code connect(const asio::ip::tcp::endpoint& to) noexcept;
  /// Begins to connect, while bare. in_progress: how it ends, connected() tells.
  std::error_code start_connect(const asio::ip::tcp::endpoint& to) noexcept;
  /// Asks, while bare, whether the connect has ended, and how. in_progress: not yet.
  std::error_code connected() const noexcept;
  /// How the connect ended that was in progress, when the socket has become writable.
  std::error_code pending_error() const noexcept;

  /// Makes it known to the reactor.
  std::error_code enter_reactor();
  /// Asio's socket; not open before enter_reactor() (or open()).
  asio::ip::tcp::socket& in_reactor() noexcept { return socket_; }

  std::error_code bind(const asio::ip::tcp::endpoint& endpoint);
  std::error_code endpoint(asio::ip::tcp::endpoint& endpoint, bool remote) const noexcept;
  void close() noexcept;

 private:
  asio::ip::tcp::socket socket_;
  system::descriptor bare_;
  asio::ip::tcp protocol_ = asio::ip::tcp::v4();  // of bare_
};

}  // namespace smc::detail
