#pragma once
// Somebody who announces himself for a port, beside a plain TCP listener, and answers as he likes.
#include <functional>
#include <optional>

#include "framework/faults/echo_server.hpp"
#include "framework/faults/raw_client.hpp"

namespace smc::test {

/// A plain TCP listener that sends back what it gets.
class plain_server {
 public:
  explicit plain_server(const asio::any_io_executor& executor)
      : listener_(std::make_shared<asio::ip::tcp::acceptor>(executor, any_port())) {
    asio::co_spawn(executor, serve(listener_), asio::detached);
  }
  ~plain_server() { listener_->close(); }
  plain_server(const plain_server&) = delete;
  plain_server& operator=(const plain_server&) = delete;

  asio::ip::tcp::endpoint endpoint() const { return listener_->local_endpoint(); }

 private:
  static asio::awaitable<void> serve(std::shared_ptr<asio::ip::tcp::acceptor> listener) {
    for (;;) {
      asio::ip::tcp::socket peer(listener->get_executor());
      std::error_code error;
      co_await listener->async_accept(peer, asio::redirect_error(asio::use_awaitable, error));
      if (!listener->is_open()) co_return;
      if (!error) asio::co_spawn(listener->get_executor(), echo(std::move(peer)), asio::detached);
    }
  }

  static asio::awaitable<void> echo(asio::ip::tcp::socket peer) {
    std::vector<char> buffer(4096);
    for (std::error_code error; !error;) {
      const std::size_t n = co_await peer.async_read_some(
          asio::buffer(buffer), asio::redirect_error(asio::use_awaitable, error));
      if (error) break;
      co_await asio::async_write(peer, asio::buffer(buffer.data(), n),
                                 asio::redirect_error(asio::use_awaitable, error));
    }
  }

  std::shared_ptr<asio::ip::tcp::acceptor> listener_;
};

/// Holds the name "\0smc.<port>.<k>".
class fake_announcer {
 public:
  explicit fake_announcer(std::uint16_t port, unsigned k = 0, int backlog = 16)
      : listener_(taken(system::create_socket(AF_UNIX, SOCK_SEQPACKET, 0, true))) {
    const auto where =
        taken(system::local_address::of(negotiation::rendezvous_place(port).name(k)));
    if (auto error = system::bind_to(listener_, where)) throw std::system_error(error);
    if (auto error = system::listen_on(listener_, backlog)) throw std::system_error(error);
  }

  /// The next caller, if one has come. raw_client serves this side as well.
  std::optional<raw_client> caller() {
    auto accepted = system::accept_from(listener_, true);
    if (accepted.error) return std::nullopt;
    return raw_client(std::move(accepted.value));
  }

 private:
  system::descriptor listener_;
};

}  // namespace smc::test
