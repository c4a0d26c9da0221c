#pragma once
// What all LLC messages have in common (RFC 7609 A.3; version 2 as Linux 6.12 speaks it).
//
// LLC and CDC messages are SENDs on the links of a group and share the receive queue: the first
// byte tells them apart.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "smcr/wire/decode_error.hpp"

namespace smc::llc {

using wire::decode_error;
using wire::decoded;

/// Bytes of every message of version 1, and the least of version 2.
inline constexpr std::size_t message_size = 44;
/// The most that a message of version 2 may have.
inline constexpr std::size_t max_message_size = 8192;

enum class message_type : std::uint8_t {
  confirm_link = 1,
  add_link = 2,
  add_link_continuation = 3,  ///< version 1 only
  delete_link = 4,
  request_add_link = 5,  ///< version 2 only
  confirm_rkey = 6,
  test_link = 7,
  confirm_rkey_continuation = 8,  ///< of RFC 7609; Linux has no use for it
  delete_rkey = 9
};

namespace flag {
inline constexpr std::uint8_t response = 0x80;
inline constexpr std::uint8_t rejected = 0x40;        ///< ADD LINK response
inline constexpr std::uint8_t all = 0x40;             ///< DELETE LINK
inline constexpr std::uint8_t orderly = 0x20;         ///< DELETE LINK
inline constexpr std::uint8_t negative = 0x20;        ///< CONFIRM RKEY and DELETE RKEY response
inline constexpr std::uint8_t retry = 0x10;           ///< CONFIRM RKEY response
inline constexpr std::uint8_t no_eyecatchers = 0x03;  ///< CONFIRM LINK; Linux sets both
}  // namespace flag

struct header {
  message_type type = message_type::confirm_link;
  std::uint8_t version = 1;
  std::size_t length = message_size;  ///< bytes; never more than were received
  std::uint8_t reason = 0;            ///< version 1 only: why an ADD LINK was rejected
  std::uint8_t flags = 0;

  bool has(std::uint8_t f) const noexcept { return (flags & f) != 0; }
};

/// Reads the first bytes of what a receive completion delivered, all of which is in `received`.
/// `version` is that of the link group.
///
/// Version 1 has messages of 44 bytes only. The length of version 2 is accepted in either byte
/// order, since Linux sends it in that of its machine; what lies beyond it is not looked at.
decoded<header> decode_header(std::span<const std::byte> received, std::uint8_t version) noexcept;

/// The first four bytes. `order` matters to the length of version 2 only.
std::uint32_t encoded_header(const header& h, std::endian order) noexcept;

}  // namespace smc::llc
