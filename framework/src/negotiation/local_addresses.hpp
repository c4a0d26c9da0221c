#pragma once
#include <asio/ip/address.hpp>
#include <vector>

namespace smc::negotiation {

/// Whether `address` is one of this network namespace's own: loopback, unspecified, or an
/// interface's. Only a hint that asking the rendezvous may pay. Interfaces are read again at most
/// once a second. Any thread.
bool is_own_address(const asio::ip::address& address);

/// The addresses of this network namespace's interfaces, as they are now.
std::vector<asio::ip::address> interface_addresses();

}  // namespace smc::negotiation
