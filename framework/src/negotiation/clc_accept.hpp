#pragma once
// CLC ACCEPT and CONFIRM, which have one layout (Linux 6.12; SMC-D version 2).
//
// SMC-R and version 1 are recognised and answered with decode_error::unsupported: a client that
// does not offer them declines with diagnosis::mode_unsupported.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "negotiation/clc_diagnosis.hpp"
#include "negotiation/clc_header.hpp"
#include "negotiation/clc_identity.hpp"
#include "negotiation/clc_proposal.hpp"

namespace smc::clc {

/// What only the first contact of two peers carries.
struct first_contact_info {
  static constexpr std::uint8_t os_linux = 2;

  bool direct = false;  ///< R only: the peers are on one subnet
  std::uint8_t os = os_linux;
  std::uint8_t release = newest_release;
  std::string host_name;  ///< printable ASCII, at most 32; empty where the peer's was not
  std::uint8_t max_connections = 0;  ///< R only
  std::uint8_t max_links = 0;        ///< R only
  std::uint16_t features = 1;        ///< bit 0: emulated ISM

  bool operator==(const first_contact_info&) const = default;
};

/// One end of an SMC-D connection: where its peer writes.
struct smcd_endpoint {
  smcd_gid gid;
  std::uint64_t token = 0;  ///< of the DMB; never 0
  std::uint8_t dmbe_index = 0;
  std::uint8_t size_code = 0;  ///< 0…15, see size_of_code
  std::uint32_t link_id = 0;   ///< link group id of the sender, opaque
  eid negotiated_eid;
  bool first_contact = false;
  first_contact_info contact;  ///< means something with first_contact only

  bool operator==(const smcd_endpoint&) const = default;
};

struct accept_confirm {
  message_type type = message_type::accept;  ///< or confirm
  std::uint8_t version = 2;
  path_type path = path_type::d;
  smcd_endpoint smcd;

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

/// Appends the message. Throws std::invalid_argument where it is not SMC-D version 2, or its token
/// or EID is missing, or its size code or release is out of range.
void encode(const accept_confirm& m, std::vector<std::byte>& out);

decoded<accept_confirm> decode_accept_confirm(std::span<const std::byte> message);

/// What a client has to decline an ACCEPT with, judged by its own PROPOSAL (C16, C20, C21, C29);
/// nothing: the ACCEPT is in order.
std::optional<diagnosis> check_accept(const proposal& sent, const accept_confirm& received);

/// The same for a server that receives a CONFIRM (C16 to C18, C20, C21, C29).
std::optional<diagnosis> check_confirm(const proposal& proposed, const accept_confirm& sent,
                                       const accept_confirm& received);

}  // namespace smc::clc
