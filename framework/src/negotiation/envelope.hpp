#pragma once
// Messages of the local rendezvous: a format of this library, one message per packet of a SEQPACKET
// socket, little-endian, with CLC messages inside. Descriptors travel beside a message, by
// position.
//
//   offset size
//        0    4  magic "smc?" (0x3f636d73)
//        4    1  version of the sender
//        5    1  oldest version that the sender understands
//        6    1  type
//        7    1  flags: bit 0, the sender's mailbox and doorbell are among the descriptors
//        8    4  length of the whole message in bytes
//       12    4  number of the message, counted from 0 for each link and direction
//
// A sender of a newer version that still understands ours may append to every message; what is
// behind the known part is skipped. Among equal versions the length is exact. Everything decoded is
// untrusted.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <smc/error.hpp>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "negotiation/decoded.hpp"
#include "negotiation/endpoint.hpp"

namespace smc::negotiation {

inline constexpr std::uint8_t envelope_version = 1;
inline constexpr std::uint8_t oldest_envelope_version = 1;

inline constexpr std::size_t envelope_header_size = 16;
inline constexpr std::size_t max_message_size = 8192;
inline constexpr std::size_t max_clc_size = 652;
inline constexpr std::size_t max_extension_size = 1024;
inline constexpr std::size_t max_transport_name_size = 15;
inline constexpr std::size_t max_parts = 8;

/// The longest that a client waits for an answer and a server for a CONFIRM, whatever is
/// configured: a client must not confirm what its server has stopped to wait for.
inline constexpr std::chrono::milliseconds max_patience{60'000};

/// Client: a TCP connection to `destination` is about to be made.
struct intent {
  std::uint64_t attempt = 0;  ///< chosen by the client, unique on this link
  endpoint destination;
  std::uint32_t layout_version = 0;  ///< of the shared memory

  bool operator==(const intent&) const = default;
};

/// What one transport adds to a proposal.
struct part {
  std::string transport;  ///< 1…15 characters
  std::vector<std::byte> extension;

  bool operator==(const part&) const = default;
};

/// Client: this TCP connection could use these transports.
struct proposal {
  std::uint64_t attempt = 0;
  four_tuple connection;
  std::chrono::milliseconds patience{0};  ///< after which the client sends no CONFIRM any more
  std::vector<std::byte> clc;
  std::vector<part> parts;  ///< of different transports, in order of preference

  bool operator==(const proposal&) const = default;
};

/// What ACCEPT and CONFIRM have in common.
struct answer {
  std::uint64_t attempt = 0;
  std::vector<std::byte> clc;  ///< empty for a transport without a CLC part
  std::string transport;
  std::vector<std::byte> extension;
  std::uint8_t descriptors = 0;  ///< how many go with the message

  bool operator==(const answer&) const = default;
};

/// Server: its choice.
struct accept : answer {};
/// Client: the connection uses that transport from here on.
struct confirm : answer {};

/// Either side: no, and why; also answers what comes too late or is unknown.
struct decline {
  std::uint64_t attempt = 0;
  std::vector<std::byte> clc;  ///< a CLC DECLINE

  bool operator==(const decline&) const = default;
};

/// Client: nothing comes of this attempt; its TCP connection is plain, or there is none.
struct withdraw {
  std::uint64_t attempt = 0;

  bool operator==(const withdraw&) const = default;
};

/// Server: the listener closes; no new intents here.
struct retire {
  bool operator==(const retire&) const = default;
};

using message = std::variant<intent, proposal, accept, confirm, decline, withdraw, retire>;

/// What the link puts into the head of a message.
struct envelope_header {
  std::uint32_t number = 0;
  bool introduces_mailbox = false;
};

/// Replaces the contents of `out` (a buffer to be reused) by the encoded message.
/// Throws std::length_error where a limit above is exceeded, std::invalid_argument for an
/// ill-formed name.
void encode(const message& m, std::vector<std::byte>& out, const envelope_header& header = {});
std::vector<std::byte> encode(const message& m);

/// Decodes one whole packet: reason::version_mismatch where the two versions don't meet,
/// reason::protocol_error for everything else that is wrong.
decoded<message, reason> decode(std::span<const std::byte> packet);
/// Of a packet that decode() took.
envelope_header header_of(std::span<const std::byte> packet) noexcept;

/// A decline with the CLC DECLINE for `why`, and the reason found in one.
decline decline_because(std::uint64_t attempt, reason why);
reason reason_of(const decline& d);

}  // namespace smc::negotiation
