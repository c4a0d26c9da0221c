#pragma once
// The first contact extension of ACCEPT and CONFIRM: what two peers tell each other once, when they
// make a link group (version 2, Linux 6.12).
#include <cstddef>
#include <cstdint>
#include <string>

#include "negotiation/byte_cursor.hpp"
#include "negotiation/clc_header.hpp"

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

/// Of the extension without the list of GIDs; SMC-D's of release 0 is shorter.
inline constexpr std::size_t first_contact_size = 52;
inline constexpr std::size_t first_contact_size_0 = 36;

/// `size`: one of the two above; the fields of later releases are zero in release 0.
void write_first_contact(negotiation::byte_writer<std::endian::big>& out,
                         const first_contact_info& info, std::size_t size);
first_contact_info read_first_contact(negotiation::byte_reader<std::endian::big>& in,
                                      std::size_t size);

}  // namespace smc::clc
