// How connections come about: connecting, accepting, and what is between them.
#include "conformance/fixture.hpp"

namespace smc::test {
namespace {

using Establishing = conformance;

constexpr asio::cancellation_type types[] = {asio::cancellation_type::terminal,
                                             asio::cancellation_type::partial,
                                             asio::cancellation_type::total};

tcp::endpoint refusing() {
  asio::io_context context;
  tcp::acceptor once(context, any_port());
  return once.local_endpoint();  // closed again
}

TEST_P(Establishing, EndpointsOfBothSidesMatch) {
  connected([](peers& p) -> asio::awaitable<void> {
    EXPECT_EQ(p.client.remote_endpoint(), p.at.endpoint());
    EXPECT_EQ(p.server.local_endpoint(), p.at.endpoint());
    EXPECT_EQ(p.server.remote_endpoint(), p.client.local_endpoint());
    EXPECT_TRUE(p.client.is_open() && p.server.is_open());
    co_return;
  });
}

TEST_P(Establishing, ConnectingCompletesBeforeAnybodyAccepts) {
  unconnected([](peers& p) -> asio::awaitable<void> {
    if (p.by != carrier::reference && p.by != carrier::tcp) {
      auto accepted =
          p.at.accept(p.server);  // SMC's handshake needs the server's loop, not its program
      auto connected = p.client.connect(p.at.endpoint());
      EXPECT_EQ(co_await connected.end(), std::error_code());
      EXPECT_EQ(co_await accepted.end(), std::error_code());
      co_return;
    }
    auto connected = p.client.connect(p.at.endpoint());
    EXPECT_EQ(co_await connected.end(), std::error_code());
    co_await send(p.client, "early");
    auto accepted = p.at.accept(p.server);
    EXPECT_EQ(co_await accepted.end(), std::error_code());
    EXPECT_EQ(co_await receive(p.server, 5), "early");
  });
}

TEST_P(Establishing, ARefusedConnectSaysSo) {
  unconnected([](peers& p) -> asio::awaitable<void> {
    auto connected = p.client.connect(refusing());
    EXPECT_EQ(co_await connected.end(), asio::error::connection_refused);
    EXPECT_EQ(p.server.connect_now(refusing()), asio::error::connection_refused);
  });
}

TEST_P(Establishing, AfterARefusalTheSameStreamConnectsElsewhere) {
  unconnected([](peers& p) -> asio::awaitable<void> {
    auto refused = p.client.connect(refusing());
    EXPECT_EQ(co_await refused.end(), asio::error::connection_refused);
    p.client.close();
    co_await p.connect();
    co_await send(p.client, "after all");
    EXPECT_EQ(co_await receive(p.server, 9), "after all");
  });
}

TEST_P(Establishing, ConnectingTwiceIsAlreadyConnected) {
  connected([](peers& p) -> asio::awaitable<void> {
    auto again = p.client.connect(p.at.endpoint());
    const auto error = co_await again.end();
    // Linux lets the second call after a non-blocking one succeed, and only that.
    if (p.by != carrier::reference) {
      EXPECT_EQ(error, asio::error::already_connected);
    }
    EXPECT_EQ(p.client.connect_now(p.at.endpoint()), asio::error::already_connected);
    co_await send(p.client, "still");
    EXPECT_EQ(co_await receive(p.server, 5), "still");
  });
}

TEST_P(Establishing, ConnectToAListenerThatWasClosedIsRefused) {
  unconnected([](peers& p) -> asio::awaitable<void> {
    const auto to = p.at.endpoint();
    EXPECT_EQ(p.at.close(), std::error_code());
    auto connected = p.client.connect(to);
    EXPECT_EQ(co_await connected.end(), asio::error::connection_refused);
  });
}

TEST_P(Establishing, AnOpenAndBoundStreamConnectsFromItsEndpoint) {
  unconnected([](peers& p) -> asio::awaitable<void> {
    EXPECT_EQ(p.client.open(), std::error_code());
    EXPECT_EQ(p.client.bind(any_port()), std::error_code());
    const auto from = p.client.local_endpoint();
    EXPECT_NE(from.port(), 0);
    co_await p.connect();
    EXPECT_EQ(p.client.local_endpoint(), from);
    EXPECT_EQ(p.server.remote_endpoint(), from);
  });
}

TEST_P(Establishing, ReadingAndWritingBeforeConnectingFails) {
  unconnected([](peers& p) -> asio::awaitable<void> {
    p.client.open();
    EXPECT_EQ(co_await read_end(p.client), asio::error::not_connected);
    EXPECT_EQ(co_await write_end(p.client), asio::error::broken_pipe);
  });
}

TEST_P(Establishing, ConnectThenCloseEndsTheConnect) {
  unconnected([](peers& p) -> asio::awaitable<void> {
    auto connected = p.client.connect(p.at.endpoint());
    p.client.close();
    const auto error = co_await connected.end();
    EXPECT_TRUE(!error || error == asio::error::operation_aborted) << error.message();
    EXPECT_FALSE(p.client.is_open());
    if (p.by == carrier::reference) co_return;
    // Nothing of it is left: the next one reaches its own peer.
    stream next(p.client.executor(), settings_for(p.by));
    p.client = subject(std::move(next), p.client.how());
  });
}

TEST_P(Establishing, ACancelledConnectLeavesAStreamThatConnectsAgain) {
  unconnected([](peers& p) -> asio::awaitable<void> {
    for (const auto type : types) {
      auto connected = p.client.connect(p.at.endpoint());
      connected.cancel(type);
      const auto error = co_await connected.end();
      EXPECT_TRUE(!error || error == asio::error::operation_aborted) << error.message();
      p.client.close();
    }
    // The listener may hold what was given up: accepted, and at its end.
    for (bool met = false; !met;) {
      auto accepted = p.at.accept(p.server);
      if (!p.client.is_open()) {
        auto connected = p.client.connect(p.at.endpoint());
        EXPECT_EQ(co_await connected.end(), std::error_code());
      }
      EXPECT_EQ(co_await accepted.end(), std::error_code());
      met = p.server.with([&](auto& s) {
        std::error_code ec;
        return s.remote_endpoint(ec) == p.client.local_endpoint() && !ec;
      });
      if (!met) p.server.close();
    }
    co_await send(p.client, "again");
    EXPECT_EQ(co_await receive(p.server, 5), "again");
  });
}

TEST_P(Establishing, AcceptGivesThePeersEndpoint) {
  unconnected([](peers& p) -> asio::awaitable<void> {
    tcp::endpoint peer;
    auto accepted = p.at.accept(p.server, peer);
    auto connected = p.client.connect(p.at.endpoint());
    EXPECT_EQ(co_await connected.end(), std::error_code());
    EXPECT_EQ(co_await accepted.end(), std::error_code());
    EXPECT_EQ(peer, p.client.local_endpoint());
  });
}

TEST_P(Establishing, AcceptReturnsANewStreamOnItsExecutor) {
  unconnected([](peers& p) -> asio::awaitable<void> {
    std::optional<subject> made;
    auto accepted = p.at.accept(made);
    auto connected = p.client.connect(p.at.endpoint());
    EXPECT_EQ(co_await connected.end(), std::error_code());
    EXPECT_EQ(co_await accepted.end(), std::error_code());
    co_await until([&made] { return made.has_value(); });
    EXPECT_TRUE(made->executor() == p.server.executor());
    co_await send(p.client, "new");
    EXPECT_EQ(co_await receive(*made, 3), "new");
  });
}

TEST_P(Establishing, AcceptReturnsANewStreamOnAnotherExecutor) {
  unconnected([](peers& p) -> asio::awaitable<void> {
    const asio::any_io_executor strand = asio::make_strand(p.server.executor());
    std::optional<subject> made;
    auto accepted = p.at.accept(strand, made);
    auto connected = p.client.connect(p.at.endpoint());
    EXPECT_EQ(co_await connected.end(), std::error_code());
    EXPECT_EQ(co_await accepted.end(), std::error_code());
    EXPECT_TRUE(made->executor() == strand);
    co_await send(p.client, "new");
    std::string in(3, '\0');
    std::error_code ec;
    EXPECT_EQ(made->wait_now(asio::socket_base::wait_read), std::error_code());
    EXPECT_EQ(made->read_now({asio::buffer(in)}, ec), 3u);
    EXPECT_EQ(in, "new");
  });
}

TEST_P(Establishing, AcceptIntoAnOpenStreamIsAlreadyOpen) {
  connected([](peers& p) -> asio::awaitable<void> {
    auto accepted = p.at.accept(p.server);
    subject another(p.client.executor(), p.by, p.client.how());
    auto connected = another.connect(p.at.endpoint());
    EXPECT_EQ(co_await accepted.end(), asio::error::already_open);
    const auto ignored = co_await connected.end();
    (void)ignored;
    co_await send(p.client, "unharmed");
    EXPECT_EQ(co_await receive(p.server, 8), "unharmed");
  });
}

TEST_P(Establishing, AcceptIsCancelledByItsSlotAndCanBeStartedAgain) {
  unconnected([](peers& p) -> asio::awaitable<void> {
    for (const auto type : types) {
      auto accepted = p.at.accept(p.server);
      co_await turns();
      accepted.cancel(type);
      EXPECT_EQ(co_await accepted.end(), asio::error::operation_aborted);
    }
    co_await p.connect();
  });
}

TEST_P(Establishing, CancelOfAnAcceptorEndsAllAccepts) {
  unconnected([](peers& p) -> asio::awaitable<void> {
    std::optional<subject> made;
    auto first = p.at.accept(p.server);
    auto second = p.at.accept(made);
    co_await turns();
    EXPECT_EQ(p.at.cancel(), std::error_code());
    EXPECT_FALSE(first.done() || second.done()) << "inside cancel()";
    EXPECT_EQ(co_await first.end(), asio::error::operation_aborted);
    EXPECT_EQ(co_await second.end(), asio::error::operation_aborted);
    co_await p.connect();
  });
}

TEST_P(Establishing, CloseOfAnAcceptorEndsAllAccepts) {
  unconnected([](peers& p) -> asio::awaitable<void> {
    auto accepted = p.at.accept(p.server);
    co_await turns();
    EXPECT_EQ(p.at.close(), std::error_code());
    EXPECT_FALSE(accepted.done()) << "inside close()";
    EXPECT_EQ(co_await accepted.end(), asio::error::operation_aborted);
    auto again = p.at.accept(p.server);
    EXPECT_EQ(co_await again.end(), asio::error::bad_descriptor);
  });
}

TEST_P(Establishing, AWaitOfAnAcceptorEndsWhenSomebodyComes) {
  unconnected([](peers& p) -> asio::awaitable<void> {
    auto wait = p.at.wait();
    co_await turns();
    EXPECT_FALSE(wait.done());
    auto connected = p.client.connect(p.at.endpoint());
    EXPECT_EQ(co_await wait.end(), std::error_code());
    auto accepted = p.at.accept(p.server);
    EXPECT_EQ(co_await accepted.end(), std::error_code());
    EXPECT_EQ(co_await connected.end(), std::error_code());
  });
}

TEST_P(Establishing, QueuedAcceptsAreServedInTurn) {
  unconnected([](peers& p) -> asio::awaitable<void> {
    subject second(p.client.executor(), p.by, p.client.how());
    subject other(p.client.executor(), p.by, p.client.how());
    auto first_accept = p.at.accept(p.server), second_accept = p.at.accept(second);
    auto first_connect = p.client.connect(p.at.endpoint());
    EXPECT_EQ(co_await first_connect.end(), std::error_code());
    EXPECT_EQ(co_await first_accept.end(), std::error_code());
    auto second_connect = other.connect(p.at.endpoint());
    EXPECT_EQ(co_await second_connect.end(), std::error_code());
    EXPECT_EQ(co_await second_accept.end(), std::error_code());
    EXPECT_EQ(p.server.remote_endpoint(), p.client.local_endpoint());
    EXPECT_EQ(second.remote_endpoint(), other.local_endpoint());
  });
}

TEST_P(Establishing, EachOfManyConnectionsReachesItsOwnPeer) {
  unconnected([](peers& p) -> asio::awaitable<void> {
    constexpr std::size_t count = 12;
    std::vector<subject> clients, servers;
    for (std::size_t i = 0; i < count; ++i) {
      clients.emplace_back(p.client.executor(), p.by, p.client.how());
      servers.emplace_back(p.client.executor(), p.by, p.client.how());
    }
    std::vector<operation> pending;
    for (std::size_t i = 0; i < count; ++i) {
      pending.push_back(p.at.accept(servers[i]));
      pending.push_back(clients[i].connect(p.at.endpoint()));
    }
    for (auto& each : pending) EXPECT_EQ(co_await each.end(), std::error_code());
    for (subject& each : clients) {
      co_await send(each, std::to_string(each.local_endpoint().port() + 100'000));
    }
    for (subject& each : servers) {
      EXPECT_EQ(co_await receive(each, 6), std::to_string(each.remote_endpoint().port() + 100'000));
    }
  });
}

TEST_P(Establishing, AListenerOnAnotherAddressOfThePortGetsItsOwnClients) {
  unconnected([](peers& p) -> asio::awaitable<void> {
    const tcp::endpoint beside(asio::ip::make_address_v4("127.0.0.2"), p.at.endpoint().port());
    listener two(p.client.executor(), beside, p.by, p.client.how());
    auto accepted = two.accept(p.server);
    auto connected = p.client.connect(beside);
    EXPECT_EQ(co_await connected.end(), std::error_code());
    EXPECT_EQ(co_await accepted.end(), std::error_code());
    EXPECT_EQ(p.server.local_endpoint(), beside);
    co_await send(p.client, "own");
    EXPECT_EQ(co_await receive(p.server, 3), "own");
  });
}

INSTANTIATE_TEST_SUITE_P(Everywhere, Establishing, in_styles_of_one_thread(), name_of_combination);

}  // namespace
}  // namespace smc::test
