#pragma once
// System calls of TCP sockets that no reactor knows (yet).
#include <asio/ip/tcp.hpp>
#include <chrono>
#include <cstddef>

#include "system/descriptor.hpp"
#include "system/result.hpp"

namespace smc::system {

/// Non-blocking, close-on-exec.
result<descriptor> create_tcp_socket(const asio::ip::tcp& protocol) noexcept;
/// Begins to connect. in_progress: tcp_connected() tells how it went.
std::error_code connect_tcp(const descriptor& socket, const asio::ip::tcp::endpoint& to) noexcept;
/// How a connect that is in progress ended; in_progress where it did not within `limit`. To an
/// address of this host the connection stands when connect_tcp() returns.
std::error_code tcp_connected(const descriptor& socket, std::chrono::milliseconds limit) noexcept;

/// SO_ERROR
std::error_code pending_error(int socket) noexcept;

result<asio::ip::tcp::endpoint> local_endpoint(int socket) noexcept;
result<asio::ip::tcp::endpoint> remote_endpoint(int socket) noexcept;
std::error_code set_option(int socket, int level, int name, const void* value,
                           std::size_t size) noexcept;
std::error_code get_option(int socket, int level, int name, void* value,
                           std::size_t& size) noexcept;

/// One connection of a listening TCP socket (its number), with its two ends.
struct accepted_tcp {
  descriptor socket;
  asio::ip::tcp::endpoint peer;
  asio::ip::tcp::endpoint local;
};
/// EAGAIN: there is none.
result<accepted_tcp> accept_tcp(int listener) noexcept;

/// For sockets of Asio's, which would survive exec.
std::error_code close_on_exec(int socket) noexcept;

/// Closing it afterwards resets the peer.
void reset_on_close(const descriptor& socket) noexcept;

}  // namespace smc::system
