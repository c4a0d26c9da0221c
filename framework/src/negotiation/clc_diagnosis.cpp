#include "negotiation/clc_diagnosis.hpp"

namespace smc::clc {

reason to_reason(diagnosis d) noexcept {
  switch (d) {
    case diagnosis::no_memory:
      return reason::no_memory;
    case diagnosis::no_more_dmbs:
      return reason::mapping_limit;
    case diagnosis::confirm_link_timed_out:
    case diagnosis::add_link_timed_out:
      return reason::handshake_timed_out;
    case diagnosis::configuration:
    case diagnosis::ipsec:
    case diagnosis::mode_unsupported:
    case diagnosis::option_unsupported:
      return reason::not_configured;
    case diagnosis::peer_without_smc:
      return reason::peer_unknown;
    case diagnosis::no_device:
    case diagnosis::no_smcd_device:
    case diagnosis::no_smcr_device:
    case diagnosis::no_ism_v2:
    case diagnosis::no_smcd_v2_device:
    case diagnosis::vlan_unknown:
    case diagnosis::ism_vlan:
      return reason::no_device;
    case diagnosis::no_seid:
    case diagnosis::no_ueid:
      return reason::no_common_eid;
    case diagnosis::release_mismatch:
    case diagnosis::version_mismatch:
      return reason::version_mismatch;
    case diagnosis::different_prefix:
      return reason::other_host;
    case diagnosis::no_active_link:
    case diagnosis::no_server_link:
    case diagnosis::no_route:
    case diagnosis::no_indirect:
    case diagnosis::rtoken_failed:
    case diagnosis::link_not_ready:
      return reason::link_failed;
    case diagnosis::registration_failed:
      return reason::registration_failed;
    case diagnosis::no_v2_extension:
    case diagnosis::no_smcd_v2_extension:
    case diagnosis::max_connections:
    case diagnosis::max_links:
    case diagnosis::rmbe_eyecatchers:
    case diagnosis::out_of_sync:
      return reason::protocol_error;
    case diagnosis::peer_declined:
    case diagnosis::internal:
      return reason::declined_by_peer;
  }
  return reason::declined_by_peer;
}

diagnosis to_diagnosis(reason r) noexcept {
  switch (r) {
    case reason::no_memory:
    case reason::memory_limit:
    case reason::descriptor_limit:
      return diagnosis::no_memory;
    case reason::mapping_limit:
      return diagnosis::no_more_dmbs;
    case reason::handshake_timed_out:
      return diagnosis::confirm_link_timed_out;
    case reason::not_offered:
    case reason::not_configured:
    case reason::other_user:
    case reason::not_permitted:
      return diagnosis::configuration;
    case reason::peer_unknown:
      return diagnosis::peer_without_smc;
    case reason::other_host:
      return diagnosis::different_prefix;
    case reason::no_device:
      return diagnosis::no_device;
    case reason::no_common_eid:
      return diagnosis::no_ueid;
    case reason::version_mismatch:
      return diagnosis::version_mismatch;
    case reason::link_failed:
    case reason::rendezvous_unreachable:
      return diagnosis::no_active_link;
    case reason::registration_failed:
      return diagnosis::registration_failed;
    case reason::protocol_error:
      return diagnosis::out_of_sync;
    case reason::none:
    case reason::declined_by_peer:
    case reason::after_fork:
      return diagnosis::internal;
  }
  return diagnosis::internal;
}

std::optional<diagnosis> to_diagnosis(decode_error e) noexcept {
  switch (e) {
    case decode_error::bad_token:
      return diagnosis::internal;
    case decode_error::bad_eid:
      return diagnosis::no_ueid;
    default:
      return std::nullopt;
  }
}

}  // namespace smc::clc
