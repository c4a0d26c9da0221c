#pragma once
// When cursors are told to the peer. Telling costs a cache line, and maybe a wake-up; not telling
// costs standstill.
#include <algorithm>
#include <cstdint>

#include "smc/cursor.hpp"

namespace smc::detail {

/// What the reader knows when it has consumed something, or found that it can't go on.
struct consumption {
  cursor published = 0;       ///< consumer cursor that the peer was told
  cursor consumed = 0;        ///< own consumer cursor
  bool drained = false;       ///< the reader can't go on with what there is
  bool writer_waits = false;  ///< the writer announced that it waits for space
};

/// Whether the reader publishes its consumer cursor now: a quarter of the ring was freed since the
/// last time, or somebody stands still. Never per read: that would cost a cache line each.
constexpr bool should_publish(const consumption& c, std::uint64_t ring_size) noexcept {
  const auto freed = distance(c.published, c.consumed);
  return freed != 0 && (c.drained || c.writer_waits || freed >= ring_size / 4);
}

/// In a transfer as large as the ring, writer and reader would take turns: each publishes in steps
/// of this size, so that the other can begin. Small rings have smaller steps.
constexpr std::uint64_t publish_step(std::uint64_t ring_size) noexcept {
  constexpr std::uint64_t largest = 32 * 1024;
  return std::max<std::uint64_t>(1, std::min(largest, ring_size / 4));
}

}  // namespace smc::detail
