#pragma once
// System calls of a listening TCP socket.
#include <asio/ip/tcp.hpp>

#include "system/descriptor.hpp"
#include "system/result.hpp"

namespace smc::system {

/// One connection of a listening TCP socket (its number), with its two ends.
struct accepted_tcp {
  descriptor socket;
  asio::ip::tcp::endpoint peer;
  asio::ip::tcp::endpoint local;
};
/// EAGAIN: there is none.
result<accepted_tcp> accept_tcp(int listener) noexcept;

/// Closing it afterwards resets the peer.
void reset_on_close(const descriptor& socket) noexcept;

}  // namespace smc::system
