#include "config/network.hpp"

#include <net/if.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "config/parse.hpp"

namespace smc::config_detail {
namespace {

constexpr const char* right_network =
    "an address, a network such as 10.0.0.0/8 or fd00::/8, unix for peers of this host, or nothing";

using bytes_type = asio::ip::address_v6::bytes_type;

bytes_type bytes_of(const asio::ip::address& canonical_address) {
  if (canonical_address.is_v6()) return canonical_address.to_v6().to_bytes();
  bytes_type bytes{};
  const auto four = canonical_address.to_v4().to_bytes();
  std::copy(four.begin(), four.end(), bytes.begin());
  return bytes;
}

/// Of byte `index`, the bits that belong to the prefix.
std::uint8_t mask(unsigned prefix, std::size_t index) {
  const auto before = static_cast<unsigned>(index) * 8;
  if (prefix >= before + 8) return 0xff;
  if (prefix <= before) return 0;
  return static_cast<std::uint8_t>(0xff00u >> (prefix - before));
}

bytes_type masked(bytes_type bytes, unsigned prefix) {
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] &= mask(prefix, i);
  return bytes;
}

bool is_link_local(const bytes_type& bytes) {
  return bytes[0] == 0xfe && (bytes[1] & 0xc0u) == 0x80;
}

std::uint32_t parse_scope(const std::string& text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    number = ::if_nametoindex(text.c_str());
  }
  if (number == 0) throw wrong_value("the name or number of a network interface behind the %");
  return number;
}

unsigned parse_prefix(std::string_view text, unsigned longest) {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number > longest) {
    throw wrong_value("a prefix from 0 to " + std::to_string(longest) + " behind the /");
  }
  return number;
}

}  // namespace

asio::ip::address canonical(const asio::ip::address& address) {
  if (address.is_v6() && address.to_v6().is_v4_mapped()) {
    return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
  }
  return address;
}

network network::parse(std::string_view text) {
  network result;
  const auto slash = text.find('/');
  std::string address_text(text.substr(0, slash));
  if (const auto percent = address_text.find('%'); percent != std::string::npos) {
    result.scope_ = parse_scope(address_text.substr(percent + 1));
    address_text.resize(percent);
  }
  std::error_code error;
  const auto written = asio::ip::make_address(address_text, error);
  // The system's parser stops at a zero byte.
  if (error || address_text.find('\0') != std::string::npos) throw wrong_value(right_network);
  const auto address = canonical(written);
  result.v4_ = address.is_v4();
  const bool mapped = written.is_v6() && result.v4_;
  const unsigned longest = written.is_v4() ? 32 : 128;
  const unsigned prefix =
      slash == std::string_view::npos ? longest : parse_prefix(text.substr(slash + 1), longest);
  if (mapped && prefix < 96) throw wrong_value("a prefix from 96 to 128 behind ::ffff:…/");
  result.prefix_ = mapped ? prefix - 96 : prefix;
  const auto bytes = bytes_of(address);
  result.bytes_ = masked(bytes, result.prefix_);
  if (bytes != result.bytes_) {
    const auto four = asio::ip::address_v4(
        {result.bytes_[0], result.bytes_[1], result.bytes_[2], result.bytes_[3]});
    const std::string network_text =
        result.v4_ ? four.to_string() : asio::ip::address_v6(result.bytes_).to_string();
    throw wrong_value(network_text + "/" + std::to_string(result.prefix_) +
                      ", without bits behind the prefix, or " + address.to_string() + " alone");
  }
  if (result.scope_ != 0 && (result.v4_ || !is_link_local(bytes))) {
    throw wrong_value("an interface (%) behind link-local addresses (fe80::/10) only");
  }
  return result;
}

bool network::contains(const asio::ip::address& any_form) const {
  const auto address = canonical(any_form);
  if (address.is_v4() != v4_) return false;
  const auto bytes = bytes_of(address);
  if (masked(bytes, prefix_) != bytes_) return false;
  return scope_ == 0 || (is_link_local(bytes) && address.to_v6().scope_id() == scope_);
}

bool network::is_loopback() const {
  if (v4_) return prefix_ >= 8 && bytes_[0] == 127;
  return is_one_address() && asio::ip::address_v6(bytes_).is_loopback();
}

}  // namespace smc::config_detail
