#pragma once
// What all CLC messages have in common (RFC 7609 A.2; version 2 as Linux 6.12 speaks it).
//
// A message starts with an eyecatcher, its type, its whole length (big-endian), and a byte of
// version and flags; it ends with an eyecatcher again. Decoders take exactly one message: its
// length must be that of the span. Everything decoded is untrusted; what needs the other messages
// of the handshake to be judged is in clc_agreement.hpp.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "negotiation/decoded.hpp"

namespace smc::clc {

inline constexpr std::size_t header_size = 8;
inline constexpr std::size_t trailer_size = 4;
/// The longest message of all: a PROPOSAL with 8 prefixes, 8 EIDs and 8 GID entries.
inline constexpr std::size_t max_message_size = 652;

/// The newest release of version 2 known here ("v2.1").
inline constexpr std::uint8_t newest_release = 1;

enum class message_type : std::uint8_t { proposal = 1, accept = 2, confirm = 3, decline = 4 };

/// Path types. An offer may be any of them, a choice only r or d.
enum class path_type : std::uint8_t { r = 0, d = 1, none = 2, both = 3 };

constexpr bool includes_r(path_type p) noexcept {
  return p == path_type::r || p == path_type::both;
}
constexpr bool includes_d(path_type p) noexcept {
  return p == path_type::d || p == path_type::both;
}

enum class decode_error : std::uint8_t {
  truncated = 1,   ///< the span ends before the message does
  trailing_bytes,  ///< the span goes on after the message
  bad_eyecatcher,
  bad_version,
  bad_type,    ///< no CLC type, or another than asked for
  bad_length,  ///< not the length that the contents demand
  bad_trailer,
  bad_offset,  ///< an area lies outside its only place
  bad_count,   ///< more entries than allowed
  bad_prefix,  ///< a prefix longer than its address
  bad_path,    ///< neither R nor D chosen, or a version 1 offer of nothing
  bad_token,   ///< a token of zero
  bad_eid      ///< a negotiated EID that is not well formed
};

std::string_view to_string(decode_error e) noexcept;

template <typename T>
using decoded = negotiation::decoded<T, decode_error>;

using eyecatcher = std::array<std::byte, 4>;
inline constexpr eyecatcher smcr_eyecatcher{std::byte{0xe2}, std::byte{0xd4}, std::byte{0xc3},
                                            std::byte{0xd9}};
inline constexpr eyecatcher smcd_eyecatcher{std::byte{0xe2}, std::byte{0xd4}, std::byte{0xc3},
                                            std::byte{0xc4}};

struct header {
  bool smcd = false;  ///< the eyecatcher is that of SMC-D
  message_type type = message_type::proposal;
  std::uint16_t length = 0;  ///< bytes, of the whole message
  std::uint8_t version = 0;
  std::uint8_t v2_bits = 0;  ///< PROPOSAL: path types of version 2; else flags
  path_type v1_bits =
      path_type::r;  ///< PROPOSAL: path types of version 1; ACCEPT and CONFIRM: the choice

  /// ACCEPT and CONFIRM: first contact. DECLINE: out of sync.
  bool flag() const noexcept { return (v2_bits & 2U) != 0; }

  bool operator==(const header&) const = default;
};

/// Reads the first 8 bytes of a message; `bytes` may go on or end there. A length that no message
/// of this type can have is bad_length, so that a reader may trust it for the rest.
decoded<header> decode_header(std::span<const std::byte> bytes);

/// Header, exact length and trailer of a whole message.
decoded<header> decode_frame(std::span<const std::byte> message);

}  // namespace smc::clc
