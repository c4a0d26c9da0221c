#include "smcd/ring_reader.hpp"

#include "smc/close_state.hpp"
#include "smcd/prefetch.hpp"

namespace smc::smcd {

bool ring_reader::look() noexcept {
  const auto& line = ring_.header->producer;
  prefetch_to_read(front());
  prefetch_to_read(ring_.place(consumed_ + cache_line));
  // Flags first: the writer sets them after its last cursor, so that the cursor read behind them is
  // the last one.
  const auto flags = line.flags.load(std::memory_order_seq_cst) & detail::close_flag::all;
  const auto now = line.cursor.load(std::memory_order_seq_cst);
  looked_ = true;
  // After the end of the stream nothing is added and no flag is taken back.
  const bool over = detail::close_state::sending_over(flags_);
  if (now != produced_) {
    if (over) return true;
    if (!detail::valid_producer(produced_, now, published_, ring_.size)) return false;
    produced_ = now;
  }
  flags_ |= flags;
  return true;
}

wake_up ring_reader::consume(std::size_t n) noexcept {
  consumed_ += n;
  return publish_if_due(false);
}

wake_up ring_reader::drained() noexcept { return publish_if_due(true); }

wake_up ring_reader::publish_if_due(bool drained) noexcept {
  auto& writer = ring_.header->producer;
  // Whether the writer waits is asked only where its line was just fetched: it lies beside the
  // cursor that the writer keeps writing. A writer that begins to wait later is told at the next
  // quarter, or when the reader can't go on.
  const bool waits = looked_ && (writer.writer_armed.load(std::memory_order_relaxed) != 0 ||
                                 writer.writer_blocked.load(std::memory_order_relaxed) != 0);
  looked_ = false;
  if (!detail::should_publish({published_, consumed_, drained, waits}, ring_.size)) return {};
  published_ = consumed_;
  ring_.header->consumer.cursor.store(consumed_, std::memory_order_seq_cst);
  return who_waits(writer.writer_armed, writer.writer_blocked);
}

}  // namespace smc::smcd
