#pragma once
// The messages of Link Layer Control (RFC 7609 A.3, in the layout of Linux 6.12, which differs in
// ADD LINK), versions 1 and 2.
//
// Two kinds of wrong input: what can't be a message, or names more than it carries, is dropped
// (decode_error). What a peer must be answered about is decoded as it came, and is_acceptable() or
// rejection_of() judges it. What depends on the state of the link group (which link, which
// outstanding request, which keys) is for the link group to check.
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "smcr/address.hpp"
#include "smcr/wire/llc_header.hpp"

namespace smc::llc {

using rdma::gid;
using rdma::link_address;

/// The first message on every link: the server asks on it, the client responds on it.
struct confirm_link {
  bool response = false;
  bool no_eyecatchers = true;  ///< false: a peer that Linux and we can't work with
  link_address sender;
  std::uint8_t link_number = 0;         ///< never 0
  std::array<std::byte, 4> link_uid{};  ///< opaque
  std::uint8_t max_links = 2;
  std::uint8_t max_connections = 0;  ///< version 2 only

  bool operator==(const confirm_link&) const = default;
};

/// A buffer known on one link, and its key and address on the link being added.
struct rkey_pair {
  std::uint32_t reference_rkey = 0;  ///< on the link that carries the message
  std::uint32_t new_rkey = 0;
  std::uint64_t new_address = 0;

  bool operator==(const rkey_pair&) const = default;
};

inline constexpr std::size_t max_rkey_pairs = 255;

/// What version 2 appends to ADD LINK in place of continuation messages.
struct add_link_extension {
  bool direct = false;
  rdma::gid target{};            ///< Linux puts its own new GID here in both directions
  std::vector<rkey_pair> pairs;  ///< at most 255

  bool operator==(const add_link_extension&) const = default;
};

enum class reject_reason : std::uint8_t { none = 0, no_alternate_path = 1, bad_mtu = 2 };

/// Request of the server, or in version 1 a hint of the client, whose numbers are then 0.
struct add_link {
  bool response = false;
  bool rejected = false;
  reject_reason why = reject_reason::none;  ///< version 1 only: version 2 has the length there
  link_address sender;
  std::uint8_t link_number = 0;
  std::uint8_t mtu_code = 0;
  std::uint32_t psn = 0;
  std::optional<add_link_extension> extension;  ///< version 2; a rejection has none

  bool operator==(const add_link&) const = default;
};

struct add_link_continuation {
  static constexpr std::size_t max_pairs = 2;

  bool response = false;
  std::uint8_t link_number = 0;  ///< of the new link, never 0
  std::uint8_t pairs_left = 0;   ///< those of this message included
  std::vector<rkey_pair> pairs;  ///< min(2, pairs_left) of them

  bool operator==(const add_link_continuation&) const = default;
};

enum class delete_reason : std::uint32_t {
  none = 0,
  lost_path = 0x00010000,
  operator_initiated = 0x00020000,
  program_initiated = 0x00030000,
  protocol_violation = 0x00040000,
  asymmetric_link_not_needed = 0x00050000,
  unknown_link = 0x00100000,  ///< responses
  unknown_group = 0x00200000
};

struct delete_link {
  bool response = false;
  bool all = false;  ///< the whole group; there is no response
  bool orderly = false;
  std::uint8_t link_number = 0;                ///< 0 with `all`
  delete_reason reason = delete_reason::none;  ///< any value may come

  bool operator==(const delete_link&) const = default;
};

/// Version 2: the client has more devices.
struct request_add_link {
  static constexpr std::size_t max_gids = 8;

  bool response = false;
  std::vector<rdma::gid> gids;

  bool operator==(const request_add_link&) const = default;
};

/// Where a peer may write: a buffer's key and address on one link.
struct rtoken {
  std::uint32_t rkey = 0;
  std::uint64_t address = 0;

  bool operator==(const rtoken&) const = default;
};

struct link_rtoken {
  std::uint8_t link_number = 0;
  rtoken token;

  bool operator==(const link_rtoken&) const = default;
};

struct confirm_rkey {
  static constexpr std::size_t max_others = 2;

  bool response = false;
  bool negative = false;
  bool retry = false;               ///< after the current change of the group
  rtoken token;                     ///< on the link that carries the message
  std::uint8_t announced = 0;       ///< other links' tokens, as the sender counts them
  std::vector<link_rtoken> others;  ///< min(2, announced) of them

  bool operator==(const confirm_rkey&) const = default;
};

/// The keys are those of the link that carries the message; the buffers go on all links.
struct delete_rkey {
  static constexpr std::size_t max_rkeys_v1 = 8;
  static constexpr std::size_t max_rkeys_v2 = 255;

  bool response = false;
  bool negative = false;
  std::uint8_t announced = 0;  ///< keys, as the sender counts them
  /// In a response, version 1: bit 0x80 stands for the first key, and so on. Version 2: how many.
  std::uint8_t unknown = 0;
  std::vector<std::uint32_t> rkeys;  ///< as many of the announced as the message has room for

  bool operator==(const delete_rkey&) const = default;
};

struct test_link {
  bool response = false;
  std::array<std::byte, 16> data{};  ///< comes back in the response

  bool operator==(const test_link&) const = default;
};

using body = std::variant<confirm_link, add_link, add_link_continuation, delete_link,
                          request_add_link, confirm_rkey, delete_rkey, test_link>;

/// What one receive completion delivered, all of it in `received`. `version` (1 or 2) is that of
/// the link group.
decoded<body> decode(std::span<const std::byte> received, std::uint8_t version);

/// Appends the message. `order` is that of the length and the pair count of version 2: Linux sends
/// its own, whatever that is. Throws std::invalid_argument for what the version does not have, for
/// too many entries and for numbers that do not fit.
void encode(const body& m, std::uint8_t version, std::vector<std::byte>& out,
            std::endian order = std::endian::native);

/// Whether a request can be served at all; otherwise it is answered with a rejection of this
/// reason. Judges link number, MTU, numbers and address.
reject_reason rejection_of(const add_link& request) noexcept;

/// Whether the link number, the numbers and the address can be a link's.
bool is_acceptable(const confirm_link& m) noexcept;
/// At most two other tokens, for different links, none of them link 0; otherwise the response is
/// negative.
bool is_acceptable(const confirm_rkey& m) noexcept;
/// The announced keys are there, and at least one is; otherwise the response is negative.
bool is_acceptable(const delete_rkey& m) noexcept;

}  // namespace smc::llc
