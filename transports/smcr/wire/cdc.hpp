#pragma once
// The messages of Connection Data Control on SMC-R links: 44 bytes behind the RDMA WRITEs that they
// announce (RFC 7609 A.4, 4.5 to 4.8).
//
// Each message carries the whole state of its direction: cursors and flags, not changes.
#include <cstddef>
#include <cstdint>
#include <span>

#include "smcr/wire/decode_error.hpp"

namespace smc::cdc {

using wire::decode_error;
using wire::decoded;

inline constexpr std::size_t message_size = 44;
inline constexpr std::byte message_type{0xfe};

/// Whether a received SEND is of CDC; otherwise it is LLC's.
constexpr bool is_cdc(std::span<const std::byte> received) noexcept {
  return !received.empty() && received.front() == message_type;
}

/// A place in a ring: 0 <= count < size of the ring; passing its end increments wrap, modulo 2^16.
struct cursor {
  std::uint16_t wrap = 0;
  std::uint32_t count = 0;

  bool operator==(const cursor&) const = default;
};

struct producer_flags {
  bool writer_blocked = false;
  bool urgent_pending = false;
  bool urgent_present = false;
  bool update_requested = false;
  /// Failover validation: of the message only seqno and token mean something (RFC 7609 4.6.2).
  bool failover_validation = false;

  bool operator==(const producer_flags&) const = default;
};

/// Once set, they stay set.
struct connection_flags {
  bool sending_done = false;
  bool closed = false;
  bool aborted = false;

  bool operator==(const connection_flags&) const = default;
};

struct message {
  std::uint16_t seqno = 0;  ///< per connection and direction, the first is 1
  std::uint32_t token = 0;  ///< alert token of the receiver
  cursor producer;          ///< in the receiver's ring
  cursor consumer;          ///< in the sender's own ring
  producer_flags producing;
  connection_flags state;

  bool operator==(const message&) const = default;
};

/// All that came with one receive completion. Refuses what has not exactly 44 bytes.
decoded<message> decode(std::span<const std::byte> received) noexcept;

/// Straight into the registered memory that is sent.
void encode(const message& m, std::span<std::byte, message_size> out) noexcept;

/// Whether a message with this seqno came earlier than the last one; the counter wraps. An equal
/// one is not older: Linux repeats the last in failover.
constexpr bool is_older(std::uint16_t seqno, std::uint16_t last) noexcept {
  return static_cast<std::int16_t>(static_cast<std::uint16_t>(seqno - last)) < 0;
}

/// Flags are state that only grows: what a later message leaves out stays (RFC 7609 4.8).
constexpr connection_flags merged(connection_flags held, connection_flags received) noexcept {
  return {held.sending_done || received.sending_done, held.closed || received.closed,
          held.aborted || received.aborted};
}

}  // namespace smc::cdc
