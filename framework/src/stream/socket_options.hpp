#pragma once
// A socket's options as Asio's sockets have them: the system's, and enable_connection_aborted,
// which only Asio knows.
#include <asio/error.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/socket_base.hpp>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <system_error>

#include "system/tcp_sockets.hpp"

namespace smc::detail {

class socket_options {
 public:
  std::error_code set(int socket, int level, int name, const void* value,
                      std::size_t size) noexcept {
    if (!is_connection_aborted(level, name)) {
      return system::set_option(socket, level, name, value, size);
    }
    int number = 0;
    if (size != sizeof number) return asio::error::invalid_argument;
    std::memcpy(&number, value, sizeof number);
    connection_aborted_ = number != 0;
    return {};
  }

  std::error_code get(int socket, int level, int name, void* value,
                      std::size_t& size) const noexcept {
    if (!is_connection_aborted(level, name)) {
      return system::get_option(socket, level, name, value, size);
    }
    const int number = connection_aborted_ ? 1 : 0;
    if (size != sizeof number) return asio::error::invalid_argument;
    std::memcpy(value, &number, sizeof number);
    return {};
  }

  bool connection_aborted() const noexcept { return connection_aborted_; }
  /// The socket is closed: what the system kept of it is gone.
  void clear() noexcept { connection_aborted_ = false; }

 private:
  static bool is_connection_aborted(int level, int name) noexcept {
    const asio::socket_base::enable_connection_aborted option;
    const auto protocol = asio::ip::tcp::v4();
    return level == option.level(protocol) && name == option.name(protocol);
  }

  std::atomic<bool> connection_aborted_{false};
};

}  // namespace smc::detail
