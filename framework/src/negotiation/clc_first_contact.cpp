#include "negotiation/clc_first_contact.hpp"

#include <algorithm>
#include <array>

namespace smc::clc {
namespace {

constexpr std::size_t host_name_size = 32;

bool printable(char c) noexcept { return c >= 0x20 && c <= 0x7e; }

std::string host_name_of(const std::array<char, host_name_size>& padded) {
  std::string name(padded.begin(), padded.end());
  if (!std::all_of(name.begin(), name.end(), printable)) return {};
  name.erase(name.find_last_not_of(' ') + 1);
  return name;
}

std::array<char, host_name_size> padded(const std::string& name) {
  std::array<char, host_name_size> result;
  result.fill(' ');
  if (std::all_of(name.begin(), name.end(), printable)) {
    std::copy_n(name.begin(), std::min(name.size(), host_name_size), result.begin());
  }
  return result;
}

}  // namespace

void write_first_contact(negotiation::byte_writer<std::endian::big>& out,
                         const first_contact_info& info, std::size_t size) {
  out.integer(static_cast<std::uint8_t>(info.direct ? 0x80U : 0U));
  out.integer(static_cast<std::uint8_t>(unsigned{info.os} << 4 | info.release));
  out.zeroes(2);
  out.array(padded(info.host_name));
  if (size == first_contact_size_0) return;
  if (info.release == 0) {
    out.zeroes(first_contact_size - first_contact_size_0);
    return;
  }
  out.integer(info.max_connections);
  out.integer(info.max_links);
  out.integer(info.features);
  out.zeroes(12);
}

first_contact_info read_first_contact(negotiation::byte_reader<std::endian::big>& in,
                                      std::size_t size) {
  first_contact_info info;
  info.direct = (in.integer<std::uint8_t>() & 0x80U) != 0;
  const auto os_and_release = in.integer<std::uint8_t>();
  info.os = static_cast<std::uint8_t>(os_and_release >> 4);
  info.release = os_and_release & 0x0fU;
  in.skip(2);
  std::array<char, host_name_size> host{};
  in.fill(host);
  info.host_name = host_name_of(host);
  info.features = 0;
  if (size == first_contact_size_0) return info;
  if (info.release == 0) {
    in.skip(first_contact_size - first_contact_size_0);
    return info;
  }
  info.max_connections = in.integer<std::uint8_t>();
  info.max_links = in.integer<std::uint8_t>();
  info.features = in.integer<std::uint16_t>();
  in.skip(12);
  return info;
}

}  // namespace smc::clc
