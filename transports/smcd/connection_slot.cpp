#include "smcd/connection_slot.hpp"

#include <new>

namespace smc::smcd {

slot_table::slot_table(std::size_t capacity)
    : capacity_(capacity), chunks_((capacity + chunk_size - 1) / chunk_size) {
  owned_.reserve(chunks_.size());
  free_.reserve(capacity + chunk_size);
}

bool slot_table::add_chunk() noexcept {
  if (made_ >= capacity_) return false;
  std::unique_ptr<slot_chunk> fresh(new (std::nothrow) slot_chunk);
  if (!fresh) return false;
  // The lowest number on top: a small group touches few lines.
  for (std::size_t i = chunk_size; i-- > 0;) {
    (*fresh)[i].number = static_cast<std::uint32_t>(made_ + i);
    if (made_ + i < capacity_) free_.push_back(&(*fresh)[i]);
  }
  chunks_[made_ / chunk_size].store(fresh.get(), std::memory_order_release);
  owned_.push_back(std::move(fresh));
  made_ += chunk_size;
  return true;
}

connection_slot* slot_table::acquire() noexcept {
  if (free_.empty() && !add_chunk()) return nullptr;
  auto* slot = free_.back();
  free_.pop_back();
  ++in_use_;
  return slot;
}

void slot_table::release(connection_slot& slot) noexcept {
  constexpr auto relaxed = std::memory_order_relaxed;
  slot.generation.store(slot.generation.load(relaxed) + 1, relaxed);
  slot.state.store(connection_slot::use::free, relaxed);
  slot.peer_ended = false;
  slot.pauses = 0;
  slot.own = ring_lease();
  slot.in = nullptr;
  slot.out = nullptr;
  for (auto& waiter : slot.waiters) waiter.store(nullptr, relaxed);
  for (auto& flag : slot.outstanding) flag.store(false, relaxed);
  --in_use_;
  free_.push_back(&slot);
}

connection_slot* slot_table::find(std::uint32_t number) const noexcept {
  if (number >= capacity_) return nullptr;
  auto* chunk = chunks_[number / chunk_size].load(std::memory_order_acquire);
  return chunk == nullptr ? nullptr : &(*chunk)[number % chunk_size];
}

}  // namespace smc::smcd
