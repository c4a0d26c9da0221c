#pragma once
// asio::socket_base::enable_connection_aborted: an option of Asio's that the system does not know.
#include <asio/error.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/socket_base.hpp>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <system_error>

namespace smc::detail {

class connection_aborted_option {
 public:
  static bool is(int level, int name) noexcept {
    const asio::socket_base::enable_connection_aborted option;
    const auto protocol = asio::ip::tcp::v4();
    return level == option.level(protocol) && name == option.name(protocol);
  }

  std::error_code set(const void* value, std::size_t size) noexcept {
    int number = 0;
    if (size != sizeof number) return asio::error::invalid_argument;
    std::memcpy(&number, value, sizeof number);
    enabled_ = number != 0;
    return {};
  }
  std::error_code get(void* value, std::size_t size) const noexcept {
    const int number = enabled_ ? 1 : 0;
    if (size != sizeof number) return asio::error::invalid_argument;
    std::memcpy(value, &number, sizeof number);
    return {};
  }

  bool enabled() const noexcept { return enabled_; }
  void clear() noexcept { enabled_ = false; }

 private:
  std::atomic<bool> enabled_{false};
};

}  // namespace smc::detail
