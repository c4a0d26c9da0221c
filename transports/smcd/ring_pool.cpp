#include "smcd/ring_pool.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "system/fork.hpp"

namespace smc::smcd {

namespace {

// A slab larger than this would reserve much for connections that may never come.
constexpr std::size_t largest_slab_bytes = std::size_t{64} << 20;

// Everything but the fixed part starts from zero; the owner writes it while no peer knows of the
// connection.
void start_header(ring_header& header, std::uint64_t size, std::uint64_t token) noexcept {
  constexpr auto relaxed = std::memory_order_relaxed;
  const auto generation = header.identity.generation.load(relaxed) + 1;
  header.identity.magic.store(ring_magic, relaxed);
  header.identity.version.store(layout_version, relaxed);
  header.identity.generation.store(generation, relaxed);
  header.identity.token.store(token, relaxed);
  header.identity.ring_size.store(size, relaxed);
  header.producer.flags.store(0, relaxed);
  header.producer.writer_armed.store(0, relaxed);
  header.producer.writer_blocked.store(0, relaxed);
  header.producer.switch_at.store(0, relaxed);
  header.producer.attached.store(0, relaxed);
  header.producer.cursor.store(0, relaxed);
  header.consumer.flags.store(0, relaxed);
  header.consumer.reader_armed.store(0, relaxed);
  header.consumer.reader_blocked.store(0, relaxed);
  header.consumer.cursor.store(0, std::memory_order_seq_cst);
}

}  // namespace

ring_lease::ring_lease(ring_pool* pool, slab* of, std::uint32_t index) noexcept
    : pool_(pool), slab_(of), index_(index), fork_generation_(system::fork_generation()) {}

ring_lease::~ring_lease() {
  if (pool_ != nullptr && fork_generation_ == system::fork_generation()) {
    pool_->take_back(slab_, index_);
  }
}

void ring_lease::swap(ring_lease& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(slab_, other.slab_);
  std::swap(index_, other.index_);
  std::swap(fork_generation_, other.fork_generation_);
}

ring_pool::outcome ring_pool::lend(std::size_t ring_size, std::uint64_t token) noexcept {
  if (!detail::is_ring_size(ring_size)) return {{}, reason::no_memory};
  std::lock_guard lock(mutex_);
  auto& from = classes_[detail::size_class_of(ring_size)];
  if (from.free.empty()) {
    if (const auto why = grow(from, ring_size); why != reason::none) return {{}, why};
  }
  const auto ring = from.free.back();
  from.free.pop_back();
  start_header(*ring.from->ring(ring.index).header, ring_size, token);
  return {ring_lease(this, ring.from, ring.index), reason::none};
}

reason ring_pool::grow(size_class& which, std::size_t ring_size) noexcept {
  // Rounded down to as many rings as fit with their headers, at least one.
  std::size_t rings = std::max<std::size_t>(1, which.next_slab_bytes / ring_size);
  for (;;) {
    auto made = slab::create(static_cast<std::uint32_t>(slabs_.size()), ring_size, rings, budget_);
    if (!made.value) {
      const bool less_may_do = made.why == reason::memory_limit || made.why == reason::no_memory ||
                               made.why == reason::mapping_limit;
      if (rings == 1 || !less_may_do) return made.why;
      rings /= 2;
      continue;
    }
    try {
      // Room for all rings of the class at once: taking one back never allocates.
      which.free.reserve(which.free.capacity() + rings);
      peer_has_.reserve(slabs_.size() + 1);
      slabs_.push_back(std::move(made.value));
    } catch (const std::bad_alloc&) {
      return reason::no_memory;
    }
    peer_has_.push_back(false);
    for (std::size_t i = rings; i-- > 0;) {
      which.free.push_back({slabs_.back().get(), static_cast<std::uint32_t>(i)});
    }
    which.next_slab_bytes = std::min(which.next_slab_bytes * 2, largest_slab_bytes);
    return reason::none;
  }
}

void ring_pool::take_back(slab* from, std::uint32_t index) noexcept {
  std::lock_guard lock(mutex_);
  classes_[detail::size_class_of(from->ring_size())].free.push_back({from, index});
}

bool ring_pool::peer_has(const slab& which) const noexcept {
  std::lock_guard lock(mutex_);
  return peer_has_[which.id()];
}

void ring_pool::set_peer_has(std::uint32_t slab_id) noexcept {
  std::lock_guard lock(mutex_);
  if (slab_id < peer_has_.size()) peer_has_[slab_id] = true;
}

std::size_t ring_pool::slab_count() const noexcept {
  std::lock_guard lock(mutex_);
  return slabs_.size();
}

}  // namespace smc::smcd
