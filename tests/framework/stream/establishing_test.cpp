// How connections come about: accepting, connecting, and why something is TCP.
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_future.hpp>

#include "setting.hpp"

namespace smc::test {
namespace {

using tcp = asio::ip::tcp;
using Establishing = each_setting;

TEST_P(Establishing, AcceptIsCancelledByItsSlotAndCanBeStartedAgain) {
  world here(where());
  here.run([&]() -> asio::awaitable<void> {
    pair p(here.executor(), by());
    for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                            asio::cancellation_type::total}) {
      asio::cancellation_signal signal;
      outcome accepted;
      p.listener.async_accept(p.server,
                              asio::bind_cancellation_slot(signal.slot(), store(accepted)));
      co_await turns();
      signal.emit(type);
      EXPECT_FALSE(accepted.called);
      co_await until([&accepted] { return accepted.called; });
      EXPECT_EQ(accepted.error, asio::error::operation_aborted);
    }
    co_await p.connect();
  });
}

TEST_P(Establishing, CancelAndCloseOfAnAcceptorAbortWhatIsPending) {
  world here(where());
  here.run([&]() -> asio::awaitable<void> {
    pair p(here.executor(), by());
    outcome cancelled, closed;
    p.listener.async_accept(p.server, store(cancelled));
    co_await turns();
    p.listener.cancel();
    EXPECT_FALSE(cancelled.called);
    co_await until([&cancelled] { return cancelled.called; });
    p.listener.async_accept(p.server, store(closed));
    co_await turns();
    p.listener.close();
    EXPECT_FALSE(closed.called);
    co_await until([&closed] { return closed.called; });
    EXPECT_EQ(cancelled.error, asio::error::operation_aborted);
    EXPECT_EQ(closed.error, asio::error::operation_aborted);
  });
}

TEST_P(Establishing, IsRefusedWhereThePortIsAnnouncedForAnotherAddress) {
  world here(where());
  here.run([&]() -> asio::awaitable<void> {
    acceptor listener(here.executor(), {asio::ip::make_address("127.0.0.2"), 0}, settings());
    const tcp::endpoint nobody(asio::ip::address_v4::loopback(), listener.local_endpoint().port());
    stream client(here.executor(), settings());
    std::error_code error;
    co_await client.async_connect(nobody, asio::redirect_error(asio::use_awaitable, error));
    EXPECT_EQ(error, asio::error::connection_refused);
  });
}

TEST_P(Establishing, EachOfManyConnectionsReachesItsOwnPeer) {
  world here(where());
  here.run([&]() -> asio::awaitable<void> {
    acceptor listener(here.executor(), any_port(), settings());
    std::vector<stream> clients, servers;
    std::size_t accepted = 0, connected = 0;
    constexpr std::size_t count = 20;
    for (std::size_t i = 0; i < count; ++i) {
      clients.emplace_back(here.executor(), settings());
      servers.emplace_back(here.executor(), settings());
    }
    for (std::size_t i = 0; i < count; ++i) {
      listener.async_accept(servers[i],
                            [&accepted](std::error_code ec) { accepted += ec ? 0 : 1; });
      clients[i].async_connect(listener.local_endpoint(),
                               [&connected](std::error_code ec) { connected += ec ? 0 : 1; });
    }
    co_await until([&] { return accepted == count && connected == count; });
    for (stream& client : clients) {
      EXPECT_EQ(client.transport(), expected(by()));
      const auto port = std::to_string(client.local_endpoint().port() + 100'000);
      co_await asio::async_write(client, asio::buffer(port), asio::use_awaitable);
    }
    for (stream& server : servers) {
      EXPECT_EQ(co_await read_text(server, 6),
                std::to_string(server.remote_endpoint().port() + 100'000));
    }
  });
}

TEST_P(Establishing, ARangeIsTriedUntilOneAnswers) {
  world here(where());
  here.run([&]() -> asio::awaitable<void> {
    pair p(here.executor(), by());
    tcp::acceptor silent(here.executor(), tcp::v4());
    silent.bind(any_port());  // bound, not listening: refused
    std::vector<tcp::endpoint> range;
    range.push_back(silent.local_endpoint());
    range.push_back(p.listener.local_endpoint());
    outcome accepted;
    p.listener.async_accept(p.server, store(accepted));
    EXPECT_EQ(co_await smc::async_connect(p.client, range, asio::use_awaitable),
              p.listener.local_endpoint());
    co_await until([&accepted] { return accepted.called; });
    EXPECT_EQ(p.client.transport(), p.kind);
    const std::vector<tcp::endpoint> none, refused(1, silent.local_endpoint());
    stream nobody(here.executor(), settings());
    std::error_code ec;
    co_await smc::async_connect(nobody, refused, asio::redirect_error(asio::use_awaitable, ec));
    EXPECT_EQ(ec, asio::error::connection_refused);
    co_await smc::async_connect(nobody, none, asio::redirect_error(asio::use_awaitable, ec));
    EXPECT_EQ(ec, asio::error::not_found);
  });
}

TEST_P(Establishing, AcceptorsOfOnePortNumberGetTheirOwnClients) {
  world here(where());
  here.run([&]() -> asio::awaitable<void> {
    acceptor one(here.executor(), any_port(), settings());
    const auto port = one.local_endpoint().port();
    acceptor two(here.executor(), tcp::endpoint(asio::ip::make_address_v4("127.0.0.2"), port),
                 settings());
    for (acceptor* to : {&two, &one}) {
      stream client(here.executor(), settings()), server(here.executor(), settings());
      outcome accepted;
      to->async_accept(server, store(accepted));
      co_await client.async_connect(to->local_endpoint(), asio::use_awaitable);
      co_await until([&accepted] { return accepted.called; });
      EXPECT_EQ(client.transport(), expected(by())) << client.fallback_reason().message();
      EXPECT_EQ(server.local_endpoint(), to->local_endpoint());
      co_await asio::async_write(client, asio::buffer("own", 3), asio::use_awaitable);
      EXPECT_EQ(co_await read_text(server, 3), "own");
    }
  });
}

TEST_P(Establishing, APlainServerIsReachedByTcpWithTheReason) {
  world here(where());
  here.run([&]() -> asio::awaitable<void> {
    tcp::acceptor plain(here.executor(), any_port());
    stream client(here.executor(), settings());
    co_await client.async_connect(plain.local_endpoint(), asio::use_awaitable);
    tcp::socket peer = co_await plain.async_accept(asio::use_awaitable);
    EXPECT_EQ(client.transport(), transport_kind::tcp);
    EXPECT_EQ(client.fallback_reason(),
              by() == carrier::tcp ? std::error_code() : make_error_code(reason::peer_unknown));
    co_await asio::async_write(client, asio::buffer("plain", 5), asio::use_awaitable);
    std::string got(5, '\0');
    co_await asio::async_read(peer, asio::buffer(got), asio::use_awaitable);
    EXPECT_EQ(got, "plain");
  });
}

TEST_P(Establishing, WhereFallingBackIsForbiddenConnectFailsWithTheReason) {
  if (by() == carrier::tcp) GTEST_SKIP() << "TCP alone is no fall-back";
  world here(where());
  here.run([&]() -> asio::awaitable<void> {
    tcp::acceptor plain(here.executor(), any_port());
    config strict = settings();
    strict.fallback = fallback_policy::forbid;
    stream client(here.executor(), strict);
    std::error_code ec;
    co_await client.async_connect(plain.local_endpoint(),
                                  asio::redirect_error(asio::use_awaitable, ec));
    EXPECT_EQ(ec, reason::peer_unknown);
  });
}

TEST_P(Establishing, APlainClientIsAcceptedAtOnce) {
  world here(where());
  here.run([&]() -> asio::awaitable<void> {
    acceptor listener(here.executor(), any_port(), settings());
    tcp::socket client(here.executor());
    co_await client.async_connect(listener.local_endpoint(), asio::use_awaitable);
    stream server = co_await listener.async_accept(asio::use_awaitable);
    EXPECT_EQ(server.transport(), transport_kind::tcp);
    co_await asio::async_write(client, asio::buffer("plain", 5), asio::use_awaitable);
    EXPECT_EQ(co_await read_text(server, 5), "plain");
  });
}

INSTANTIATE_TEST_SUITE_P(Everywhere, Establishing, all_settings(), name_of_setting);

class AcrossLoops : public testing::TestWithParam<carrier> {};

TEST_P(AcrossLoops, AStreamIsAcceptedOnALoopOfAnotherThread) {
  event_loop here, there;
  auto work = asio::make_work_guard(there);
  std::thread thread([&there] { there.run(); });
  {
    acceptor listener(here, any_port(), settings_for(GetParam()));
    stream client(here, settings_for(GetParam()));
    std::future<void> echoed;
    bool connected = false;
    std::string got;
    listener.async_accept(there, [&](std::error_code ec, stream server) {
      ASSERT_FALSE(ec);
      EXPECT_EQ(server.transport(), expected(GetParam()));
      echoed = asio::co_spawn(
          there,
          [](stream s) -> asio::awaitable<void> {
            for (int i = 0; i < 100; ++i) {
              const std::string text = co_await read_text(s, 5);
              co_await asio::async_write(s, asio::buffer(text), asio::use_awaitable);
            }
          }(std::move(server)),
          asio::use_future);
    });
    asio::co_spawn(
        here,
        [&]() -> asio::awaitable<void> {
          co_await client.async_connect(listener.local_endpoint(), asio::use_awaitable);
          connected = true;
          for (int i = 0; i < 100; ++i) {
            co_await asio::async_write(client, asio::buffer("there", 5), asio::use_awaitable);
            got = co_await read_text(client, 5);
          }
        },
        [](std::exception_ptr e) { EXPECT_FALSE(e); });
    here.run_for(patience);
    EXPECT_TRUE(connected);
    EXPECT_EQ(got, "there");
    EXPECT_TRUE(echoed.valid());
    if (echoed.valid() && echoed.wait_for(patience) == std::future_status::ready) echoed.get();
  }
  work.reset();
  thread.join();
}

INSTANTIATE_TEST_SUITE_P(Everywhere, AcrossLoops, all_carriers());

}  // namespace
}  // namespace smc::test
