// A peer that was capable once (Alibaba Cloud Linux, SMC FAQ).
#include <asio/detached.hpp>
#include <asio/experimental/awaitable_operators.hpp>
#include <asio/redirect_error.hpp>

#include "framework/faults/echo_server.hpp"
#include "setting.hpp"
#include "support/other_process.hpp"

namespace smc::test {
namespace {

using namespace asio::experimental::awaitable_operators;
using asio::redirect_error;
using asio::use_awaitable;

/// Announces itself, accepts one connection and waits to be killed.
void announced_server(shared_facts& facts, const role_argument&) {
  asio::io_context context;
  acceptor listener(context, any_port(), settings_for(carrier::smc_d_mapped));
  facts.port = listener.local_endpoint().port();
  stream peer(context, settings_for(carrier::smc_d_mapped));
  listener.accept(peer);
  for (;;) ::pause();
}

TEST_P(FieldLocal, APortThatAPlainServerHasTakenOverIsReachedByTcpWithEveryByte) {
  world here(where());
  here.run([&]() -> asio::awaitable<void> {
    other_process server(announced_server);
    co_await until([&] { return server.facts().port != 0; });
    const auto there = at_port(server.facts().port);
    {
      stream known(here.executor(), settings());
      co_await known.async_connect(there, use_awaitable);
      EXPECT_EQ(known.transport(), transport_kind::smc_d) << known.fallback_reason().message();
    }
    server.kill();
    {
      stream refused(here.executor(), settings());
      std::error_code error;
      co_await refused.async_connect(there, redirect_error(use_awaitable, error));
      EXPECT_EQ(error, asio::error::connection_refused);
    }
    asio::ip::tcp::acceptor plain(here.executor(), there);
    const std::string sent = random_text(1 << 20, 11);
    for (int connection = 0; connection < 3; ++connection) {
      stream client(here.executor(), settings());
      asio::ip::tcp::socket peer(here.executor());
      co_await (client.async_connect(there, use_awaitable) &&
                plain.async_accept(peer, use_awaitable));
      EXPECT_EQ(client.transport(), transport_kind::tcp);
      EXPECT_TRUE(client.fallback_reason());
      std::string arrived(sent.size(), '\0'), back(sent.size(), '\0');
      co_await (asio::async_write(client, asio::buffer(sent), use_awaitable) &&
                asio::async_read(peer, asio::buffer(arrived), use_awaitable));
      EXPECT_TRUE(arrived == sent) << "the server sees the user's bytes and nothing else";
      co_await (asio::async_write(peer, asio::buffer(arrived), use_awaitable) &&
                asio::async_read(client, asio::buffer(back), use_awaitable));
      EXPECT_TRUE(back == sent);
    }
  });
}

}  // namespace
}  // namespace smc::test
