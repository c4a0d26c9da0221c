// A server that does not answer for a while: what does not fit into the rendezvous meanwhile is
// TCP, and what stands already goes on.
#include <csignal>

#include "framework/faults/attack.hpp"
#include "support/other_process.hpp"

namespace smc::test {
namespace {

using tcp = asio::ip::tcp;
using BusyPeer = testing::TestWithParam<place>;

void echoing_server(shared_facts& facts, const role_argument&) {
  event_loop loop;
  echo_server server(loop.get_executor());
  facts.port = server.endpoint().port();
  loop.run();
}

TEST_P(BusyPeer, MoreClientsThanItsRendezvousHoldsCostNoEstablishedStream) {
  world here(GetParam());
  here.run([&]() -> asio::awaitable<void> {
    other_process server(echoing_server);
    std::uint32_t port = 0;
    co_await until([&] { return (port = server.facts().port) != 0; });
    const tcp::endpoint to = at_port(port);
    stream standing(here.executor(), settings_for(carrier::smc_d_mapped));
    co_await standing.async_connect(to, asio::use_awaitable);
    EXPECT_EQ(standing.transport(), transport_kind::smc_d);
    EXPECT_EQ(co_await echoed(standing, "before"), "before");

    server.signal(SIGSTOP);
    {
      auto impatient = settings_for(carrier::smc_d_mapped);
      impatient.handshake_timeout = std::chrono::milliseconds(100);
      constexpr std::size_t count = 1000;
      std::vector<stream> clients;
      std::vector<outcome> connected(count);
      for (std::size_t i = 0; i < count; ++i) {
        clients.emplace_back(here.executor(), impatient).async_connect(to, store(connected[i]));
      }
      for (std::size_t i = 0; i < count; ++i) {
        co_await until([&] { return connected[i].called; });
        EXPECT_FALSE(connected[i].error) << connected[i].error.message();
        EXPECT_EQ(clients[i].transport(), transport_kind::tcp);
        EXPECT_TRUE(clients[i].fallback_reason() == reason::handshake_timed_out ||
                    clients[i].fallback_reason() == reason::rendezvous_unreachable)
            << clients[i].fallback_reason().message();
      }
    }
    server.signal(SIGCONT);

    EXPECT_EQ(co_await echoed(standing, "behind"), "behind");
    for (int i = 0; i < 20; ++i) {
      stream next(here.executor(), settings_for(carrier::smc_d_mapped));
      co_await next.async_connect(to, asio::use_awaitable);
      EXPECT_EQ(next.transport(), transport_kind::smc_d) << next.fallback_reason().message();
      EXPECT_EQ(co_await echoed(next, "next"), "next");
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Everywhere, BusyPeer, both_places(), name_of_place);

}  // namespace
}  // namespace smc::test
