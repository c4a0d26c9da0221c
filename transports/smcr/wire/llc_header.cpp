#include "smcr/wire/llc_header.hpp"

#include <algorithm>
#include <optional>

namespace smc::llc {
namespace {

std::uint8_t at(std::span<const std::byte> bytes, std::size_t place) noexcept {
  return std::to_integer<std::uint8_t>(bytes[place]);
}

// Linux stores the length of version 2 unswapped, so the reading that fits is the one meant. Where
// both fit, it is the one that covers more: a sender names all that it sends.
std::optional<std::size_t> length_v2(std::uint8_t first, std::uint8_t second,
                                     std::size_t received) noexcept {
  const std::size_t big = std::size_t{first} << 8 | second;
  const std::size_t little = std::size_t{second} << 8 | first;
  std::optional<std::size_t> length;
  for (const std::size_t reading : {big, little}) {
    if (reading >= message_size && reading <= received) {
      length = std::max(length.value_or(0), reading);
    }
  }
  return length;
}

// Some codes exist in one version only.
decode_error why_unknown(std::uint8_t type, std::uint8_t version) noexcept {
  // RFC 7609 A.3: a receiver may ignore types whose first two bits are 10.
  if ((type & 0xc0U) == 0x80U) return decode_error::ignored_type;
  return version == 1 && type == static_cast<std::uint8_t>(message_type::confirm_rkey_continuation)
             ? decode_error::ignored_type
             : decode_error::unknown_type;
}

bool known(std::uint8_t code, std::uint8_t version) noexcept {
  switch (static_cast<message_type>(code)) {
    case message_type::confirm_link:
    case message_type::add_link:
    case message_type::delete_link:
    case message_type::confirm_rkey:
    case message_type::test_link:
    case message_type::delete_rkey:
      return true;
    case message_type::add_link_continuation:
      return version == 1;
    case message_type::request_add_link:
      return version == 2;
    case message_type::confirm_rkey_continuation:
      return false;
  }
  return false;
}

}  // namespace

decoded<header> decode_header(std::span<const std::byte> received, std::uint8_t version) noexcept {
  if (received.size() < message_size) return decode_error::truncated;
  if (received.size() > max_message_size) return decode_error::too_long;

  const std::uint8_t type = at(received, 0);
  const std::uint8_t sent_version = type >> 4 == 0 ? 1 : type >> 4 == 2 ? 2 : 0;
  if (sent_version == 0) return why_unknown(type, version);
  if (sent_version != version) return decode_error::bad_version;
  const auto code = static_cast<std::uint8_t>(type & 0x0fU);
  if (!known(code, version)) return why_unknown(type, version);

  header h;
  h.type = static_cast<message_type>(code);
  h.version = version;
  h.flags = at(received, 3);
  if (version == 1) {
    if (received.size() > message_size) return decode_error::too_long;
    if (at(received, 1) != message_size) return decode_error::bad_length;
    h.reason = at(received, 2) & 0x0fU;
    return h;
  }
  const auto length = length_v2(at(received, 1), at(received, 2), received.size());
  if (!length) return decode_error::bad_length;
  h.length = *length;
  return h;
}

std::uint32_t encoded_header(const header& h, std::endian order) noexcept {
  const auto type = static_cast<std::uint32_t>(h.type) | (h.version == 2 ? 0x20U : 0U);
  const auto length = static_cast<std::uint32_t>(h.length);
  std::uint32_t middle = length << 8 | h.reason;
  if (h.version == 2) {
    middle = order == std::endian::big ? length : (length & 0xffU) << 8 | length >> 8;
  }
  return type << 24 | middle << 8 | h.flags;
}

}  // namespace smc::llc
