#pragma once
// Why a CLC handshake is declined: Linux's codes, and their meaning as reasons.
#include <cstdint>
#include <optional>
#include <smc/error.hpp>

#include "negotiation/clc_header.hpp"

namespace smc::clc {

/// Codes of Linux 6.12 (SMC_CLC_DECL_…). A peer may send others.
enum class diagnosis : std::uint32_t {
  no_memory = 0x01010000,
  confirm_link_timed_out = 0x02010000,
  add_link_timed_out = 0x02020000,
  configuration = 0x03000000,
  peer_without_smc = 0x03010000,
  ipsec = 0x03020000,
  no_device = 0x03030000,
  no_smcd_device = 0x03030001,
  no_smcr_device = 0x03030002,
  no_ism_v2 = 0x03030003,
  no_v2_extension = 0x03030004,
  no_smcd_v2_extension = 0x03030005,
  no_seid = 0x03030006,
  no_smcd_v2_device = 0x03030007,
  no_ueid = 0x03030008,
  release_mismatch = 0x03030009,
  max_connections = 0x0303000a,
  max_links = 0x0303000b,
  mode_unsupported = 0x03040000,
  rmbe_eyecatchers = 0x03050000,
  option_unsupported = 0x03060000,
  different_prefix = 0x03070000,
  vlan_unknown = 0x03080000,
  ism_vlan = 0x03090000,
  no_active_link = 0x030a0000,
  no_server_link = 0x030b0000,
  version_mismatch = 0x030c0000,
  no_more_dmbs = 0x030d0000,
  no_route = 0x030e0000,
  no_indirect = 0x030f0000,
  out_of_sync = 0x04000000,
  peer_declined = 0x05000000,
  internal = 0x09990000,
  rtoken_failed = 0x09990001,
  link_not_ready = 0x09990002,
  registration_failed = 0x09990003
};

/// What a received code means to a user; declined_by_peer for codes that say nothing more, or are
/// unknown.
reason to_reason(diagnosis d) noexcept;

/// The code that comes nearest to a reason of ours. Several reasons may have one code.
diagnosis to_diagnosis(reason r) noexcept;

/// The DECLINE that answers a message which could not be decoded; nothing where the handshake has
/// to be aborted instead (RFC 7609 C.6).
std::optional<diagnosis> to_diagnosis(decode_error e) noexcept;

}  // namespace smc::clc
