#pragma once
// A ring as one side sees it: where its bytes and its header are in this process.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "smc/cursor.hpp"
#include "smcd/layout.hpp"

namespace smc::smcd {

/// A contiguous copy. The one place that decides how bytes are moved.
inline void copy_bytes(void* to, const void* from, std::size_t n) noexcept {
  if (n != 0) std::memcpy(to, from, n);  // an empty buffer may be null
}

/// A ring in this process's address space. Owns nothing.
struct ring_memory {
  ring_header* header = nullptr;
  std::byte* bytes = nullptr;
  std::uint64_t size = 0;  ///< a power of two; the trusted copy
  bool mirrored = false;   ///< mapped twice in a row: any span of up to `size` bytes is contiguous

  /// Bytes from `at` on that lie contiguously.
  std::uint64_t contiguous(detail::cursor at) const noexcept {
    return mirrored ? size : detail::until_end(at, size);
  }
  std::byte* place(detail::cursor at) const noexcept { return bytes + detail::offset_in(at, size); }
  /// Copies into the ring, across its end where need be. `n` is at most the ring's size.
  void store(detail::cursor at, const std::byte* from, std::size_t n) const noexcept {
    const auto first = n <= contiguous(at) ? n : static_cast<std::size_t>(contiguous(at));
    copy_bytes(place(at), from, first);
    if (first != n) copy_bytes(bytes, from + first, n - first);
  }
  /// Copies out of the ring.
  void load(detail::cursor at, std::byte* to, std::size_t n) const noexcept {
    const auto first = n <= contiguous(at) ? n : static_cast<std::size_t>(contiguous(at));
    copy_bytes(to, place(at), first);
    if (first != n) copy_bytes(to + first, bytes, n - first);
  }
};

/// How a peer is told of a ring: everything that it needs to find, check and use it. Plain values,
/// no pointers.
struct ring_descriptor {
  std::uint32_t slab_id = 0;     ///< in the link group, of the ring's owner
  std::uint32_t slab_rings = 0;  ///< rings in that slab
  std::uint32_t ring_index = 0;
  std::uint32_t ring_generation = 0;
  std::uint64_t ring_size = 0;          ///< bytes
  std::uint64_t token = 0;              ///< must be found in the ring's header
  std::uint32_t connection_number = 0;  ///< the owner's; what entries in its inbox carry
  std::uint32_t connection_generation = 0;

  friend bool operator==(const ring_descriptor&, const ring_descriptor&) = default;
};

}  // namespace smc::smcd
