#pragma once
// The seam between the stream (built once, above) and what carries its bytes (below).
//
// A transport knows no completion tokens, handlers, executors or timers. It gives two things, "try
// now" and "tell me once when it may work", and its part of a handshake. Rules, quoted by the
// conformance tests:
//
//  - R1: Calls never block, except wait(). What can't be done now answers would_block and changes
//    nothing.
//  - R2: A transfer that moved at least one byte is a success; its count is exact. An error moved
//    none.
//  - R3: Order: bytes, then end of stream (asio::error::eof, again and again), then a reset (again
//    and again, too: that a stream tells it once is the stream's affair). Neither end of stream nor
//    reset overtakes a byte; a published end of stream wins over a later reset.
//  - R4: arm() answers false where the direction can make progress (or would report an error) now:
//    then the waiter is not kept. Otherwise the waiter is told at most once, from any thread, maybe
//    spuriously; no wake-up is lost between a try that answered would_block and the arm() after it.
//  - R5: After disarm() returns the waiter is not told any more on account of earlier arms, unless
//    a call to it was already under way.
//  - R6: One thread at a time per connection and direction; the two directions may be used by two
//    threads.
//  - R7: A write counts only bytes that reach the peer without further help of this process.
//  - R8: close() with unread input resets the peer; without, the peer reads the rest and then eof.
//  - R9: Nothing from the peer is trusted: a violation is connection_reset for this connection,
//    never undefined.
#include <asio/buffer.hpp>
#include <asio/ip/tcp.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <smc/detail/transfer_result.hpp>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

namespace smc::detail {

enum class direction : unsigned char { read, write };

/// Who waits for a connection to make progress.
class waiter {
 public:
  /// The armed direction may make progress now. Any thread; must not call back into the connection.
  virtual void ready() noexcept = 0;
  /// Keeps the waiter alive over a call of ready() made without the connection's lock.
  virtual std::shared_ptr<void> keep_alive() noexcept = 0;

 protected:
  ~waiter() = default;
};

/// What a transport counted for one direction of one connection (design: statistics).
struct transport_counters {
  std::uint64_t buffer_full_remote = 0;
  std::uint64_t buffer_too_small_remote = 0;
  std::size_t ring_size = 0;  ///< bytes; 0 where there is no ring
  std::uint64_t wakeups_sent = 0;
  std::uint64_t wakeups_avoided = 0;
};

/// An established, ordered, reliable byte stream.
class connection {
 public:
  virtual ~connection() = default;

  virtual transfer_result read_some(std::span<const asio::mutable_buffer> buffers) noexcept = 0;
  virtual transfer_result write_some(std::span<const asio::const_buffer> buffers) noexcept = 0;

  /// Room for at least `min` and at most `max` contiguous bytes, written in place and made visible
  /// by commit(); would_block while there is less, no_buffer_space where there can never be as
  /// much.
  virtual std::error_code prepare(std::size_t min, std::size_t max,
                                  asio::mutable_buffer& room) noexcept = 0;
  /// Publishes the first `n` bytes prepared last; more than prepared: invalid_argument.
  /// would_block: taken over, but not all could be passed on yet; poll(write) passes on more and
  /// says when that is done.
  virtual std::error_code commit(std::size_t n) noexcept = 0;
  /// All received bytes in one piece; would_block while they are fewer than `min` and more may
  /// come. With eof or connection_reset: what is left (maybe empty).
  virtual std::error_code data(std::size_t min, asio::const_buffer& bytes) noexcept = 0;
  /// Gives the first `n` bytes of data() back to the writer; more than there are: invalid_argument.
  virtual std::error_code consume(std::size_t n) noexcept = 0;

  /// Bytes that a read would find now.
  virtual std::size_t available() noexcept = 0;
  /// would_block, or none where a transfer of `min` bytes would make progress or report an error
  /// now.
  virtual std::error_code poll(direction d, std::size_t min) noexcept = 0;
  virtual bool arm(direction d, std::size_t min, waiter& who) noexcept = 0;
  virtual void disarm(direction d) noexcept = 0;
  /// Blocks the calling thread until poll() may have changed, or `limit` passed. May return early.
  virtual void wait(direction d, std::size_t min, std::chrono::milliseconds limit) noexcept = 0;

  virtual std::error_code shutdown(asio::socket_base::shutdown_type what) noexcept = 0;
  /// Ends both directions (R8). The object is destroyed afterwards.
  virtual void close() noexcept = 0;
  /// Ends both directions at once with a reset, as SO_LINGER with zero seconds.
  virtual void abort() noexcept = 0;
  /// The TCP connection below was reset: what has come can still be read, then connection_reset
  /// (R3). Any thread; waiters are told later.
  virtual void cut() noexcept = 0;

  virtual transport_counters counters(direction d) const noexcept = 0;
};

}  // namespace smc::detail
