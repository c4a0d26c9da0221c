#pragma once
// A server as its users write it, and the question whether it still serves everybody.
#include <asio/detached.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <deque>

#include "framework/stream/setting.hpp"
#include "support/resources.hpp"

namespace smc::test {

/// How long a server waits here for a client that said "intent" and then nothing.
inline constexpr std::chrono::milliseconds short_handshake{300};

/// Accepts until it is destroyed, and sends back what it gets.
class echo_server {
 public:
  explicit echo_server(const asio::any_io_executor& executor,
                       std::chrono::milliseconds handshake_timeout = short_handshake)
      : state_(std::make_shared<state>(executor, handshake_timeout)) {
    asio::co_spawn(executor, accept(state_), asio::detached);
  }
  ~echo_server() { state_->listener.close(); }
  echo_server(const echo_server&) = delete;
  echo_server& operator=(const echo_server&) = delete;

  asio::ip::tcp::endpoint endpoint() const { return state_->listener.local_endpoint(); }

  /// The transport of the next connection that was accepted, waited for.
  asio::awaitable<transport_kind> next_accepted() {
    co_await until([this] { return !state_->accepted.empty(); });
    const transport_kind kind = state_->accepted.front().second;
    state_->accepted.pop_front();
    co_return kind;
  }

  /// The transport on which the client with this address was accepted, waited for.
  asio::awaitable<transport_kind> accepted_from(asio::ip::tcp::endpoint client) {
    auto& all = state_->accepted;
    auto found = all.end();
    co_await until([&] {
      found = std::find_if(all.begin(), all.end(),
                           [&](const auto& each) { return each.first == client; });
      return found != all.end();
    });
    const transport_kind kind = found->second;
    all.erase(found);
    co_return kind;
  }

  std::size_t accepted() const noexcept { return state_->accepted.size(); }
  void forget_accepted() noexcept { state_->accepted.clear(); }
  std::size_t open() const noexcept { return state_->open; }

 private:
  struct state {
    state(const asio::any_io_executor& on, std::chrono::milliseconds handshake_timeout)
        : executor(on), settings(settings_for(carrier::smc_d_mapped)) {
      settings.handshake_timeout = handshake_timeout;
      listener = acceptor(on, any_port(), settings);
    }
    asio::any_io_executor executor;
    config settings;
    acceptor listener{executor};
    std::deque<std::pair<asio::ip::tcp::endpoint, transport_kind>> accepted;
    std::size_t open = 0;
  };

  static asio::awaitable<void> accept(std::shared_ptr<state> s) {
    for (;;) {
      stream peer(s->executor, s->settings);
      std::error_code error;
      co_await s->listener.async_accept(peer, asio::redirect_error(asio::use_awaitable, error));
      if (!s->listener.is_open()) co_return;
      if (error) continue;
      s->accepted.emplace_back(peer.remote_endpoint(error), peer.transport());
      ++s->open;
      asio::co_spawn(s->executor, echo(std::move(peer), s), asio::detached);
    }
  }

  static asio::awaitable<void> echo(stream peer, std::shared_ptr<state> s) {
    std::vector<char> buffer(4096);
    for (;;) {
      std::error_code error;
      const std::size_t n = co_await peer.async_read_some(
          asio::buffer(buffer), asio::redirect_error(asio::use_awaitable, error));
      if (!error) {
        co_await asio::async_write(peer, asio::buffer(buffer.data(), n),
                                   asio::redirect_error(asio::use_awaitable, error));
      }
      if (error) break;
    }
    --s->open;
  }

  std::shared_ptr<state> state_;
};

/// Writes and reads back.
template <typename Stream>
asio::awaitable<std::string> echoed(Stream& through, std::string text) {
  co_await asio::async_write(through, asio::buffer(text), asio::use_awaitable);
  std::string back(text.size(), '\0');
  co_await asio::async_read(through, asio::buffer(back), asio::use_awaitable);
  co_return back;
}

/// A client of the library gets SMC-D, a plain socket TCP, and both their bytes.
inline asio::awaitable<void> serves_everybody(echo_server& server) {
  const auto executor = co_await asio::this_coro::executor;
  const std::size_t others = server.open();
  {
    stream client(executor, settings_for(carrier::smc_d_mapped));
    co_await client.async_connect(server.endpoint(), asio::use_awaitable);
    EXPECT_EQ(client.transport(), transport_kind::smc_d) << client.fallback_reason().message();
    EXPECT_EQ(co_await server.accepted_from(client.local_endpoint()), transport_kind::smc_d);
    EXPECT_EQ(co_await echoed(client, "faster"), "faster");
  }
  {
    asio::ip::tcp::socket plain(executor);
    co_await plain.async_connect(server.endpoint(), asio::use_awaitable);
    EXPECT_EQ(co_await echoed(plain, "plain"), "plain");
    EXPECT_EQ(co_await server.accepted_from(plain.local_endpoint()), transport_kind::tcp);
  }
  co_await until([&] { return server.open() <= others; });
}

/// Waits until this process holds nothing that it did not hold before, looking a bounded number of
/// times: what a dead peer leaves is closed by the loop, which needs turns, and may sleep in
/// between.
inline asio::awaitable<void> nothing_is_left(const resources& before) {
  asio::steady_timer pause(co_await asio::this_coro::executor);
  std::string left;
  for (int look = 0; look < 400; ++look) {
    left = growth(before, resources::of_this_process());
    if (left.empty()) co_return;
    pause.expires_after(std::chrono::milliseconds(5));
    co_await pause.async_wait(asio::use_awaitable);
  }
  ADD_FAILURE() << "left open:\n" << left;
}

}  // namespace smc::test
