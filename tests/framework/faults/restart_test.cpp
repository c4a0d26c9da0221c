// A port that changes hands.
#include "framework/faults/attack.hpp"
#include "framework/faults/fake_announcer.hpp"

namespace smc::test {
namespace {

using tcp = asio::ip::tcp;
using Restart = testing::TestWithParam<place>;

asio::awaitable<void> connects(acceptor& to) {
  const auto executor = co_await asio::this_coro::executor;
  const auto settings = settings_for(carrier::smc_d_mapped);
  stream client(executor, settings), server(executor, settings);
  outcome accepted;
  to.async_accept(server, store(accepted));
  co_await client.async_connect(to.local_endpoint(), asio::use_awaitable);
  co_await until([&] { return accepted.called; });
  EXPECT_EQ(client.transport(), transport_kind::smc_d) << client.fallback_reason().message();
  EXPECT_EQ(server.transport(), transport_kind::smc_d) << server.fallback_reason().message();
}

TEST_P(Restart, AnAcceptorThatTakesOverAPortIsFoundAtOnce) {
  world here(GetParam());
  here.run([&]() -> asio::awaitable<void> {
    const auto settings = settings_for(carrier::smc_d_mapped);
    std::optional<acceptor> listener(std::in_place, here.executor(), any_port(), settings);
    const tcp::endpoint port = listener->local_endpoint();
    for (int i = 0; i < 10; ++i) {
      co_await connects(*listener);
      listener.reset();
      listener.emplace(here.executor(), port, settings);
    }
  });
}

TEST_P(Restart, AnAcceptorBehindADeadAnnouncerIsFoundAtOnce) {
  world here(GetParam());
  here.run([&]() -> asio::awaitable<void> {
    const auto settings = settings_for(carrier::smc_d_mapped);
    for (int i = 0; i < 10; ++i) {
      tcp::endpoint port;
      {
        plain_server plain(here.executor());
        port = plain.endpoint();
        std::optional<fake_announcer> fake(std::in_place, port.port());
        stream client(here.executor(), settings);
        outcome connected;
        client.async_connect(port, store(connected));
        std::optional<raw_client> caller;
        co_await until([&] { return (caller = fake->caller()).has_value(); });
        fake.reset();
        caller.reset();
        co_await until([&] { return connected.called; });
        EXPECT_EQ(client.transport(), transport_kind::tcp);
      }
      acceptor listener(here.executor(), port, settings);
      co_await connects(listener);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Everywhere, Restart, both_places(), name_of_place);

}  // namespace
}  // namespace smc::test
