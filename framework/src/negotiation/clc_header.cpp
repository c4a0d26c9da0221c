#include "negotiation/clc_header.hpp"

#include <algorithm>

#include "negotiation/byte_cursor.hpp"

namespace smc::clc {
namespace {

// Shortest and longest length per type, over all versions and paths.
struct limits {
  std::size_t shortest;
  std::size_t longest;
};

constexpr limits limits_of(message_type type) noexcept {
  switch (type) {
    case message_type::proposal:
      return {52, max_message_size};
    case message_type::accept:
    case message_type::confirm:
      return {48, max_message_size};
    case message_type::decline:
      return {28, 44};
  }
  return {0, 0};
}

bool equals(std::span<const std::byte> bytes, const eyecatcher& e) noexcept {
  return std::equal(bytes.begin(), bytes.end(), e.begin(), e.end());
}

}  // namespace

std::string_view to_string(decode_error e) noexcept {
  switch (e) {
    case decode_error::truncated:
      return "truncated";
    case decode_error::trailing_bytes:
      return "trailing bytes";
    case decode_error::bad_eyecatcher:
      return "bad eyecatcher";
    case decode_error::bad_version:
      return "bad version";
    case decode_error::bad_type:
      return "bad type";
    case decode_error::bad_length:
      return "bad length";
    case decode_error::bad_trailer:
      return "bad trailer";
    case decode_error::bad_offset:
      return "bad offset";
    case decode_error::bad_count:
      return "bad count";
    case decode_error::bad_prefix:
      return "bad prefix";
    case decode_error::bad_path:
      return "bad path";
    case decode_error::bad_token:
      return "bad token";
    case decode_error::bad_eid:
      return "bad EID";
  }
  return "unknown";
}

decoded<header> decode_header(std::span<const std::byte> bytes) {
  if (bytes.size() < header_size) return decode_error::truncated;
  header h;
  if (equals(bytes.first(4), smcd_eyecatcher)) {
    h.smcd = true;
  } else if (!equals(bytes.first(4), smcr_eyecatcher)) {
    return decode_error::bad_eyecatcher;
  }
  negotiation::byte_reader<std::endian::big> in(bytes.subspan(4));
  const auto type = in.integer<std::uint8_t>();
  h.length = in.integer<std::uint16_t>();
  const auto flags = in.integer<std::uint8_t>();
  h.version = static_cast<std::uint8_t>(flags >> 4);
  h.v2_bits = static_cast<std::uint8_t>((flags >> 2) & 3U);
  h.v1_bits = static_cast<path_type>(flags & 3U);
  if (h.version == 0) return decode_error::bad_version;
  if (type < 1 || type > 4) return decode_error::bad_type;
  h.type = static_cast<message_type>(type);
  const auto [shortest, longest] = limits_of(h.type);
  if (h.length < shortest || h.length > longest) return decode_error::bad_length;
  return h;
}

decoded<header> decode_frame(std::span<const std::byte> message) {
  const auto h = decode_header(message);
  if (!h) return h;
  if (message.size() < h->length) return decode_error::truncated;
  if (message.size() > h->length) return decode_error::trailing_bytes;
  const auto trailer = message.last(trailer_size);
  if (!equals(trailer, smcr_eyecatcher) && !equals(trailer, smcd_eyecatcher)) {
    return decode_error::bad_trailer;
  }
  return h;
}

}  // namespace smc::clc
