#pragma once
// CLC ACCEPT and CONFIRM, which have one layout per path and version (RFC 7609 A.2.3 and A.2.4;
// SMC-D and version 2 as Linux 6.12 speaks them).
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "negotiation/clc_first_contact.hpp"
#include "negotiation/clc_header.hpp"
#include "negotiation/clc_identity.hpp"

namespace smc::clc {

/// One end of an SMC-D connection: where its peer writes.
struct smcd_endpoint {
  smcd_gid gid;             ///< CHID and extended GID: version 2 only
  std::uint64_t token = 0;  ///< of the DMB; never 0
  std::uint8_t dmbe_index = 0;
  std::uint8_t size_code = 0;  ///< 0…15, see size_of_code
  std::uint32_t link_id = 0;   ///< link group id of the sender, opaque
  eid negotiated_eid;          ///< version 2 only
  bool first_contact = false;
  first_contact_info contact;  ///< means something with first_contact and version 2 only

  bool operator==(const smcd_endpoint&) const = default;
};

/// One end of an SMC-R connection: the sender's side of the link, and where its peer writes.
struct smcr_endpoint {
  /// In a CONFIRM of version 2's first contact. Linux sends one or two.
  static constexpr std::size_t max_gids = 8;

  std::array<std::byte, 8> peer_id{};
  std::array<std::byte, 16> gid{};
  std::array<std::byte, 6> mac{};
  std::uint32_t qpn = 0;  ///< 24 bits
  std::uint32_t rkey = 0;
  std::uint8_t rmbe_index = 1;  ///< from 1 on
  std::uint32_t alert_token = 0;
  std::uint8_t size_code = 0;  ///< 0…15, see size_of_code
  std::uint8_t mtu_code = 0;   ///< 1…5: 256…4096 bytes
  std::uint64_t rmb_address = 0;
  std::uint32_t psn = 0;  ///< 24 bits
  eid negotiated_eid;     ///< version 2 only
  bool first_contact = false;
  first_contact_info contact;  ///< means something with first_contact and version 2 only
  std::vector<std::array<std::byte, 16>> gids;  ///< with those, in a CONFIRM

  bool operator==(const smcr_endpoint&) const = default;
};

struct accept_confirm {
  message_type type = message_type::accept;  ///< or confirm
  std::uint8_t version = 2;                  ///< or 1
  path_type path = path_type::d;             ///< which of the following is meant; the other is bare
  smcd_endpoint smcd;
  smcr_endpoint smcr;

  bool first_contact() const noexcept {
    return path == path_type::d ? smcd.first_contact : smcr.first_contact;
  }
  const first_contact_info& contact() const noexcept {
    return path == path_type::d ? smcd.contact : smcr.contact;
  }
  const eid& negotiated_eid() const noexcept {
    return path == path_type::d ? smcd.negotiated_eid : smcr.negotiated_eid;
  }

  bool operator==(const accept_confirm&) const = default;
};

inline constexpr std::uint8_t max_size_code = 15;

/// The smallest code n with 16384 << n >= `bytes`; 15 (512 MiB) for everything larger.
constexpr std::uint8_t size_code_of(std::uint64_t bytes) noexcept {
  std::uint8_t code = 0;
  while (code < max_size_code && (std::uint64_t{16384} << code) < bytes) ++code;
  return code;
}
constexpr std::uint64_t size_of_code(std::uint8_t code) noexcept {
  return std::uint64_t{16384} << (code < max_size_code ? code : max_size_code);
}

/// Appends the message. Throws std::invalid_argument where a field is out of its range, or one that
/// the path or the version demands is missing.
void encode(const accept_confirm& m, std::vector<std::byte>& out);

/// Decodes every form. Fields of SMC-R that no connection can be made with are not refused here but
/// declined (see clc_agreement.hpp).
decoded<accept_confirm> decode_accept_confirm(std::span<const std::byte> message);

}  // namespace smc::clc
