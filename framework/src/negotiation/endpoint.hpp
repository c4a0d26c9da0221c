#pragma once
// Addresses as the rendezvous compares them: one form for IPv4 and IPv6, so that two processes
// which see one TCP connection through sockets of different families agree on its name.
#include <array>
#include <asio/ip/tcp.hpp>
#include <compare>
#include <cstdint>
#include <string>

namespace smc::negotiation {

/// Address and port. IPv4 is kept IPv4-mapped; a scope is kept for link-local addresses only, where
/// it tells interfaces apart.
class endpoint {
 public:
  using address_bytes = std::array<std::uint8_t, 16>;

  endpoint() = default;
  endpoint(const address_bytes& address, std::uint32_t scope, std::uint16_t port) noexcept;
  explicit endpoint(const asio::ip::tcp::endpoint& e);

  const address_bytes& address() const noexcept { return address_; }
  std::uint32_t scope() const noexcept { return scope_; }
  std::uint16_t port() const noexcept { return port_; }

  /// IPv4 where the address is mapped.
  asio::ip::tcp::endpoint to_asio() const;

  auto operator<=>(const endpoint&) const = default;

 private:
  address_bytes address_{};
  std::uint32_t scope_ = 0;
  std::uint16_t port_ = 0;
};

std::string to_string(const endpoint& e);

/// The name of a TCP connection.
struct four_tuple {
  endpoint client;
  endpoint server;

  auto operator<=>(const four_tuple&) const = default;
};

}  // namespace smc::negotiation
