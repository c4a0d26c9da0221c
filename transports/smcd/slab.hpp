#pragma once
// A slab: one segment with rings of one size, their headers in front, mapped so that rings are
// contiguous.
//
//   file:      [headers][ring 0][ring 1] …
//   addresses: [headers][ring 0][ring 0][ring 1][ring 1] …
// The second copy of a ring is followed in the file, as at its address, by the next ring: the
// kernel joins them into one mapping, so that a slab costs one mapping per ring and one more. Where
// too many mappings exist, rings are mapped once.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <smc/error.hpp>

#include "smcd/ring.hpp"
#include "system/memory_budget.hpp"
#include "system/segment.hpp"

namespace smc::smcd {

class slab {
 public:
  /// Makes or attaches one. Exactly one of `value` and `why` is set.
  struct outcome {
    std::unique_ptr<slab> value;
    reason why = reason::none;
  };

  /// Memory for others to write into, taken from the budget.
  static outcome create(std::uint32_t id, std::size_t ring_size, std::size_t rings,
                        system::memory_budget& budget) noexcept;
  /// A peer's slab; sizes come from the peer and are checked. Only mappings count in the budget.
  static outcome attach(std::uint32_t id, std::size_t ring_size, std::size_t rings,
                        system::descriptor file, system::memory_budget& budget) noexcept;

  std::uint32_t id() const noexcept { return id_; }
  std::size_t rings() const noexcept { return rings_; }
  std::size_t ring_size() const noexcept { return ring_size_; }
  bool mirrored() const noexcept { return mirrored_; }
  const system::descriptor& file() const noexcept { return segment_.file(); }
  ring_memory ring(std::size_t index) const noexcept;

 private:
  slab(std::uint32_t id, std::size_t ring_size, std::size_t rings, system::segment memory) noexcept
      : id_(id), ring_size_(ring_size), rings_(rings), segment_(std::move(memory)) {}

  static outcome finish(std::unique_ptr<slab> made, system::memory_budget& budget) noexcept;
  std::error_code map_mirrored() noexcept;

  std::uint32_t id_;
  std::size_t ring_size_;
  std::size_t rings_;
  bool mirrored_ = false;
  system::budget_share
      bytes_;  // given back when the memory and its mappings are gone: declared first
  system::budget_share mappings_;
  system::segment segment_;
  system::mapping mapping_;
};

}  // namespace smc::smcd
