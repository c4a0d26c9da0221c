// Processes that are killed, at any time, and what the others notice of it.
#include <asio/detached.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>

#include "framework/faults/attack.hpp"
#include "framework/faults/flow.hpp"
#include "support/other_process.hpp"

namespace smc::test {
namespace {

using tcp = asio::ip::tcp;
namespace fs = std::filesystem;

constexpr int kills = 100;

/// What of a port's rendezvous can be seen from outside.
std::vector<std::string> traces_of(std::uint32_t port) {
  const std::string name = "smc." + std::to_string(port) + ".";
  std::vector<std::string> found;
  std::ifstream names("/proc/net/unix");
  for (std::string line; std::getline(names, line);) {
    if (line.find("@" + name) != std::string::npos) found.push_back(line);
  }
  std::error_code ignored;
  for (const char* folder : {"/tmp", "/dev/shm"}) {
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
      if (entry.path().filename().string().find(name) != std::string::npos) {
        found.push_back(entry.path().string());
      }
    }
  }
  return found;
}

// ---- the roles ----------------------------------------------------------------------------------

/// One side of the flow, on a loop of its own.
void flow_without_end(event_loop& loop, stream& through, shared_facts& facts) {
  flow_result got;
  asio::co_spawn(loop.get_executor(), write_without_end(through, facts.written), asio::detached);
  asio::co_spawn(loop.get_executor(), read_to_the_end(through, got), asio::detached);
  facts.step = 1;
  loop.run();
}

void client_with_data(shared_facts& facts, const role_argument& to) {
  event_loop loop;
  stream client(loop, settings_for(carrier::smc_d_mapped));
  client.connect(at_port(to.port));
  if (client.transport() == transport_kind::smc_d) flow_without_end(loop, client, facts);
}

void server_with_data(shared_facts& facts, const role_argument&) {
  event_loop loop;
  acceptor listener(loop, any_port(), settings_for(carrier::smc_d_mapped));
  facts.port = listener.local_endpoint().port();
  stream server(loop, settings_for(carrier::smc_d_mapped));
  listener.accept(server);
  if (server.transport() == transport_kind::smc_d) flow_without_end(loop, server, facts);
}

/// Connects, says a word, closes, over and over.
void restless_client(shared_facts& facts, const role_argument& to) {
  event_loop loop;
  for (;;) {
    stream client(loop, settings_for(carrier::smc_d_mapped));
    client.connect(at_port(to.port));
    asio::write(client, asio::buffer("word", 4));
    char back[4];
    asio::read(client, asio::buffer(back));
    ++facts.step;
  }
}

/// Says what a client says, up to a point, and dies of it.
void client_that_dies(shared_facts&, const role_argument& to) {
  asio::io_context context;
  tcp::socket socket(context, tcp::v4());
  socket.bind(any_port());
  raw_client client(to.port);
  if (to.number >= 1) client.send(intent_for(1, at_port(to.port)));
  if (to.number >= 2) socket.connect(at_port(to.port));
  if (to.number >= 3) client.send(proposal_for(1, socket.local_endpoint(), at_port(to.port)));
  if (to.number >= 4) {
    while (!client.receive()) {
      pollfd p{client.socket().get(), POLLIN, 0};
      (void)system::poll({&p, 1}, std::chrono::seconds(1));
    }
  }
  ::raise(SIGKILL);
}

/// Announces itself and serves nobody.
void server_that_never_serves(shared_facts& facts, const role_argument&) {
  event_loop loop;
  acceptor listener(loop, any_port(), settings_for(carrier::smc_d_mapped));
  facts.port = listener.local_endpoint().port();
  for (;;) ::pause();
}

// ---- the tests ----------------------------------------------------------------------------------

class Kill : public testing::TestWithParam<place> {};

/// Of a stream whose peer was killed: everything that was written is read, then it is over.
void expect_end_of_killed_peer(const flow_result& got, std::uint64_t written) {
  EXPECT_TRUE(got.as_written);
  EXPECT_GE(got.bytes, written);
  EXPECT_TRUE(got.error == asio::error::connection_reset || got.error == asio::error::eof)
      << got.error.message();
}

/// The survivor's part of a flow: the peer is killed when so much has come.
asio::awaitable<void> survive(stream& us, other_process& peer, std::uint64_t kill_at) {
  const auto executor = co_await asio::this_coro::executor;
  std::atomic<std::uint64_t> written{0};
  flow_result got;
  outcome reader, writer;
  asio::co_spawn(executor, read_to_the_end(us, got), [&](std::exception_ptr e) {
    reader = {true, {}, e ? 1u : 0u};
  });
  asio::co_spawn(executor, write_without_end(us, written),
                 [&](std::exception_ptr e, std::error_code error) {
                   writer = {true, error, e ? 1u : 0u};
                 });
  co_await until([&] { return got.bytes >= kill_at || reader.called; });
  peer.kill();
  co_await until([&] { return reader.called && writer.called; });
  expect_end_of_killed_peer(got, peer.facts().written);
  EXPECT_TRUE(writer.error == asio::error::connection_reset ||
              writer.error == asio::error::broken_pipe)
      << writer.error.message();
}

std::uint64_t kill_point(std::mt19937& random) {
  // From the first byte to several rings full.
  return std::uint64_t{1} << std::uniform_int_distribution<int>(0, 19)(random);
}

TEST_P(Kill, AServerOutlivesAHundredClientsKilledWhileDataFlows) {
  world here(GetParam());
  here.run([&]() -> asio::awaitable<void> {
    std::mt19937 random(1);
    const auto settings = settings_for(carrier::smc_d_mapped);
    acceptor listener(here.executor(), any_port(), settings);
    const auto port = listener.local_endpoint().port();
    std::optional<resources> before;
    for (int i = 0; i < kills; ++i) {
      {
        other_process client(client_with_data, {port, 0});
        stream server(here.executor(), settings);
        co_await listener.async_accept(server, asio::use_awaitable);
        EXPECT_EQ(server.transport(), transport_kind::smc_d) << server.fallback_reason().message();
        co_await survive(server, client, kill_point(random));
      }
      if (before) continue;
      co_await nothing_is_left(resources::of_this_process());
      before = resources::of_this_process();  // what the context keeps is there now
    }
    // Looked for while the acceptor waits, as a server does.
    outcome nobody;
    stream server(here.executor(), settings);
    listener.async_accept(server, store(nobody));
    co_await nothing_is_left(*before);
    EXPECT_EQ(traces_of(port).size(), 1u);  // the acceptor's own name
    listener.close();
    co_await until([&] { return nobody.called; });
    EXPECT_TRUE(traces_of(port).empty());
  });
}

TEST_P(Kill, AClientOutlivesAHundredServersKilledWhileDataFlows) {
  world here(GetParam());
  here.run([&]() -> asio::awaitable<void> {
    std::mt19937 random(2);
    const auto settings = settings_for(carrier::smc_d_mapped);
    std::optional<resources> before;
    for (int i = 0; i < kills; ++i) {
      std::uint32_t port = 0;
      {
        other_process server(server_with_data);
        co_await until([&] { return (port = server.facts().port) != 0; });
        stream client(here.executor(), settings);
        co_await client.async_connect(at_port(port), asio::use_awaitable);
        EXPECT_EQ(client.transport(), transport_kind::smc_d) << client.fallback_reason().message();
        co_await survive(client, server, kill_point(random));
      }
      EXPECT_TRUE(traces_of(port).empty());
      if (!before) before = resources::of_this_process();
    }
    co_await nothing_is_left(*before);
  });
}

TEST_P(Kill, AServerOutlivesClientsKilledWhileTheyConnectAndClose) {
  world here(GetParam());
  here.run([&]() -> asio::awaitable<void> {
    std::mt19937 random(3);
    // A wait that only its timeout could end would last longer than the test.
    echo_server server(here.executor(), std::chrono::minutes(10));
    co_await serves_everybody(server);
    const resources before = resources::of_this_process();
    for (int i = 0; i < kills; ++i) {
      other_process client(restless_client, {server.endpoint().port(), 0});
      const auto enough = std::uniform_int_distribution<std::uint32_t>(1, 20)(random);
      co_await until([&] { return client.facts().step >= enough; });
      co_await turns(static_cast<int>(enough * 7 % 50));
      client.kill();
      co_await until([&] { return server.open() == 0; });
      server.forget_accepted();
    }
    co_await serves_everybody(server);
    co_await nothing_is_left(before);
  });
}

TEST_P(Kill, AServerOutlivesClientsThatDieInTheHandshake) {
  world here(GetParam());
  here.run([&]() -> asio::awaitable<void> {
    echo_server server(here.executor(), std::chrono::minutes(10));
    co_await serves_everybody(server);
    const resources before = resources::of_this_process();
    for (int i = 0; i < 50; ++i) {
      other_process client(client_that_dies, {server.endpoint().port(), i % 5});
      co_await until([&] { return client.ended(); });
      if (i % 5 >= 2) {
        EXPECT_EQ(co_await server.next_accepted(), transport_kind::tcp);
      }
      if (i % 10 == 9) co_await serves_everybody(server);
    }
    co_await nothing_is_left(before);
  });
}

TEST_P(Kill, AClientOutlivesServersKilledWithItsProposal) {
  world here(GetParam());
  here.run([&]() -> asio::awaitable<void> {
    auto settings = settings_for(carrier::smc_d_mapped);
    settings.handshake_timeout = std::chrono::minutes(10);
    std::optional<resources> before;
    for (int i = 0; i < 50; ++i) {
      {
        std::uint32_t port = 0;
        other_process server(server_that_never_serves);
        co_await until([&] { return (port = server.facts().port) != 0; });
        stream client(here.executor(), settings);
        outcome connected;
        client.async_connect(at_port(port), store(connected));
        co_await turns(i);
        EXPECT_FALSE(connected.called);
        server.kill();
        co_await until([&] { return connected.called; });
        if (!connected.error) {  // the listener's end came after the handshake's
          EXPECT_EQ(client.transport(), transport_kind::tcp);
          char byte = 0;
          std::error_code error;
          (void)co_await client.async_read_some(asio::buffer(&byte, 1),
                                                asio::redirect_error(asio::use_awaitable, error));
          EXPECT_TRUE(error == asio::error::connection_reset || error == asio::error::eof)
              << error.message();
        }
      }
      if (!before) before = resources::of_this_process();
    }
    co_await nothing_is_left(*before);
  });
}

INSTANTIATE_TEST_SUITE_P(Everywhere, Kill, both_places(), name_of_place);

}  // namespace
}  // namespace smc::test
