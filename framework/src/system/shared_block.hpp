#pragma once
// One piece of shared memory, mapped whole and accounted for.
#include <cstddef>
#include <smc/error.hpp>

#include "system/memory_budget.hpp"
#include "system/segment.hpp"

namespace smc::system {

/// Ours, which a peer writes into, or a peer's, which we do. Move-only; empty until create() or
/// attach() succeeded.
class shared_block {
 public:
  /// Makes one: its bytes and its mapping are taken from `budget`.
  reason create(const char* name, std::size_t size, memory_budget& budget) noexcept;
  /// Maps one that a peer sent: the bytes are the peer's, the mapping is ours. protocol_error
  /// unless it is sealed, whole and of that size.
  reason attach(descriptor file, std::size_t size, memory_budget& budget) noexcept;

  const descriptor& file() const noexcept { return memory_.file(); }
  std::byte* data() const noexcept { return mapping_.data(); }

 private:
  reason map(result<segment> memory) noexcept;

  budget_share share_;
  segment memory_;
  mapping mapping_;
};

}  // namespace smc::system
