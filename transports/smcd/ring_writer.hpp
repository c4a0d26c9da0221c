#pragma once
// The writing side of a ring that the peer owns: free space, checked; bytes put in; the producer
// cursor published.
#include <cstddef>
#include <cstdint>

#include "smc/flow.hpp"
#include "smcd/ring.hpp"
#include "smcd/wake.hpp"

namespace smc::smcd {

/// Requires: `ring.header` stays mapped. Threading: one thread at a time.
/// Guarantees: never writes over bytes that the reader has not given back, whatever the reader
/// does.
class ring_writer {
 public:
  explicit ring_writer(const ring_memory& ring) noexcept : ring_(ring) {}

  const ring_memory& ring() const noexcept { return ring_; }
  /// Bytes that can be put in, as of the last look.
  std::uint64_t free() const noexcept {
    return detail::free_space(produced_, consumed_, ring_.size);
  }
  /// close_flag values of the reader's side, as of the last look.
  std::uint32_t reader_flags() const noexcept { return flags_; }

  /// Looks at the reader's line. False where the reader's cursor is impossible; then nothing
  /// changes any more.
  bool look() noexcept;

  /// The next byte's cursor, where it goes, and how far that is contiguous.
  detail::cursor next() const noexcept { return produced_; }
  std::byte* back() const noexcept { return ring_.place(produced_); }
  std::uint64_t contiguous() const noexcept { return ring_.contiguous(produced_); }

  /// The next `n` bytes (at most free()) are in place; nobody is told yet.
  void advance(std::size_t n) noexcept { produced_ += n; }
  /// Bytes in place that the reader doesn't know of.
  std::uint64_t unpublished() const noexcept { return detail::distance(published_, produced_); }
  /// Tells the reader.
  [[nodiscard]] wake_up publish() noexcept;
  /// Tells the reader that there will be no more (close_flag values; they are never taken back).
  [[nodiscard]] wake_up publish_flags(std::uint32_t flags) noexcept;

  /// For who waits for space.
  shared_word& armed() const noexcept { return ring_.header->producer.writer_armed; }
  shared_word& blocked() const noexcept { return ring_.header->producer.writer_blocked; }

 private:
  wake_up who_waits_for_bytes() const noexcept;

  ring_memory ring_;
  detail::cursor produced_ = 0;
  detail::cursor published_ = 0;  // what the reader knows
  detail::cursor consumed_ = 0;   // seen
  std::uint32_t flags_ = 0;
};

}  // namespace smc::smcd
