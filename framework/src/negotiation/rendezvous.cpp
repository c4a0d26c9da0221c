#include "negotiation/rendezvous.hpp"

#include <sys/socket.h>

#include "system/sockets.hpp"

namespace smc::negotiation {

std::string rendezvous_name(std::uint16_t port, unsigned k) {
  std::string name(1, '\0');
  name += "smc." + std::to_string(port) + '.' + std::to_string(k);
  return name;
}

system::result<announcement> announce(std::uint16_t port) {
  std::error_code error;
  for (unsigned k = 0; k < rendezvous_names; ++k) {
    auto socket = system::create_socket(AF_UNIX, SOCK_SEQPACKET, 0, true);
    if (!socket) return socket.error;
    announcement made{std::move(socket.value), rendezvous_name(port, k)};
    const auto where = system::local_address::of(made.name);
    if (!where) return where.error;
    error = system::bind_to(made.listener, where.value);
    if (!error) error = system::listen_on(made.listener, rendezvous_backlog);
    if (!error) return made;
    if (error != system::error_of(EADDRINUSE)) break;
  }
  return error;
}

system::result<system::descriptor> call_announcer(const std::string& name) {
  auto socket = system::create_socket(AF_UNIX, SOCK_SEQPACKET, 0, true);
  if (!socket) return socket.error;
  const auto where = system::local_address::of(name);
  if (!where) return where.error;
  if (const auto error = system::connect_to(socket.value, where.value)) return error;
  return std::move(socket.value);
}

}  // namespace smc::negotiation
