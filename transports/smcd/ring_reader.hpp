#pragma once
// The reading side of a ring: what the writer published, checked; what was consumed, published when
// it matters.
#include <cstddef>
#include <cstdint>
#include <span>

#include "smc/flow.hpp"
#include "smcd/prefetch.hpp"
#include "smcd/ring.hpp"
#include "smcd/wake.hpp"
#include "smcd/watch_list.hpp"

namespace smc::smcd {

/// Requires: `ring.header` stays mapped. Threading: one thread at a time.
/// Guarantees: never looks beyond the ring, whatever the writer does; copies nothing twice.
class ring_reader {
 public:
  explicit ring_reader(const ring_memory& ring) noexcept : ring_(ring) {}

  const ring_memory& ring() const noexcept { return ring_; }
  /// Bytes that were seen and not consumed.
  std::uint64_t available() const noexcept { return detail::distance(consumed_, produced_); }
  /// close_flag values of the writer, as of the last look. All bytes before them were seen in the
  /// same look.
  std::uint32_t writer_flags() const noexcept { return flags_; }

  /// Looks at the writer's line. False where the writer's cursor is impossible; then nothing
  /// changes any more.
  bool look() noexcept;
  /// Copies out without consuming. `n` is at most available().
  void copy(std::byte* to, std::size_t n) const noexcept { ring_.load(consumed_, to, n); }
  /// Where the next bytes are.
  const std::byte* front() const noexcept { return ring_.place(consumed_); }
  /// Bytes that can be had in one piece there.
  std::uint64_t contiguous() const noexcept { return ring_.contiguous(consumed_); }

  /// What a look must differ from to be news.
  seen_of_ring seen() const noexcept {
    return {&ring_.header->producer,
            {ring_.place(produced_), ring_.place(produced_ + cache_line)},
            produced_,
            flags_};
  }

  /// Gives the next `n` bytes back, and tells the writer when that is due.
  [[nodiscard]] wake_up consume(std::size_t n) noexcept;
  /// The reader can't go on: the writer gets whatever was freed.
  [[nodiscard]] wake_up drained() noexcept;

  /// For who waits for bytes.
  shared_word& armed() const noexcept { return ring_.header->consumer.reader_armed; }
  shared_word& blocked() const noexcept { return ring_.header->consumer.reader_blocked; }

 private:
  wake_up publish_if_due(bool drained) noexcept;

  ring_memory ring_;
  detail::cursor produced_ = 0;  // seen
  detail::cursor consumed_ = 0;
  detail::cursor published_ = 0;  // consumer cursor that the writer knows
  std::uint32_t flags_ = 0;
  bool looked_ = false;  // since the last consumption: then the writer's line is near
};

}  // namespace smc::smcd
