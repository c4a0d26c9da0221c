#pragma once
// CLC PROPOSAL: what a client can do (RFC 7609 A.2.2; version 2 as Linux 6.12 sends it).
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "negotiation/clc_header.hpp"
#include "negotiation/clc_identity.hpp"

namespace smc::clc {

inline constexpr std::size_t max_ipv6_prefixes = 8;
inline constexpr std::size_t max_eids = 8;
/// Entries on the wire; an emulated device takes two.
inline constexpr std::size_t max_gid_entries = 8;

struct ipv6_prefix {
  std::array<std::byte, 16> address{};
  std::uint8_t length = 0;  ///< bits

  bool operator==(const ipv6_prefix&) const = default;
};

/// The client's subnet or prefixes, which version 1 compares with the server's.
struct prefix_area {
  std::uint32_t subnet = 0;
  std::uint8_t subnet_length = 0;  ///< bits
  std::vector<ipv6_prefix> ipv6;   ///< not empty: an IPv6 connection

  bool operator==(const prefix_area&) const = default;
};

/// The SMC-D part of the version 2 extension.
struct smcd_v2_offer {
  std::optional<eid> system_eid;
  std::vector<smcd_gid> gids;  ///< emulated devices whose second half was missing are left out

  bool operator==(const smcd_v2_offer&) const = default;
};

/// The version 2 extension.
struct v2_offer {
  std::uint8_t release = newest_release;
  std::vector<eid> eids;  ///< ill-formed ones are left out
  std::array<std::byte, 16> roce_gid{};
  std::uint8_t max_connections = 0;  ///< per link group; R only
  std::uint8_t max_links = 0;        ///< per link group; R only
  std::uint16_t features = 1;        ///< bit 0: emulated ISM
  std::optional<smcd_v2_offer> smcd;

  bool operator==(const v2_offer&) const = default;
};

struct proposal {
  std::uint8_t version = 2;
  path_type v1 = path_type::none;  ///< as on the wire; see offers_…
  path_type v2 = path_type::d;

  std::array<std::byte, 8> peer_id{};
  std::array<std::byte, 16> roce_gid{};
  std::array<std::byte, 6> roce_mac{};

  std::optional<smcd_gid> native_ism;   ///< version 1's SMC-D device
  std::optional<prefix_area> prefixes;  ///< unless v1 is none
  std::optional<v2_offer> v2x;  ///< nothing where version 2 was named but its extension is missing

  // What is really on offer: named in the header, and with a usable part in the message.
  bool offers_r_v1() const noexcept { return includes_r(v1) && prefixes.has_value(); }
  bool offers_d_v1() const noexcept { return includes_d(v1) && native_ism.has_value(); }
  bool offers_r_v2() const noexcept { return version >= 2 && includes_r(v2) && v2x.has_value(); }
  bool offers_d_v2() const noexcept {
    return version >= 2 && includes_d(v2) && v2x.has_value() && v2x->smcd.has_value();
  }

  bool operator==(const proposal&) const = default;
};

/// Appends a PROPOSAL: of version 1 with SMC-R alone in RFC 7609's form, else in Linux's.
/// Throws std::invalid_argument where parts and offers don't go together, or there is more than the
/// wire can carry.
void encode(const proposal& p, std::vector<std::byte>& out);

/// Decodes every form, R and version 1 included. A part that is unusable without making the message
/// wrong (C10, C11, C14 of the checklist) is left out.
decoded<proposal> decode_proposal(std::span<const std::byte> message);

}  // namespace smc::clc
