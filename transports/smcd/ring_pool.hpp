#pragma once
// The rings that a link group's peer writes into: lent to connections, taken back, never handed to
// another peer.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <smc/error.hpp>
#include <vector>

#include "smc/size_class.hpp"
#include "smcd/slab.hpp"

namespace smc::smcd {

class ring_pool;

/// A ring on loan. Goes back to its pool when destroyed: only when the peer can't write any more.
/// Move-only; the pool must outlive it. In a child of fork() it does nothing.
class ring_lease {
 public:
  ring_lease() noexcept = default;
  ring_lease(ring_lease&& other) noexcept { swap(other); }
  ring_lease& operator=(ring_lease&& other) noexcept {
    ring_lease moved(static_cast<ring_lease&&>(other));
    swap(moved);
    return *this;
  }
  ~ring_lease();

  explicit operator bool() const noexcept { return pool_ != nullptr; }
  ring_memory memory() const noexcept { return slab_->ring(index_); }
  const slab& from() const noexcept { return *slab_; }
  std::uint32_t index() const noexcept { return index_; }

 private:
  friend class ring_pool;
  ring_lease(ring_pool* pool, slab* of, std::uint32_t index) noexcept;
  void swap(ring_lease& other) noexcept;

  ring_pool* pool_ = nullptr;
  slab* slab_ = nullptr;
  std::uint32_t index_ = 0;
  std::uint32_t fork_generation_ = 0;
};

/// Requires: outlives its leases.
/// Guarantees: lending a free ring is O(1), without a system call. When none is free a slab is
/// made, about 256 KiB the first time, then twice as large each time; under pressure as small as
/// one ring. Threading: any thread.
class ring_pool {
 public:
  explicit ring_pool(system::memory_budget& budget) noexcept : budget_(budget) {}
  ring_pool(const ring_pool&) = delete;
  ring_pool& operator=(const ring_pool&) = delete;

  struct outcome {
    ring_lease value;
    reason why = reason::none;  ///< memory_limit, no_memory, mapping_limit, descriptor_limit, …
  };
  /// A ring of exactly this size (one of the size classes). Its header is as new, with the next
  /// generation, and the given token.
  outcome lend(std::size_t ring_size, std::uint64_t token) noexcept;

  /// Whether the peer is known to have mapped this slab, so that its descriptor need not be sent
  /// again.
  bool peer_has(const slab& which) const noexcept;
  void set_peer_has(std::uint32_t slab_id) noexcept;

  std::size_t slab_count() const noexcept;

 private:
  friend class ring_lease;

  struct free_ring {
    slab* from;
    std::uint32_t index;
  };
  struct size_class {
    std::vector<free_ring> free;
    std::size_t next_slab_bytes = 256 * 1024;
  };

  reason grow(size_class& which, std::size_t ring_size) noexcept;
  void take_back(slab* from, std::uint32_t index) noexcept;

  system::memory_budget& budget_;
  mutable std::mutex mutex_;
  std::array<size_class, detail::size_class_count> classes_;
  std::vector<std::unique_ptr<slab>> slabs_;  // place = id
  std::vector<bool> peer_has_;
};

}  // namespace smc::smcd
