#pragma once
// One half of an in-memory connection.
#include <cstddef>
#include <memory>
#include <vector>

#include "stream/transport.hpp"
#include "support/memory_channel.hpp"

namespace smc::test {

class memory_connection final : public detail::connection {
 public:
  memory_connection(std::shared_ptr<memory_channel> channel, memory_side side)
      : channel_(std::move(channel)), side_(side) {}
  ~memory_connection() override { close(); }

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

 private:
  byte_queue& in() noexcept { return channel_->at(side_).in; }
  byte_queue& out() noexcept { return channel_->beyond(side_).in; }
  bool blocked_for_nothing(detail::direction d) noexcept;
  std::error_code begin_write(std::size_t min) noexcept;
  void written(std::size_t n) noexcept;

  const std::shared_ptr<memory_channel> channel_;
  const memory_side side_;
  std::array<bool, 2>
      baseless_{};  // the last try blocked for nothing; each by its direction's thread
  std::vector<std::byte> in_bytes_;  // handed out by data()
  std::vector<std::byte> out_bytes_;
  std::size_t shown_ = 0;
  std::size_t prepared_ = 0;
};

}  // namespace smc::test
