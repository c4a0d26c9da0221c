#pragma once
// The client's connection for asking the server what it has done and what it cost.
#include <asio/awaitable.hpp>
#include <asio/read.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>
#include <optional>

#include "smcperf/protocol.hpp"
#include "smcperf/session.hpp"

namespace smcperf {

template <typename Sockets>
class control_connection {
 public:
  /// Its transport counts like that of any other connection, and must be the one asked for.
  asio::awaitable<void> open(asio::any_io_executor executor, const session_options& options) {
    transport_tally own;
    stream_.emplace(co_await open_session<Sockets>(executor, options, job{}, own));
  }

  asio::awaitable<void> ask(server_report& answer) {
    const char demand = '?';
    co_await asio::async_write(*stream_, asio::buffer(&demand, 1), asio::use_awaitable);
    wire_message message;
    co_await asio::async_read(*stream_, asio::buffer(message), asio::use_awaitable);
    answer = decode_report(message);
  }

 private:
  std::optional<typename Sockets::stream> stream_;
};

}  // namespace smcperf
