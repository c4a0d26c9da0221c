#include "smcd/ring_writer.hpp"

#include "smc/close_state.hpp"
#include "smcd/prefetch.hpp"

namespace smc::smcd {

bool ring_writer::look() noexcept {
  const auto& line = ring_.header->consumer;
  if (free() != 0) {  // else those bytes are the reader's
    // What a short message writes. Not the cursor: a reader that looks at it would fetch it back.
    prefetch_to_write(back());
    prefetch_to_write(ring_.place(produced_ + cache_line));
  }
  flags_ |= line.flags.load(std::memory_order_seq_cst) & detail::close_flag::all;
  const auto now = line.cursor.load(std::memory_order_seq_cst);
  if (!detail::valid_consumer(consumed_, now, published_)) return false;
  consumed_ = now;
  return true;
}

wake_up ring_writer::publish() noexcept {
  if (published_ == produced_) return {};
  published_ = produced_;
  ring_.header->producer.cursor.store(produced_, std::memory_order_seq_cst);
  return who_waits_for_bytes();
}

wake_up ring_writer::publish_flags(std::uint32_t flags) noexcept {
  ring_.header->producer.flags.store(flags, std::memory_order_seq_cst);
  return who_waits_for_bytes();
}

wake_up ring_writer::who_waits_for_bytes() const noexcept {
  auto& reader = ring_.header->consumer;
  return who_waits(reader.reader_armed, reader.reader_blocked);
}

}  // namespace smc::smcd
