// Plain and SMC clients of one acceptor, mixed: nobody is taken for the other.
#include <asio/detached.hpp>
#include <cstdlib>
#include <map>

#include "framework/faults/echo_server.hpp"

namespace smc::test {
namespace {

using tcp = asio::ip::tcp;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int connections = 2'000;
#else
constexpr int connections = 20'000;
#endif
constexpr int in_flight = 32;

int round_trips() {
  const char* text = std::getenv("SMC_TEST_ROUND_TRIPS");
  return text ? std::atoi(text) : 5'000;
}

/// What the two sides found.
struct tally {
  int wrong_clients = 0;
  int wrong_servers = 0;
  int done = 0;
  std::map<std::pair<tcp::endpoint, tcp::endpoint>, transport_kind> accepted;  // client, server
};

/// One byte each way; what the server says of the connection decides.
template <typename Stream>
asio::awaitable<void> exchange(Stream& with, transport_kind expected_kind, tally& count) {
  // One port of the client's may serve several connections, to different addresses.
  const auto own = std::pair(with.local_endpoint(), with.remote_endpoint());
  char byte = 'a';
  co_await asio::async_write(with, asio::buffer(&byte, 1), asio::use_awaitable);
  co_await asio::async_read(with, asio::buffer(&byte, 1), asio::use_awaitable);
  if (byte != 'b') ++count.wrong_servers;
  const auto found = count.accepted.find(own);
  if (found == count.accepted.end() || found->second != expected_kind) ++count.wrong_servers;
  count.accepted.erase(own);
}

/// Connects to one of the addresses of the loopback after the other.
asio::awaitable<void> clients(std::uint16_t port, int first, tally& count) {
  const auto executor = co_await asio::this_coro::executor;
  for (int i = first; i < connections; i += in_flight) {
    const auto host = 0x7f000001u + static_cast<unsigned>(i % 250);
    const tcp::endpoint to(asio::ip::address_v4(host), port);
    if ((i / in_flight + i) % 2 == 0) {
      tcp::socket plain(executor);
      co_await plain.async_connect(to, asio::use_awaitable);
      co_await exchange(plain, transport_kind::tcp, count);
      // The port is free at once: there are not enough of them to wait for each.
      plain.set_option(asio::socket_base::linger(true, 0));
    } else {
      stream faster(executor, settings_for(carrier::smc_d_mapped));
      co_await faster.async_connect(to, asio::use_awaitable);
      if (faster.transport() != transport_kind::smc_d) ++count.wrong_clients;
      co_await exchange(faster, transport_kind::smc_d, count);
    }
    ++count.done;
  }
}

asio::awaitable<void> answer(stream peer) {
  char byte = 0;
  std::error_code error;
  co_await asio::async_read(peer, asio::buffer(&byte, 1),
                            asio::redirect_error(asio::use_awaitable, error));
  ++byte;
  if (error) co_return;
  co_await asio::async_write(peer, asio::buffer(&byte, 1),
                             asio::redirect_error(asio::use_awaitable, error));
  // The client closes first.
  co_await asio::async_read(peer, asio::buffer(&byte, 1),
                            asio::redirect_error(asio::use_awaitable, error));
}

asio::awaitable<void> accept_all(acceptor& listener, tally& count) {
  const auto executor = co_await asio::this_coro::executor;
  for (int i = 0; i < connections; ++i) {
    stream peer(executor, settings_for(carrier::smc_d_mapped));
    co_await listener.async_accept(peer, asio::use_awaitable);
    count.accepted[std::pair(peer.remote_endpoint(), peer.local_endpoint())] = peer.transport();
    asio::co_spawn(executor, answer(std::move(peer)), asio::detached);
  }
}

TEST(Mixed, EachOfTwentyThousandConnectionsIsWhatItsClientIs) {
  world here(place::event_loop);
  here.run([&]() -> asio::awaitable<void> {
    tally count;
    int failed = 0;
    const auto report = [&failed](std::exception_ptr e) { failed += e ? 1 : 0; };
    acceptor listener(here.executor(), tcp::endpoint(asio::ip::address_v4::any(), 0),
                      settings_for(carrier::smc_d_mapped));
    bool all_accepted = false;
    asio::co_spawn(here.executor(), accept_all(listener, count), [&](std::exception_ptr e) {
      report(e);
      all_accepted = true;
    });
    const auto port = listener.local_endpoint().port();
    int running = in_flight;
    for (int i = 0; i < in_flight; ++i) {
      asio::co_spawn(here.executor(), clients(port, i, count), [&](std::exception_ptr e) {
        report(e);
        --running;
      });
    }
    // Waits for progress, however slow the machine is.
    while (running != 0) {
      const int before = count.done;
      co_await until([&] { return running == 0 || count.done != before; });
    }
    if (failed == 0) co_await until([&] { return all_accepted; });
    listener.close();
    co_await until([&] { return all_accepted; });
    EXPECT_EQ(failed, 0);
    EXPECT_EQ(count.done, connections);
    EXPECT_EQ(count.wrong_clients, 0);
    EXPECT_EQ(count.wrong_servers, 0);
    EXPECT_TRUE(count.accepted.empty());
  });
}

// Each side answers only when the other one has gone to sleep over it.
TEST(Mixed, NoWakeUpIsLostBetweenTwoLoopsThatSleepEachTime) {
  const int count = round_trips();
  event_loop_options sleepy;
  sleepy.spin = spin_policy::never;
  event_loop here(sleepy), there(sleepy);
  acceptor listener(here, any_port(), settings_for(carrier::smc_d_mapped));
  stream client(there, settings_for(carrier::smc_d_mapped));
  int answered = 0, asked = 0;
  std::exception_ptr failures[2];
  const auto late = [](asio::steady_timer& timer) {
    timer.expires_after(std::chrono::microseconds(100));
    return timer.async_wait(asio::use_awaitable);
  };
  std::thread thread([&] {
    asio::co_spawn(
        there,
        [&]() -> asio::awaitable<void> {
          asio::steady_timer timer(there.get_executor());
          co_await client.async_connect(listener.local_endpoint(), asio::use_awaitable);
          EXPECT_EQ(client.transport(), transport_kind::smc_d);
          for (; asked < count; ++asked) {
            co_await late(timer);
            char byte = 'q';
            co_await asio::async_write(client, asio::buffer(&byte, 1), asio::use_awaitable);
            co_await asio::async_read(client, asio::buffer(&byte, 1), asio::use_awaitable);
          }
          client.close();
        },
        [&](std::exception_ptr e) { failures[0] = e; });
    there.run();
  });
  asio::co_spawn(
      here,
      [&]() -> asio::awaitable<void> {
        asio::steady_timer timer(here.get_executor());
        stream server(here, settings_for(carrier::smc_d_mapped));
        co_await listener.async_accept(server, asio::use_awaitable);
        for (; answered < count; ++answered) {
          char byte = 0;
          co_await asio::async_read(server, asio::buffer(&byte, 1), asio::use_awaitable);
          co_await late(timer);
          co_await asio::async_write(server, asio::buffer(&byte, 1), asio::use_awaitable);
        }
      },
      [&](std::exception_ptr e) { failures[1] = e; });
  here.run();
  thread.join();
  EXPECT_FALSE(failures[0]);
  EXPECT_FALSE(failures[1]);
  EXPECT_EQ(asked, count);
  EXPECT_EQ(answered, count);
}

}  // namespace
}  // namespace smc::test
