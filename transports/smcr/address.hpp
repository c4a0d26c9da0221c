#pragma once
// How an end of a link is named: GID, MAC, queue pair number, path MTU.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace smc::rdma {

/// Global identifier of a port, an IPv6 address or a mapped IPv4 one, in network order.
using gid = std::array<std::byte, 16>;
using mac_address = std::array<std::byte, 6>;

/// Queue pair numbers and packet sequence numbers have 24 bits.
inline constexpr std::uint32_t max_24_bits = 0xffffff;

/// MTU of a path, by the codes of InfiniBand, CLC and LLC alike.
enum class mtu : std::uint8_t { b256 = 1, b512, b1024, b2048, b4096 };

constexpr std::size_t bytes_of(mtu m) noexcept {
  return std::size_t{128} << static_cast<unsigned>(m);
}

/// Nothing for a code that names no MTU.
constexpr std::optional<mtu> mtu_of_code(std::uint8_t code) noexcept {
  if (code < 1 || code > 5) return std::nullopt;
  return static_cast<mtu>(code);
}

/// One end of a link, as peers tell it to each other.
struct link_address {
  mac_address mac{};
  rdma::gid gid{};
  std::uint32_t qpn = 0;

  bool operator==(const link_address&) const = default;
};

/// Whether a link can lead there: a unicast MAC, a GID that is neither zero nor multicast, and a
/// queue pair other than 0 and 1, which are the fabric's own.
inline bool is_reachable(const link_address& a) noexcept {
  const auto zero = [](std::byte b) { return b == std::byte{0}; };
  return !std::all_of(a.mac.begin(), a.mac.end(), zero) &&
         (a.mac[0] & std::byte{1}) == std::byte{0} &&
         !std::all_of(a.gid.begin(), a.gid.end(), zero) && a.gid[0] != std::byte{0xff} &&
         a.qpn > 1 && a.qpn <= max_24_bits;
}

}  // namespace smc::rdma
