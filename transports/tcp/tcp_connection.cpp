#include "tcp/tcp_connection.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <asio/buffer.hpp>
#include <asio/error.hpp>
#include <chrono>
#include <cstring>
#include <new>
#include <vector>

#include "system/events.hpp"
#include "tcp/readiness.hpp"

namespace smc::tcp {

using detail::direction;
using detail::transfer_result;

namespace {

using namespace std::chrono_literals;

constexpr std::size_t bounce_size = 64 * 1024;  // room offered by prepare() if no more is asked for
constexpr std::size_t largest_bounce = 512 * 1024 * 1024;  // as the largest ring
constexpr std::chrono::milliseconds flush_limit = 2s;      // of close(), as Linux's SMC

/// Bytes [begin, end) of a buffer that grows: what prepare()/commit() and data()/consume() hand out
/// on TCP.
class bounce {
 public:
  std::size_t size() const noexcept { return end_ - begin_; }
  const char* data() const noexcept { return bytes_.data() + begin_; }
  /// Room for `n` more bytes behind those held; nullptr: no memory.
  char* reserve(std::size_t n) noexcept try {
    if (begin_ == end_) begin_ = end_ = 0;
    if (bytes_.size() - end_ < n && begin_ != 0) {
      std::memmove(bytes_.data(), bytes_.data() + begin_, size());
      end_ -= begin_;
      begin_ = 0;
    }
    if (bytes_.size() - end_ < n) bytes_.resize(end_ + n);
    return bytes_.data() + end_;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  void append(std::size_t n) noexcept { end_ += n; }
  void remove(std::size_t n) noexcept { begin_ += n; }

 private:
  std::vector<char> bytes_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

std::error_code wanted(std::size_t min) {
  return min > largest_bounce ? std::error_code(asio::error::no_buffer_space) : std::error_code();
}

class tcp_connection final : public detail::connection {
 public:
  tcp_connection(asio::ip::tcp::socket& socket, detail::loop_core* loop)
      : socket_(socket), ready_(std::make_shared<readiness>(socket, loop)) {
    std::error_code ignored;
    socket_.non_blocking(true, ignored);
  }
  ~tcp_connection() override { ready_->detach(); }

  transfer_result read_some(std::span<const asio::mutable_buffer> buffers) noexcept override {
    if (in_.size() != 0) return read_behind_data(buffers);
    transfer_result result;
    result.bytes = socket_.read_some(buffers, result.error);
    return result;
  }

  transfer_result write_some(std::span<const asio::const_buffer> buffers) noexcept override {
    prepared_ = 0;
    if (const auto error = flush()) return {error, 0};
    transfer_result result;
    result.bytes = socket_.write_some(buffers, result.error);
    return result;
  }

  std::error_code prepare(std::size_t min, std::size_t max,
                          asio::mutable_buffer& room) noexcept override {
    prepared_ = 0;
    if (sending_over_) return asio::error::broken_pipe;
    if (const auto error = wanted(min)) return error;
    if (const auto error = poll(direction::write, min)) return error;
    const std::size_t size = std::max(min, std::min(max, bounce_size));
    char* const at = out_.reserve(size);
    if (!at) return asio::error::no_memory;
    prepared_ = size;
    room = asio::buffer(at, size);
    return {};
  }

  std::error_code commit(std::size_t n) noexcept override {
    if (n > prepared_) return asio::error::invalid_argument;
    prepared_ = 0;
    out_.append(n);
    return flush();
  }

  std::error_code data(std::size_t min, asio::const_buffer& bytes) noexcept override {
    if (const auto error = wanted(min)) return error;
    std::error_code error;
    while (!error && in_.size() < std::max<std::size_t>(min, 1)) error = fill(min);
    if (min == 0 && error == asio::error::would_block) error.clear();
    bytes = asio::buffer(in_.data(), in_.size());
    return error;
  }

  std::error_code consume(std::size_t n) noexcept override {
    if (n > in_.size()) return asio::error::invalid_argument;
    in_.remove(n);
    return {};
  }

  std::size_t available() noexcept override {
    std::error_code ignored;
    return in_.size() + socket_.available(ignored);
  }

  std::error_code poll(direction d, std::size_t min) noexcept override {
    if (d == direction::read) {
      if (in_.size() >= std::max<std::size_t>(min, 1)) return {};
      if (in_.size() == 0 && min <= 1) return poll_for(POLLIN, 0ms);
      asio::const_buffer ignored;
      return data(min, ignored) == asio::error::would_block ? asio::error::would_block
                                                            : std::error_code();
    }
    if (const auto error = flush(); error == asio::error::would_block) return error;
    return poll_for(POLLOUT, 0ms);
  }

  bool arm(direction d, std::size_t min, detail::waiter& who) noexcept override {
    if (d == direction::read && in_.size() >= std::max<std::size_t>(min, 1)) return false;
    ready_->arm(d, who);
    return true;  // the wait itself looks again
  }

  void disarm(direction d) noexcept override { ready_->disarm(d); }

  void wait(direction d, std::size_t min, std::chrono::milliseconds limit) noexcept override {
    if (poll(d, min) != asio::error::would_block) return;
    (void)poll_for(d == direction::read ? POLLIN : POLLOUT, limit);
  }

  std::error_code shutdown(asio::socket_base::shutdown_type what) noexcept override {
    if (what != asio::socket_base::shutdown_receive) flush_blocking();
    std::error_code error;
    socket_.shutdown(what, error);
    if (!error && what != asio::socket_base::shutdown_receive) sending_over_ = true;
    return error;
  }

  void close() noexcept override {
    flush_blocking();
    if (in_.size() != 0) abort();  // unread, which the socket does not know
  }

  void cut() noexcept override {}  // transfers meet the reset themselves

  void abort() noexcept override {
    std::error_code ignored;
    socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  }

  detail::transport_counters counters(direction) const noexcept override { return {}; }

 private:
  /// A read while bytes are held that data() has taken from the socket: these, and then what is
  /// there behind them. Errors are left to the next read.
  transfer_result read_behind_data(std::span<const asio::mutable_buffer> buffers) noexcept {
    transfer_result result;
    for (const asio::mutable_buffer& each : buffers) {
      const std::size_t held = asio::buffer_copy(each, asio::buffer(in_.data(), in_.size()));
      in_.remove(held);
      result.bytes += held;
      const asio::mutable_buffer rest = each + held;
      std::error_code error;
      if (rest.size() == 0) continue;
      if (socket_.available(error) == 0) break;
      const std::size_t n = socket_.read_some(asio::buffer(rest), error);
      result.bytes += n;
      if (n != rest.size()) break;
    }
    return result;
  }

  /// Reads what is there behind the bytes already held; an error where nothing came.
  std::error_code fill(std::size_t min) noexcept {
    const std::size_t room = std::max(bounce_size, min > in_.size() ? min - in_.size() : 0);
    std::error_code error;
    char* const at = in_.reserve(room);
    if (!at) return asio::error::no_memory;
    in_.append(socket_.read_some(asio::buffer(at, room), error));
    return error;
  }

  /// Hands committed bytes to the socket; would_block while some remain.
  std::error_code flush() noexcept {
    std::error_code error;
    while (out_.size() != 0 && !error) {
      out_.remove(socket_.write_some(asio::buffer(out_.data(), out_.size()), error));
    }
    return error;
  }

  void flush_blocking() noexcept {
    const auto until = std::chrono::steady_clock::now() + flush_limit;
    while (flush() == asio::error::would_block && std::chrono::steady_clock::now() < until) {
      (void)poll_for(POLLOUT, 100ms);
    }
  }

  std::error_code poll_for(short events, std::chrono::milliseconds limit) noexcept {
    std::array<pollfd, 1> one{pollfd{socket_.native_handle(), events, 0}};
    const auto ready = system::poll(one, limit);
    if (!ready) return ready.error;
    return ready.value == 0 ? asio::error::would_block : std::error_code();
  }

  asio::ip::tcp::socket& socket_;
  std::shared_ptr<readiness> ready_;
  bounce in_;
  bounce out_;
  std::size_t prepared_ = 0;
  bool sending_over_ = false;
};

}  // namespace

std::unique_ptr<detail::connection> make_connection(asio::ip::tcp::socket& socket,
                                                    detail::loop_core* loop) {
  return std::make_unique<tcp_connection>(socket, loop);
}

}  // namespace smc::tcp
