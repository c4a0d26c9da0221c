#pragma once
// A network as rules name it.
#include <asio/ip/address.hpp>
#include <cstdint>
#include <string_view>

namespace smc::config_detail {

/// IPv4, or the IPv4-mapped form turned into it: one address has one form.
asio::ip::address canonical(const asio::ip::address& address);

class network {
 public:
  /// "10.0.0.0/8", "::1", "fe80::%eth0/10"; without a prefix one address. Throws wrong_value.
  static network parse(std::string_view text);

  /// `address` in any form. Scopes matter for link-local addresses only.
  bool contains(const asio::ip::address& address) const;

  /// How many leading bits are given, in the family's own count.
  unsigned prefix() const noexcept { return prefix_; }
  /// The interface's number; 0: any.
  std::uint32_t scope() const noexcept { return scope_; }
  bool is_one_address() const noexcept { return prefix_ == (v4_ ? 32u : 128u); }
  /// Only addresses that every host has for itself.
  bool is_loopback() const;

 private:
  bool v4_ = true;
  asio::ip::address_v6::bytes_type bytes_{};  // IPv4: the first four
  unsigned prefix_ = 0;
  std::uint32_t scope_ = 0;
};

}  // namespace smc::config_detail
