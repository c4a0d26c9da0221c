#include "negotiation/clc_agreement.hpp"

#include <algorithm>

namespace smc::clc {
namespace {

bool offers(const proposal& p, path_type path, std::uint8_t version) noexcept {
  if (path == path_type::d) return version == 2 ? p.offers_d_v2() : p.offers_d_v1();
  return version == 2 ? p.offers_r_v2() : p.offers_r_v1();
}

bool offers(const proposal& p, path_type path, const eid& chosen) {
  const auto& eids = p.v2x->eids;
  return std::find(eids.begin(), eids.end(), chosen) != eids.end() ||
         (path == path_type::d && p.v2x->smcd->system_eid == chosen);
}

/// RFC 7609 C.6: what can't be meant is declined.
std::optional<diagnosis> check_usable(const smcr_endpoint& e) {
  const bool no_gid =
      std::all_of(e.gid.begin(), e.gid.end(), [](std::byte b) { return b == std::byte{0}; });
  const bool multicast_gid = e.gid[0] == std::byte{0xff};
  const bool multicast_mac = (e.mac[0] & std::byte{1}) != std::byte{0};
  const bool usable = e.mtu_code >= 1 && e.mtu_code <= 5 && e.rmbe_index != 0 &&
                      e.alert_token != 0 && e.qpn > 1 && !no_gid && !multicast_gid &&
                      !multicast_mac;
  if (!usable) return diagnosis::configuration;
  // Element n ends at address + size * n.
  const std::uint64_t room = ~std::uint64_t{0} - e.rmb_address;
  if (size_of_code(e.size_code) * e.rmbe_index > room) return diagnosis::configuration;
  return std::nullopt;
}

std::optional<diagnosis> check_group(const v2_offer& wanted, const first_contact_info& chosen) {
  if (chosen.release == 0) return std::nullopt;
  if (chosen.max_connections < least_max_connections ||
      chosen.max_connections > wanted.max_connections) {
    return diagnosis::max_connections;
  }
  if (chosen.max_links < least_max_links ||
      chosen.max_links > std::min(most_max_links, wanted.max_links)) {
    return diagnosis::max_links;
  }
  return std::nullopt;
}

}  // namespace

std::optional<diagnosis> check_accept(const proposal& sent, const accept_confirm& received) {
  if (!offers(sent, received.path, received.version)) return diagnosis::mode_unsupported;
  const bool extended = received.version == 2 && received.first_contact();
  if (extended && received.contact().release > sent.v2x->release) {
    return diagnosis::release_mismatch;
  }
  if (received.version == 2 && !offers(sent, received.path, received.negotiated_eid())) {
    return diagnosis::no_ueid;
  }
  if (received.path == path_type::r) {
    if (extended) {
      if (const auto bad = check_group(*sent.v2x, received.contact())) return bad;
    }
    return check_usable(received.smcr);
  }
  if (received.version == 2) {
    const auto& gids = sent.v2x->smcd->gids;
    const bool known = std::any_of(gids.begin(), gids.end(), [&](const smcd_gid& g) {
      return g.chid == received.smcd.gid.chid;
    });
    if (!known) return diagnosis::no_smcd_v2_device;
  }
  return std::nullopt;
}

std::optional<diagnosis> check_confirm(const proposal& proposed, const accept_confirm& sent,
                                       const accept_confirm& received) {
  if (received.path != sent.path) return diagnosis::mode_unsupported;
  if (received.version != sent.version) return diagnosis::version_mismatch;
  const first_contact_info& mine = sent.contact();
  const first_contact_info& theirs = received.contact();
  if (received.version == 2) {
    // In version 1 the flag is Linux's own habit: RFC 7609 A.2.4 has none in a CONFIRM.
    if (received.first_contact() != sent.first_contact()) return diagnosis::out_of_sync;
    if (sent.first_contact() && theirs.release != mine.release) return diagnosis::release_mismatch;
    if (received.negotiated_eid() != sent.negotiated_eid()) return diagnosis::no_ueid;
  }
  if (!offers(proposed, received.path, received.version)) return diagnosis::mode_unsupported;
  if (received.path == path_type::r) {
    if (received.version == 2 && sent.first_contact() && mine.release > 0) {
      if (theirs.max_connections != mine.max_connections) return diagnosis::max_connections;
      if (theirs.max_links != mine.max_links) return diagnosis::max_links;
    }
    return check_usable(received.smcr);
  }
  if (received.version == 1) {
    if (proposed.native_ism->gid == received.smcd.gid.gid) return std::nullopt;
    return diagnosis::no_smcd_device;
  }
  const auto& gids = proposed.v2x->smcd->gids;
  if (received.smcd.gid.chid != sent.smcd.gid.chid ||
      std::find(gids.begin(), gids.end(), received.smcd.gid) == gids.end()) {
    return diagnosis::no_smcd_v2_device;
  }
  return std::nullopt;
}

}  // namespace smc::clc
