#pragma once
// Between the cursors on the wire (wrap of 16 bits, count within the ring) and those that the rest
// of the library calculates with (smc/cursor.hpp: bytes since the start of the connection).
//
// All cursors of a peer pass received_producer() or received_consumer(). The kernel checks neither
// that a count lies in the ring nor that an advance fits it; a forged producer cursor would make
// the reader copy more than the ring holds, a forged consumer cursor the writer overwrite what was
// not read.
#include <bit>
#include <cstdint>

#include "smc/cursor.hpp"
#include "smcr/wire/cdc.hpp"

namespace smc::cdc {

/// `ring_size` is a power of two, as all of SMC's are.
constexpr cursor on_wire(detail::cursor c, std::uint64_t ring_size) noexcept {
  return {static_cast<std::uint16_t>(c >> std::countr_zero(ring_size)),
          static_cast<std::uint32_t>(detail::offset_in(c, ring_size))};
}

enum class verdict : std::uint8_t {
  taken,     ///< moves on, or stays
  outdated,  ///< goes back: the message came late, the cursor is to be ignored
  forged     ///< beyond what a correct peer can write: the connection is to be aborted
};

struct received_cursor {
  verdict what = verdict::forged;
  detail::cursor value = 0;  ///< the held one unless taken
};

namespace detail_of_cursors {

// Where the received cursor lies in the count of the held one. A peer may pass the end of the ring
// once between two messages that were seen; being one ring behind at most, it is outdated.
constexpr received_cursor placed(detail::cursor held, cursor received,
                                 std::uint64_t ring_size) noexcept {
  if (received.count >= ring_size) return {verdict::forged, held};
  const auto place = std::countr_zero(ring_size);
  const auto wraps = static_cast<std::int16_t>(
      static_cast<std::uint16_t>(received.wrap - static_cast<std::uint16_t>(held >> place)));
  if (wraps < 0) return {verdict::outdated, held};
  if (wraps > 1) return {verdict::forged, held};
  const detail::cursor now =
      (((held >> place) + static_cast<std::uint64_t>(wraps)) << place) + received.count;
  if (now < held) return {verdict::outdated, held};
  return {verdict::taken, now};
}

}  // namespace detail_of_cursors

/// The peer's producer cursor, in our ring of `ring_size` bytes. `published_consumer` is the
/// consumer cursor that the peer was told last.
constexpr received_cursor received_producer(detail::cursor held, cursor received,
                                            detail::cursor published_consumer,
                                            std::uint64_t ring_size) noexcept {
  const auto r = detail_of_cursors::placed(held, received, ring_size);
  if (r.what == verdict::taken &&
      !detail::valid_producer(held, r.value, published_consumer, ring_size)) {
    return {verdict::forged, held};
  }
  return r;
}

/// The peer's consumer cursor, in its own ring of `ring_size` bytes. `written` is our producer
/// cursor there.
constexpr received_cursor received_consumer(detail::cursor held, cursor received,
                                            detail::cursor written,
                                            std::uint64_t ring_size) noexcept {
  const auto r = detail_of_cursors::placed(held, received, ring_size);
  if (r.what == verdict::taken && !detail::valid_consumer(held, r.value, written)) {
    return {verdict::forged, held};
  }
  return r;
}

}  // namespace smc::cdc
