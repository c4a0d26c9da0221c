#pragma once
// Where listeners announce themselves and clients find them: local SEQPACKET sockets with abstract names. Abstract
// names belong to the network namespace, as ports do; they vanish with their socket.
//
// A port number does not name one listener (127.0.0.1:P and 127.0.0.2:P, SO_REUSEPORT), so a port has several names,
// "\0smc.<port>.<k>"; an announcer takes the first free one.
#include <cstdint>
#include <string>

#include "system/descriptor.hpp"
#include "system/result.hpp"

namespace smc::negotiation {

inline constexpr unsigned rendezvous_names = 32;
/// Callers that wait to be accepted; the kernel takes the smaller of this and net.core.somaxconn.
inline constexpr int rendezvous_backlog = 4096;

std::string rendezvous_name(std::uint16_t port, unsigned k);

struct announcement {
  system::descriptor listener;
  std::string name;
};

/// Binds and listens on the first free name of the port. To be called after the TCP socket listens.
system::result<announcement> announce(std::uint16_t port);

/// Connects, without waiting, to an announcer. connection_refused: there is none; would_block: it is too busy.
system::result<system::descriptor> call_announcer(const std::string& name);

}  // namespace smc::negotiation
