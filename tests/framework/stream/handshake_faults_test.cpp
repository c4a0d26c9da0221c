// Handshakes that fail at each of their steps: both sides end on the same transport with the same
// reason, or the client is reset.
#include <sys/wait.h>
#include <unistd.h>

#include <asio/redirect_error.hpp>

#include "setting.hpp"

namespace smc::test {
namespace {

class HandshakeFaults : public each_setting {
 protected:
  /// Runs a test's coroutine with a pair whose listener has announced itself, not connected.
  void unconnected(std::function<asio::awaitable<void>(pair&)> test) {
    world here(where());
    here.run([&]() -> asio::awaitable<void> {
      pair streams(here.executor(), by());
      co_await test(streams);
    });
  }

  injected_faults faults;
};

/// Connects, whatever comes of it.
asio::awaitable<void> meet(pair& p, stream& client, stream& server) {
  outcome accepted;
  p.listener.async_accept(server, store(accepted));
  co_await client.async_connect(p.listener.local_endpoint(), asio::use_awaitable);
  co_await until([&accepted] { return accepted.called; });
  EXPECT_FALSE(accepted.error) << accepted.error.message();
}

asio::awaitable<void> bytes_flow(stream& client, stream& server) {
  co_await asio::async_write(client, asio::buffer("there", 5), asio::use_awaitable);
  EXPECT_EQ(co_await read_text(server, 5), "there");
  co_await asio::async_write(server, asio::buffer("back", 4), asio::use_awaitable);
  EXPECT_EQ(co_await read_text(client, 4), "back");
}

asio::awaitable<void> both_are_tcp_because(pair& p, reason of_client, reason of_server) {
  EXPECT_EQ(p.client.transport(), transport_kind::tcp);
  EXPECT_EQ(p.server.transport(), transport_kind::tcp);
  EXPECT_EQ(p.client.fallback_reason(), make_error_code(of_client))
      << p.client.fallback_reason().message();
  EXPECT_EQ(p.server.fallback_reason(), make_error_code(of_server))
      << p.server.fallback_reason().message();
  co_await bytes_flow(p.client, p.server);
}

TEST_P(HandshakeFaults, WhereTheTransportCanNotBeUsedConnectingIsTcpWithTheReason) {
  faults.set({.probe = reason::not_permitted});
  unconnected([](pair& p) -> asio::awaitable<void> {
    co_await meet(p, p.client, p.server);
    co_await both_are_tcp_because(p, reason::not_permitted, reason::not_permitted);
  });
}

TEST_P(HandshakeFaults, AClientThatCanNotUseTheTransportIsPlainToItsServer) {
  unconnected([](pair& p) -> asio::awaitable<void> {
    injected_faults::set({.probe = reason::not_permitted});
    co_await meet(p, p.client, p.server);
    co_await both_are_tcp_because(p, reason::not_permitted, reason::not_offered);
  });
}

TEST_P(HandshakeFaults, AnAnswerThatFailsIsTcpWithItsReasonOnBothSides) {
  faults.set({.answer = {1, reason::memory_limit}});
  unconnected([](pair& p) -> asio::awaitable<void> {
    co_await meet(p, p.client, p.server);
    co_await both_are_tcp_because(p, reason::memory_limit, reason::memory_limit);
  });
}

TEST_P(HandshakeFaults, AConfirmThatFailsIsTcpWithItsReasonOnBothSides) {
  faults.set({.confirm = {1, reason::mapping_limit}});
  unconnected([](pair& p) -> asio::awaitable<void> {
    co_await meet(p, p.client, p.server);
    co_await both_are_tcp_because(p, reason::mapping_limit, reason::mapping_limit);
  });
}

TEST_P(HandshakeFaults, AnEstablishThatFailsResetsTheClientAndIsNotAccepted) {
  faults.set({.establish = {1, reason::no_memory}});
  unconnected([](pair& p) -> asio::awaitable<void> {
    outcome accepted;
    p.listener.async_accept(p.server, store(accepted));
    co_await p.client.async_connect(p.listener.local_endpoint(), asio::use_awaitable);
    EXPECT_EQ(p.client.transport(), transport_kind::other) << p.client.fallback_reason().message();
    char in[4];
    std::error_code ec;
    co_await p.client.async_read_some(asio::buffer(in),
                                      asio::redirect_error(asio::use_awaitable, ec));
    EXPECT_EQ(ec, asio::error::connection_reset);
    EXPECT_FALSE(accepted.called);
    stream next(co_await asio::this_coro::executor, settings_for(carrier::memory));
    co_await next.async_connect(p.listener.local_endpoint(), asio::use_awaitable);
    co_await until([&accepted] { return accepted.called; });
    EXPECT_FALSE(accepted.error);
    EXPECT_EQ(p.server.transport(), transport_kind::other);
    co_await bytes_flow(next, p.server);
  });
}

TEST_P(HandshakeFaults, OneFailureDoesNotSpoilTheNextConnection) {
  for (const auto step : {&memory_faults::answer, &memory_faults::confirm}) {
    memory_faults second_fails;
    second_fails.*step = {2, reason::no_memory};
    faults.set(second_fails);
    unconnected([](pair& p) -> asio::awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      for (const bool works : {true, false, true}) {
        stream client(executor, settings_for(carrier::memory)),
            server(executor, settings_for(carrier::memory));
        co_await meet(p, client, server);
        const auto kind = works ? transport_kind::other : transport_kind::tcp;
        EXPECT_EQ(client.transport(), kind);
        EXPECT_EQ(server.transport(), kind);
        co_await bytes_flow(client, server);
      }
    });
  }
}

TEST_P(HandshakeFaults, WhereFallingBackIsForbiddenTheReasonIsTheError) {
  for (const auto step : {&memory_faults::answer, &memory_faults::confirm}) {
    memory_faults fails;
    fails.*step = {1, reason::no_memory};
    faults.set(fails);
    unconnected([](pair& p) -> asio::awaitable<void> {
      config strict = settings_for(carrier::memory);
      strict.fallback = fallback_policy::forbid;
      stream client(co_await asio::this_coro::executor, strict);
      outcome accepted;
      p.listener.async_accept(p.server, store(accepted));
      std::error_code ec;
      co_await client.async_connect(p.listener.local_endpoint(),
                                    asio::redirect_error(asio::use_awaitable, ec));
      EXPECT_EQ(ec, reason::no_memory);
      p.listener.close();
      co_await until([&accepted] { return accepted.called; });
    });
  }
}

TEST_P(HandshakeFaults, TheNextTransportOfTheConfigurationIsTakenWhereTheFirstCanNotBeUsed) {
  config settings = settings_for(carrier::memory);
  settings.transports = {transport_kind::other, transport_kind::smc_d, transport_kind::tcp};
  for (const bool first_works : {true, false}) {
    if (!first_works) faults.set({.probe = reason::no_device});
    world here(where());
    here.run([&]() -> asio::awaitable<void> {
      acceptor listener(here.executor(), any_port(), settings);
      stream client(here.executor(), settings), server(here.executor(), settings);
      outcome accepted;
      listener.async_accept(server, store(accepted));
      co_await client.async_connect(listener.local_endpoint(), asio::use_awaitable);
      co_await until([&accepted] { return accepted.called; });
      EXPECT_EQ(client.transport_name(), first_works ? "memory" : "smc-d");
      EXPECT_EQ(server.transport_name(), client.transport_name());
      EXPECT_FALSE(client.fallback_reason());
      co_await bytes_flow(client, server);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Everywhere, HandshakeFaults,
                         testing::Combine(testing::Values(carrier::memory), all_places()),
                         name_of_setting);

TEST(MemoryTransport, IsTcpBetweenProcessesBecauseTheMemoryIsNotShared) {
  asio::io_context context;
  acceptor listener(context, any_port(), settings_for(carrier::memory));
  const pid_t child = ::fork();
  if (child == 0) {
    bool good = false;
    try {
      asio::io_context own;
      stream client(own, settings_for(carrier::memory));
      client.connect(listener.local_endpoint());
      std::array<char, 1> byte{'q'};
      asio::write(client, asio::buffer(byte));
      asio::read(client, asio::buffer(byte));
      good = client.transport() == transport_kind::tcp &&
             client.fallback_reason() == reason::other_host;
    } catch (const std::exception& e) {
      std::fprintf(stderr, "in the child: %s\n", e.what());
    }
    ::_exit(good ? 0 : 1);
  }
  stream server(context, settings_for(carrier::memory));
  listener.accept(server);
  EXPECT_EQ(server.transport(), transport_kind::tcp);
  EXPECT_EQ(server.fallback_reason(), reason::other_host);
  std::array<char, 1> byte{};
  asio::read(server, asio::buffer(byte));
  asio::write(server, asio::buffer(byte));
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace smc::test
