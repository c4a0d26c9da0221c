#pragma once
// What a link group keeps of a connection: it outlives the connection object, because the ring may
// be lent again only when the peer has closed too.
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "smcd/ring_pool.hpp"
#include "stream/transport.hpp"

namespace smc::smcd {

/// Type-stable: a slot is never destroyed before its group, so that an entry may name any number at
/// any time.
///
/// Who touches what: `waiters`, `outstanding` and `pauses` the loop's thread (loop mode), or
/// anybody under the group's lock (shared mode); they are atomic only so that a mistake of a peer's
/// or a caller's is no undefined behaviour. The rest is changed under the group's lock.
struct connection_slot {
  enum class use : std::uint8_t {
    free,
    offered,  ///< the ring was offered to the peer, there is no connection yet
    open,     ///< a connection object uses it
    closing   ///< closed here; the ring is kept until the peer has closed too
  };

  std::uint32_t number = 0;
  std::atomic<std::uint32_t> generation{0};
  std::atomic<use> state{use::free};
  unsigned pauses = 0;      ///< the next reads that pause before they look (watch_list.hpp)
  bool peer_ended = false;  ///< its last entry was taken
  ring_lease own;
  ring_header* in = nullptr;   ///< of the ring that we read
  ring_header* out = nullptr;  ///< of the ring that we write; null while offered
  std::array<std::atomic<detail::waiter*>, 2> waiters{};
  std::array<std::atomic<bool>, 2>
      outstanding{};  ///< armed, and the entry was not taken yet (wake.hpp)

  std::atomic<detail::waiter*>& waiter_of(detail::direction d) noexcept {
    return waiters[static_cast<std::size_t>(d)];
  }
  std::atomic<bool>& outstanding_of(detail::direction d) noexcept {
    return outstanding[static_cast<std::size_t>(d)];
  }
  /// The word that the peer clears before it pushes.
  shared_word& armed_word(detail::direction d) const noexcept {
    return d == detail::direction::read ? in->consumer.reader_armed : out->producer.writer_armed;
  }
  /// Asks the peer for an entry (wake.hpp), unless one is outstanding; to be followed by a look.
  void arm(detail::direction d) noexcept {
    auto& asked = outstanding_of(d);
    if (asked.load(std::memory_order_relaxed)) return;
    asked.store(true, std::memory_order_relaxed);
    armed_word(d).store(1, std::memory_order_seq_cst);
  }
  /// An entry of this direction may still come: the peer has cleared the word, and we have not
  /// taken the entry.
  bool entry_on_its_way(detail::direction d) noexcept {
    return out != nullptr && outstanding_of(d).load(std::memory_order_relaxed) &&
           armed_word(d).load(std::memory_order_seq_cst) == 0;
  }
};

/// The slots of a group: numbers 0 … capacity − 1, made in chunks as they are needed.
/// Threading: find() any thread; the rest under the group's lock.
class slot_table {
 public:
  explicit slot_table(std::size_t capacity);

  /// A free slot, or nullptr: the group is full, or there is no memory.
  connection_slot* acquire() noexcept;
  /// Its number may be used again, with the next generation.
  void release(connection_slot& slot) noexcept;
  /// The slot of a number that came from a peer; nullptr where there is none.
  connection_slot* find(std::uint32_t number) const noexcept;

  std::size_t in_use() const noexcept { return in_use_; }
  std::size_t capacity() const noexcept { return capacity_; }

  template <typename F>
  void for_each(F&& f) {
    for (const auto& pointer : chunks_) {
      auto* chunk = pointer.load(std::memory_order_acquire);
      if (chunk == nullptr) return;
      for (auto& slot : *chunk) {
        if (slot.state.load(std::memory_order_relaxed) != connection_slot::use::free) f(slot);
      }
    }
  }

 private:
  static constexpr std::size_t chunk_size = 64;
  using slot_chunk = std::array<connection_slot, chunk_size>;

  bool add_chunk() noexcept;

  std::size_t capacity_;
  std::size_t made_ = 0;
  std::size_t in_use_ = 0;
  std::vector<std::atomic<slot_chunk*>> chunks_;
  std::vector<std::unique_ptr<slot_chunk>> owned_;
  std::vector<connection_slot*> free_;
};

}  // namespace smc::smcd
