#pragma once
// A connection over two rings: one in our memory that we read, one in the peer's that we write.
#include <atomic>
#include <cstdint>
#include <memory>

#include "smc/counter.hpp"
#include "smcd/link_group.hpp"
#include "smcd/private_buffer.hpp"
#include "smcd/ring_reader.hpp"
#include "smcd/ring_writer.hpp"
#include "stream/transport.hpp"

namespace smc::smcd {

/// Made by link_group::connect(). The rules R1 to R9 of the seam hold; in a child of fork() every
/// function answers bad_descriptor and touches no shared memory.
class connection final : public detail::connection {
 public:
  ~connection() override;

  detail::transfer_result read_some(
      std::span<const asio::mutable_buffer> buffers) noexcept override;
  detail::transfer_result write_some(std::span<const asio::const_buffer> buffers) noexcept override;
  std::error_code prepare(std::size_t min, std::size_t max,
                          asio::mutable_buffer& room) noexcept override;
  std::error_code commit(std::size_t n) noexcept override;
  std::error_code data(std::size_t min, asio::const_buffer& bytes) noexcept override;
  std::error_code consume(std::size_t n) noexcept override;

  std::size_t available() noexcept override;
  std::error_code poll(detail::direction d, std::size_t min) noexcept override;
  bool arm(detail::direction d, std::size_t min, detail::waiter& who) noexcept override;
  void disarm(detail::direction d) noexcept override;
  void wait(detail::direction d, std::size_t min,
            std::chrono::milliseconds limit) noexcept override;

  std::error_code shutdown(asio::socket_base::shutdown_type what) noexcept override;
  void close() noexcept override;
  void abort() noexcept override;
  void cut() noexcept override;
  detail::transport_counters counters(detail::direction d) const noexcept override;

  link_group& group() noexcept { return *group_; }
  /// Whether the peer has mapped our ring and shown its token in it.
  bool peer_attached() const noexcept;

 private:
  friend class link_group;
  connection(std::shared_ptr<link_group> group, connection_slot& slot, const ring_memory& in,
             const ring_memory& out, std::uint64_t own_token, const ring_descriptor& peer) noexcept;

  bool stale() const noexcept;
  /// Nothing new will come from the peer.
  bool over() const noexcept { return cut_.load(std::memory_order_seq_cst) || group_->ended(); }
  /// Where bytes must be moved, the buffer for that: had now, or the connection is not made.
  bool reserve_send_buffer() noexcept {
    return mapped_ || out_buffer_.get(out_.ring().size) != nullptr;
  }
  /// none: `min` bytes are there. would_block: the writer was given what was freed. Else how the
  /// input ends.
  std::error_code input(std::uint64_t min) noexcept;
  /// none: `min` bytes fit. would_block, or why nothing can be written any more.
  std::error_code output(std::uint64_t min) noexcept;
  std::size_t write_pieces(std::span<const asio::const_buffer> buffers) noexcept;
  void put(const std::byte* from, std::size_t n) noexcept;
  /// Peer's violation: this connection ends, and the peer is told so.
  std::error_code fail() noexcept;
  void tell_peer(detail::direction moved, wake_up wake) noexcept;
  void tell_own_waiter(detail::direction d) noexcept;
  void end(bool throw_away) noexcept;

  // read half
  ring_reader in_;
  private_buffer in_buffer_;
  bool receive_shut_ = false;
  std::size_t shown_ = 0;  // bytes of the last data()
  detail::single_writer_counter in_woke_;
  detail::single_writer_counter in_quiet_;

  // write half, on lines of its own: two threads may use the two halves
  alignas(line_distance) ring_writer out_;
  private_buffer out_buffer_;
  std::size_t prepared_ = 0;
  bool prepared_apart_ = false;  // the prepared span is in out_buffer_
  detail::single_writer_counter out_woke_;
  detail::single_writer_counter out_quiet_;
  detail::single_writer_counter ring_full_;
  detail::single_writer_counter ring_too_small_;

  // both
  alignas(line_distance) const std::shared_ptr<link_group> group_;
  connection_slot& slot_;
  const ring_descriptor peer_;
  const std::uint64_t own_token_;
  const bool mapped_;
  const std::uint32_t fork_generation_;
  std::atomic<std::uint32_t> sent_flags_{0};
  std::atomic<bool> failed_{false};
  std::atomic<bool> cut_{false};
  bool closed_ = false;
};

}  // namespace smc::smcd
