#pragma once
// Arithmetic on cursors: 64-bit counts of bytes since the start of the connection. The place in the
// ring is the cursor modulo the ring's size, a power of two. Cursors do not wrap in practice, and
// it would do no harm if they did.
//
// Every cursor that a peer wrote passes one of the two checks here before it is used.
#include <cstddef>
#include <cstdint>

namespace smc::detail {

using cursor = std::uint64_t;

/// Bytes from `from` to `to`.
constexpr std::uint64_t distance(cursor from, cursor to) noexcept { return to - from; }

/// May a peer's producer cursor go from `held` to `now`? It never goes back, and never beyond the
/// ring that begins at `published_consumer`, the consumer cursor that the peer was told (it can't
/// know of more free space).
constexpr bool valid_producer(cursor held, cursor now, cursor published_consumer,
                              std::uint64_t ring_size) noexcept {
  const auto window = distance(published_consumer, now);
  return window <= ring_size && window >= distance(published_consumer, held);
}

/// May a peer's consumer cursor go from `held` to `now`? It never goes back, and never beyond what
/// was `published`.
constexpr bool valid_consumer(cursor held, cursor now, cursor published) noexcept {
  return distance(held, now) <= distance(held, published);
}

/// Free bytes of a ring.
constexpr std::uint64_t free_space(cursor producer, cursor consumer,
                                   std::uint64_t ring_size) noexcept {
  return ring_size - distance(consumer, producer);
}

/// Place of a cursor in a ring whose size is a power of two.
constexpr std::uint64_t offset_in(cursor c, std::uint64_t ring_size) noexcept {
  return c & (ring_size - 1);
}

/// Bytes from a cursor to the end of the ring.
constexpr std::uint64_t until_end(cursor c, std::uint64_t ring_size) noexcept {
  return ring_size - offset_in(c, ring_size);
}

}  // namespace smc::detail
