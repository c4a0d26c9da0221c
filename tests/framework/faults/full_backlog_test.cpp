// A listener whose backlog is full: the kernel drops what comes, and the client's TCP tries again
// after 1 s, 3 s, …, while its proposals have long gone out.
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <csignal>

#include "framework/faults/attack.hpp"
#include "support/other_process.hpp"

namespace smc::test {
namespace {

using tcp = asio::ip::tcp;

/// Has a backlog of one, accepts as many as facts.step says, and echoes.
void narrow_server(shared_facts& facts, const role_argument&) {
  event_loop loop;
  acceptor listener(loop.get_executor(), settings_for(carrier::smc_d_mapped));
  listener.open(tcp::v4());
  listener.bind(any_port());
  listener.listen(0);
  facts.port = listener.local_endpoint().port();
  const auto echo = [](stream peer) -> asio::awaitable<void> {
    for (std::string text(1, ' ');;) {
      co_await asio::async_read(peer, asio::buffer(text), asio::use_awaitable);
      co_await asio::async_write(peer, asio::buffer(text), asio::use_awaitable);
    }
  };
  const auto accept = [&]() -> asio::awaitable<void> {
    for (std::uint32_t accepted = 0;; ++accepted) {
      while (accepted >= facts.step) co_await turns();
      asio::co_spawn(loop, echo(co_await listener.async_accept(asio::use_awaitable)),
                     asio::detached);
    }
  };
  asio::co_spawn(loop, accept(), asio::detached);
  loop.run();
}

class FullBacklog : public testing::TestWithParam<place> {
 protected:
  static constexpr std::uint32_t all = 1000;

  /// Runs `test` where a further connect stays without an answer.
  void with_full_backlog(const std::function<asio::awaitable<void>()>& test) {
    here_.run([&]() -> asio::awaitable<void> {
      co_await until([this] { return server_.facts().port != 0; });
      outcome first;
      outcome second;
      tcp::socket filler(here_.executor());
      tcp::socket in_vain(here_.executor());
      filler.async_connect(to(), store(first));
      co_await until([&first] { return first.called; });
      in_vain.async_connect(to(), store(second));
      co_await turns();
      EXPECT_FALSE(second.called) << "the backlog is not full";
      in_vain.close();
      co_await test();
    });
  }

  tcp::endpoint to() const { return at_port(server_.facts().port); }

  asio::awaitable<void> pass(std::chrono::milliseconds time) {
    asio::steady_timer timer(here_.executor(), time);
    co_await timer.async_wait(asio::use_awaitable);
  }

  /// The server can do nothing for so long.
  void connects_to_a_stopped_server(std::chrono::milliseconds handshake_timeout,
                                    std::chrono::milliseconds stopped) {
    with_full_backlog([=, this]() -> asio::awaitable<void> {
      server_.signal(SIGSTOP);
      stream client(here_.executor(), patient(handshake_timeout));
      outcome connected;
      client.async_connect(to(), store(connected));
      co_await pass(stopped);
      EXPECT_FALSE(connected.called);
      server_.facts().step = all;
      server_.signal(SIGCONT);
      co_await ends_on_shared_memory(client, connected);
    });
  }

  asio::awaitable<void> ends_on_shared_memory(stream& client, outcome& connected) {
    co_await until([&connected] { return connected.called; });
    EXPECT_FALSE(connected.error) << connected.error.message();
    EXPECT_EQ(client.transport(), transport_kind::smc_d) << client.fallback_reason().message();
    EXPECT_EQ(client.remote_endpoint(), to());
    server_.facts().step = all;
    EXPECT_EQ(co_await echoed(client, "hello"), "hello");
  }

  static config patient(std::chrono::milliseconds handshake_timeout) {
    auto settings = settings_for(carrier::smc_d_mapped);
    settings.handshake_timeout = handshake_timeout;
    return settings;
  }

  world here_{GetParam()};
  other_process server_{narrow_server};
};

TEST_P(FullBacklog, AClientGetsItsTransportWhenThereIsRoom) {
  connects_to_a_stopped_server(patience, 1ms);
}

TEST_P(FullBacklog, AClientGetsItsTransportThoughThatTakesLongerThanTheHandshakeMay) {
  connects_to_a_stopped_server(2500ms, 2600ms);
}

TEST_P(FullBacklog, AClientGetsItsTransportFromAServerThatDoesNotAcceptYet) {
  with_full_backlog([this]() -> asio::awaitable<void> {
    stream client(here_.executor(), patient(10s));
    outcome connected;
    client.async_connect(to(), store(connected));
    co_await ends_on_shared_memory(client, connected);
  });
}

TEST_P(FullBacklog, AConnectThatIsCancelledLeavesRoomForTheNext) {
  with_full_backlog([this]() -> asio::awaitable<void> {
    server_.signal(SIGSTOP);
    {
      stream client(here_.executor(), patient(patience));
      outcome connected;
      client.async_connect(to(), store(connected));
      co_await turns();
      client.cancel();
      co_await until([&connected] { return connected.called; });
      EXPECT_EQ(connected.error, asio::error::operation_aborted);
    }
    server_.facts().step = all;
    server_.signal(SIGCONT);
    stream client(here_.executor(), patient(patience));
    outcome connected;
    client.async_connect(to(), store(connected));
    co_await ends_on_shared_memory(client, connected);
  });
}

INSTANTIATE_TEST_SUITE_P(Everywhere, FullBacklog, both_places(), name_of_place);

}  // namespace
}  // namespace smc::test
