#pragma once
// What SMC-D says beside CLC, whose fields are too small for it (a 3-bit size code, 32-bit
// cursors). Own format, little-endian, fixed length; the peer is another process of this host with
// this layout version.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "smcd/ring.hpp"

namespace smc::smcd {

/// Beside PROPOSAL.
struct proposal_extension {
  bool maps_send_buffer = true;
  std::uint64_t send_size = 0;  ///< wishes of socket options, bytes; 0: none
  std::uint64_t receive_size = 0;
};

/// Beside ACCEPT and CONFIRM. Descriptors, by position: inbox and doorbell if `introduces`, the
/// slab if `with_slab`.
struct ring_extension {
  std::uint32_t group = 0;  ///< chosen by the server, on this link
  bool introduces = false;
  bool with_slab = false;
  std::uint64_t send_size = 0;    ///< wish of the sender for the ring of the other side
  std::uint64_t known_slabs = 0;  ///< bit n: the receiver's slab n is mapped here
  ring_descriptor ring;
};

std::vector<std::byte> encode(const proposal_extension& e);
std::vector<std::byte> encode(const ring_extension& e);
/// Nothing for another length or layout version.
std::optional<proposal_extension> decode_proposal(std::span<const std::byte> bytes);
std::optional<ring_extension> decode_ring(std::span<const std::byte> bytes);

}  // namespace smc::smcd
