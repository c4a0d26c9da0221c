#pragma once
// CLC DECLINE (RFC 7609 A.2.5; codes and version 2 as Linux 6.12 has them).
#include <array>
#include <cstddef>
#include <cstdint>
#include <smc/error.hpp>
#include <span>
#include <vector>

#include "negotiation/clc_diagnosis.hpp"
#include "negotiation/clc_header.hpp"

namespace smc::clc {

struct decline {
  static constexpr std::uint8_t os_linux = 2;

  std::uint8_t version = 2;
  bool out_of_sync = false;
  std::array<std::byte, 8> peer_id{};  ///< zero in SMC-D groups
  diagnosis code = diagnosis::internal;
  std::uint8_t os = os_linux;              ///< version 2 only
  std::array<std::uint32_t, 4> further{};  ///< version 2 only

  bool operator==(const decline&) const = default;
};

/// Appends the message: 28 bytes in version 1, else 44.
/// Throws std::invalid_argument where version or system is out of range.
void encode(const decline& d, std::vector<std::byte>& out);

decoded<decline> decode_decline(std::span<const std::byte> message);

/// A DECLINE for a peer known to be this library: beside the nearest code its first further word
/// carries the exact reason, for which Linux has no code of its own in many cases.
decline decline_because(reason why) noexcept;

/// The reason a DECLINE gives, the exact one if it is there.
reason reason_of(const decline& d) noexcept;

}  // namespace smc::clc
