#include "negotiation/endpoint.hpp"

#include <algorithm>

namespace smc::negotiation {
namespace {

endpoint::address_bytes mapped(const asio::ip::address& a) {
  if (a.is_v6()) {
    const auto bytes = a.to_v6().to_bytes();
    endpoint::address_bytes result;
    std::copy(bytes.begin(), bytes.end(), result.begin());
    return result;
  }
  endpoint::address_bytes result{};
  result[10] = result[11] = 0xff;
  const auto bytes = a.to_v4().to_bytes();
  std::copy(bytes.begin(), bytes.end(), result.begin() + 12);
  return result;
}

bool is_mapped(const endpoint::address_bytes& a) noexcept {
  return std::all_of(a.begin(), a.begin() + 10, [](std::uint8_t b) { return b == 0; }) &&
         a[10] == 0xff && a[11] == 0xff;
}

bool is_link_local(const endpoint::address_bytes& a) noexcept {
  return a[0] == 0xfe && (a[1] & 0xc0U) == 0x80;
}

}  // namespace

endpoint::endpoint(const address_bytes& address, std::uint32_t scope, std::uint16_t port) noexcept
    : address_(address), scope_(is_link_local(address) ? scope : 0), port_(port) {}

endpoint::endpoint(const asio::ip::tcp::endpoint& e)
    : endpoint(mapped(e.address()),
               e.address().is_v6() ? static_cast<std::uint32_t>(e.address().to_v6().scope_id()) : 0,
               e.port()) {}

asio::ip::tcp::endpoint endpoint::to_asio() const {
  if (is_mapped(address_)) {
    asio::ip::address_v4::bytes_type bytes;
    std::copy(address_.begin() + 12, address_.end(), bytes.begin());
    return {asio::ip::address_v4(bytes), port_};
  }
  asio::ip::address_v6::bytes_type bytes;
  std::copy(address_.begin(), address_.end(), bytes.begin());
  return {asio::ip::address_v6(bytes, scope_), port_};
}

std::string to_string(const endpoint& e) {
  const auto native = e.to_asio();
  const std::string address = native.address().to_string();
  const bool v6 = native.address().is_v6();
  return (v6 ? "[" + address + "]" : address) + ":" + std::to_string(e.port());
}

}  // namespace smc::negotiation
