#pragma once
// What the two halves of an in-memory connection share: a bounded queue of bytes in each direction,
// how each side has ended, and who waits. Everything is under one lock, which is never held over a
// call of waiter::ready().
#include <array>
#include <asio/buffer.hpp>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <system_error>
#include <vector>

#include "stream/context_service.hpp"
#include "stream/transport.hpp"
#include "support/memory_faults.hpp"
#include "system/descriptor.hpp"

namespace smc::test {

/// A ring of bytes. The hindmost may still be hidden from the reader.
class byte_queue {
 public:
  explicit byte_queue(std::size_t capacity = 0) : bytes_(capacity) {}

  std::size_t capacity() const noexcept { return bytes_.size(); }
  std::size_t free() const noexcept { return bytes_.size() - visible_ - hidden_; }
  std::size_t visible() const noexcept { return visible_; }
  std::size_t hidden() const noexcept { return hidden_; }

  /// Copies in at most `limit` bytes, hidden; how many there was room for.
  template <typename Buffers>
  std::size_t put(const Buffers& from, std::size_t limit) noexcept {
    const auto room = pieces<asio::mutable_buffer>(visible_ + hidden_, free());
    const std::size_t n = asio::buffer_copy(room, from, limit);
    hidden_ += n;
    return n;
  }
  void show(std::size_t n) noexcept {
    visible_ += n;
    hidden_ -= n;
  }
  /// Copies out at most `limit` visible bytes, which stay.
  template <typename Buffers>
  std::size_t copy(const Buffers& to, std::size_t limit) noexcept {
    return asio::buffer_copy(to, pieces<asio::const_buffer>(0, visible_), limit);
  }
  void drop(std::size_t n) noexcept {
    visible_ -= n;
    first_ = n == 0 ? first_ : (first_ + n) % bytes_.size();
  }

 private:
  template <typename Buffer>
  std::array<Buffer, 2> pieces(std::size_t offset, std::size_t size) noexcept {
    if (size == 0) return {};
    const std::size_t begin = (first_ + offset) % bytes_.size();
    const std::size_t whole = std::min(size, bytes_.size() - begin);
    return {Buffer(bytes_.data() + begin, whole), Buffer(bytes_.data(), size - whole)};
  }

  std::vector<std::byte> bytes_;
  std::size_t first_ = 0;
  std::size_t visible_ = 0;
  std::size_t hidden_ = 0;
};

class memory_channel {
 public:
  using token = std::uint64_t;

  /// Makes a side's part, before anybody uses it. `doorbell` wakes the context in which it waits.
  void open(memory_side side, std::size_t receive_size, system::descriptor doorbell, token own,
            token seen);
  /// Whether `side` lies here, and looked at what lay here of the other before: for rule H3.
  bool has(memory_side side, token own) const noexcept;
  bool saw(memory_side side, token of_other) const noexcept;

  /// Tells the waiters of `side` whose time has come. True: there were some.
  bool tell_waiters(memory_side side) noexcept;
  bool has_due(memory_side side) const noexcept;
  bool is_closed(memory_side side) const noexcept;

 private:
  friend class memory_connection;

  struct arming {
    detail::waiter* who = nullptr;
    std::size_t min = 0;
    bool due = false;
  };
  struct end {
    byte_queue in;  ///< bytes to this side
    system::descriptor doorbell;
    token own = 0;
    token seen = 0;
    bool sending_over = false;  ///< end of stream behind what it wrote
    bool receive_shut = false;
    bool reset = false;
    bool closed = false;
    std::array<arming, 2> armed;
  };

  end& at(memory_side side) noexcept { return ends_[static_cast<std::size_t>(side)]; }
  end& beyond(memory_side side) noexcept { return ends_[1 - static_cast<std::size_t>(side)]; }
  const end& at(memory_side side) const noexcept { return ends_[static_cast<std::size_t>(side)]; }

  // With the lock:
  std::error_code input(memory_side side, std::size_t min) noexcept;
  std::error_code output(memory_side side, std::size_t min) noexcept;
  /// Lets the reader see more of what was committed. False: some is still hidden.
  bool pass_on(memory_side writer) noexcept;
  bool can_progress(memory_side side, detail::direction d, std::size_t min) noexcept;
  void make_due(memory_side side, arming& which) noexcept;
  /// Something changed: looks who waited for it.
  void announce() noexcept;
  void break_down() noexcept;
  void close(memory_side side, bool throw_away) noexcept;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::array<end, 2> ends_;
};

/// Tells waiters from the poll hook of their context, as every transport has to: a waiter may run
/// handlers, which a call of the peer's (write_some, say) must not do.
class memory_wakeups final : public detail::wake_source {
 public:
  memory_wakeups(std::weak_ptr<memory_channel> channel, memory_side side)
      : channel_(std::move(channel)), side_(side) {}

  bool poll() noexcept override;
  bool before_sleep() noexcept override;
  void after_sleep() noexcept override {}
  bool finished() const noexcept override;

 private:
  const std::weak_ptr<memory_channel> channel_;
  const memory_side side_;
};

}  // namespace smc::test
