// Peers that seem near but share no memory with us, and peers of another user
// (eProsima/Fast-DDS #2624, #5396 and #5258, openucx/ucx #7600, eclipse-iceoryx/iceoryx #1369).
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <asio/detached.hpp>
#include <asio/experimental/awaitable_operators.hpp>

#include "framework/faults/echo_server.hpp"
#include "framework/faults/fake_announcer.hpp"
#include "setting.hpp"
#include "support/other_process.hpp"

namespace smc::test {
namespace {

using namespace asio::experimental::awaitable_operators;
using asio::redirect_error;
using asio::use_awaitable;
using tcp = asio::ip::tcp;

using FieldPeer = testing::TestWithParam<place>;

constexpr uid_t nobody = 65534;
constexpr std::uint32_t not_possible_here = 1;
constexpr std::uint32_t ready = 2;
constexpr std::uint32_t right = 3;
constexpr std::uint32_t wrong = 4;

template <typename Stream>
bool echoes(Stream& through, std::size_t size) {
  const std::string text = random_text(size, 7);
  std::string back(size, '\0');
  std::thread writer([&] { asio::write(through, asio::buffer(text)); });
  asio::read(through, asio::buffer(back));
  writer.join();
  return back == text;
}

asio::awaitable<bool> echoes_soon(stream& through, std::size_t size) {
  const std::string text = random_text(size, 8);
  std::string back(size, '\0');
  co_await (asio::async_write(through, asio::buffer(text), use_awaitable) &&
            asio::async_read(through, asio::buffer(back), use_awaitable));
  co_return back == text;
}

/// What a client found: `written` holds transport and reason.
void report(shared_facts& facts, stream& client, std::size_t size) {
  const bool good = echoes(client, size);
  facts.written = static_cast<std::uint64_t>(client.transport()) * 1000 +
                  static_cast<std::uint64_t>(client.fallback_reason().value());
  facts.step = good ? right : wrong;
}

// ---- another user -------------------------------------------------------------------------------

bool become_nobody(shared_facts& facts) {
  if (::setresgid(nobody, nobody, nobody) == 0 && ::setresuid(nobody, nobody, nobody) == 0) {
    return true;
  }
  facts.step = not_possible_here;
  return false;
}

config trusting(int root_too) {
  config settings = settings_for(carrier::smc_d_mapped);
  if (root_too != 0) settings.allowed_uids = {0, nobody};
  return settings;
}

void nobodys_client(shared_facts& facts, const role_argument& to) {
  if (!become_nobody(facts)) return;
  asio::io_context context;
  stream client(context, trusting(to.number));
  client.connect(at_port(to.port));
  report(facts, client, std::size_t{1} << 20);
}

void nobodys_server(shared_facts& facts, const role_argument& how) {
  if (!become_nobody(facts)) return;
  asio::io_context context;
  acceptor listener(context, any_port(), trusting(how.number));
  facts.port = listener.local_endpoint().port();
  facts.step = ready;
  stream peer(context, trusting(how.number));
  listener.accept(peer);
  facts.written = static_cast<std::uint64_t>(peer.transport()) * 1000 +
                  static_cast<std::uint64_t>(peer.fallback_reason().value());
  std::vector<char> bytes(4096);
  for (std::error_code error; !error;) {
    const std::size_t n = peer.read_some(asio::buffer(bytes), error);
    if (!error) asio::write(peer, asio::buffer(bytes.data(), n), error);
  }
}

/// Until `process` has come to a step.
asio::awaitable<std::uint32_t> step_of(const other_process& process) {
  co_await until([&process] { return process.facts().step != 0; });
  co_return process.facts().step;
}

std::uint64_t as_written(transport_kind kind, reason why) {
  return static_cast<std::uint64_t>(kind) * 1000 + static_cast<std::uint64_t>(why);
}

asio::awaitable<void> echo_one(acceptor& listener, stream& peer) {
  co_await listener.async_accept(peer, use_awaitable);
  std::vector<char> bytes(4096);
  for (std::error_code error; !error;) {
    const std::size_t n =
        co_await peer.async_read_some(asio::buffer(bytes), redirect_error(use_awaitable, error));
    if (error) break;
    co_await asio::async_write(peer, asio::buffer(bytes.data(), n),
                               redirect_error(use_awaitable, error));
  }
}

/// Serves one client that plays a role; what that found, and what its server did.
void serve(place where, const config& settings, role client_does, int number, bool& possible,
           std::uint64_t& client_found, std::uint64_t& server_found) {
  world here(where);
  here.run([&]() -> asio::awaitable<void> {
    acceptor listener(here.executor(), any_port(), settings);
    other_process client(client_does, {listener.local_endpoint().port(), number});
    stream peer(here.executor(), settings);
    bool over = false;
    asio::co_spawn(here.executor(), echo_one(listener, peer),
                   [&](std::exception_ptr) { over = true; });
    const std::uint32_t step = co_await step_of(client);
    possible = step != not_possible_here;
    if (possible) {
      EXPECT_EQ(step, right);
    }
    client_found = client.facts().written;
    server_found =
        as_written(peer.transport(), static_cast<reason>(peer.fallback_reason().value()));
    client.kill();
    listener.close();
    co_await until([&] { return over; });
  });
}

TEST_P(FieldPeer, AClientOfAnotherUserGetsTcpWithTheReason) {
  bool possible = false;
  std::uint64_t client = 0, server = 0;
  serve(GetParam(), trusting(0), nobodys_client, 0, possible, client, server);
  if (!possible) GTEST_SKIP() << "only root can be another user";
  EXPECT_EQ(client, as_written(transport_kind::tcp, reason::other_user));
  EXPECT_EQ(server, as_written(transport_kind::tcp, reason::other_user));
}

TEST_P(FieldPeer, WhereOneSideAllowsTheOthersUserBothAreTcpWithTheReason) {
  bool possible = false;
  std::uint64_t client = 0, server = 0;
  for (const int server_trusts : {0, 1}) {
    const int client_trusts = 1 - server_trusts;
    serve(GetParam(), trusting(server_trusts), nobodys_client, client_trusts, possible, client,
          server);
    if (!possible) GTEST_SKIP() << "only root can be another user";
    EXPECT_EQ(client, as_written(transport_kind::tcp, reason::other_user)) << client_trusts;
    EXPECT_EQ(server, as_written(transport_kind::tcp, reason::other_user)) << server_trusts;
  }
}

TEST_P(FieldPeer, AClientOfAnAllowedUserGetsSharedMemory) {
  bool possible = false;
  std::uint64_t client = 0, server = 0;
  serve(GetParam(), trusting(1), nobodys_client, 1, possible, client, server);
  if (!possible) GTEST_SKIP() << "only root can be another user";
  EXPECT_EQ(client, as_written(transport_kind::smc_d, reason::none));
  EXPECT_EQ(server, as_written(transport_kind::smc_d, reason::none));
}

TEST_P(FieldPeer, AServerOfAnotherUserIsTcpUnlessBothAllowIt) {
  for (const int trusted : {0, 1}) {
    world here(GetParam());
    bool possible = true;
    here.run([&]() -> asio::awaitable<void> {
      other_process server(nobodys_server, {0, trusted});
      possible = co_await step_of(server) != not_possible_here;
      if (!possible) co_return;
      const auto kind = trusted != 0 ? transport_kind::smc_d : transport_kind::tcp;
      const auto why = trusted != 0 ? reason::none : reason::other_user;
      stream client(here.executor(), trusting(trusted));
      co_await client.async_connect(at_port(server.facts().port), use_awaitable);
      EXPECT_TRUE(co_await echoes_soon(client, std::size_t{1} << 20));
      EXPECT_EQ(client.transport(), kind);
      if (why != reason::none) {
        EXPECT_EQ(client.fallback_reason(), why) << client.fallback_reason().message();
      }
      EXPECT_EQ(server.facts().written, as_written(kind, why));
    });
    if (!possible) GTEST_SKIP() << "only root can be another user";
  }
}

// ---- the same address, but no common memory -----------------------------------------------------

/// In a container of the host's network, with IPC, mounts and a small /dev/shm of its own.
void client_in_a_container(shared_facts& facts, const role_argument& to) {
  if (::unshare(CLONE_NEWIPC | CLONE_NEWNS) != 0 ||
      ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=1m") != 0) {
    facts.step = not_possible_here;
    return;
  }
  asio::io_context context;
  config settings = settings_for(carrier::smc_d_mapped);
  settings.ring_size = std::size_t{4} << 20;
  stream client(context, settings);
  client.connect(at_port(to.port));
  report(facts, client, std::size_t{8} << 20);
}

TEST_P(FieldPeer, AContainerOnTheHostsNetworkHasAWorkingStream) {
  bool possible = false;
  std::uint64_t client = 0, server = 0;
  serve(GetParam(), settings_for(carrier::smc_d_mapped), client_in_a_container, 0, possible, client,
        server);
  if (!possible) GTEST_SKIP() << "no permission to make namespaces";
  EXPECT_EQ(client, server) << "they disagree on the transport";
  EXPECT_EQ(client, as_written(transport_kind::smc_d, reason::none))
      << "memory is passed by descriptor: no file system takes part";
}

/// Forwards bytes until either side ends.
asio::awaitable<void> forward(std::shared_ptr<tcp::socket> from, std::shared_ptr<tcp::socket> to) {
  std::vector<char> bytes(64 << 10);
  for (std::error_code error; !error;) {
    const std::size_t n =
        co_await from->async_read_some(asio::buffer(bytes), redirect_error(use_awaitable, error));
    if (!error) {
      co_await asio::async_write(*to, asio::buffer(bytes.data(), n),
                                 redirect_error(use_awaitable, error));
    }
  }
  std::error_code ignored;
  to->shutdown(tcp::socket::shutdown_send, ignored);
}

asio::awaitable<void> relay(tcp::acceptor& listener, tcp::endpoint target) {
  const auto executor = co_await asio::this_coro::executor;
  auto near = std::make_shared<tcp::socket>(co_await listener.async_accept(use_awaitable));
  auto far = std::make_shared<tcp::socket>(executor);
  co_await far->async_connect(target, use_awaitable);
  asio::co_spawn(executor, forward(near, far), asio::detached);
  asio::co_spawn(executor, forward(far, near), asio::detached);
}

/// What two ends say to each other through somebody in between, who handles `messages` of the
/// rendezvous, too.
void through_a_relay(place where, bool relays_the_rendezvous) {
  world here(where);
  here.run([&]() -> asio::awaitable<void> {
    config settings = settings_for(carrier::smc_d_mapped);
    settings.handshake_timeout = short_handshake;  // for what is asked in vain
    acceptor listener(here.executor(), any_port(), settings);
    tcp::acceptor between(here.executor(), any_port());
    std::optional<fake_announcer> announcer;
    if (relays_the_rendezvous) announcer.emplace(between.local_endpoint().port());
    asio::co_spawn(here.executor(), relay(between, listener.local_endpoint()), asio::detached);
    stream client(here.executor(), settings), server(here.executor(), settings);
    bool over = false;
    outcome connected;
    asio::co_spawn(here.executor(), echo_one(listener, server),
                   [&](std::exception_ptr) { over = true; });
    client.async_connect(between.local_endpoint(), store(connected));
    std::optional<raw_client> near, far;
    co_await until([&] {
      if (announcer && !near && (near = announcer->caller())) {
        far.emplace(listener.local_endpoint().port());
      }
      for (auto [from, to] : {std::pair(&near, &far), std::pair(&far, &near)}) {
        if (!*from || !*to) continue;
        // As they come: whoever knows the format changes nothing of what they say.
        if (auto message = (*from)->receive()) {
          std::vector<int> files;
          for (const auto& each : message->descriptors) files.push_back(each.get());
          (*to)->send(message->what, files);
        }
      }
      return connected.called;
    });
    EXPECT_FALSE(connected.error) << connected.error.message();
    EXPECT_EQ(client.transport(), transport_kind::tcp);
    EXPECT_TRUE(client.fallback_reason());
    EXPECT_TRUE(co_await echoes_soon(client, std::size_t{8} << 20));
    EXPECT_EQ(server.transport(), transport_kind::tcp);
    client.close();
    listener.close();
    co_await until([&] { return over; });
  });
}

TEST_P(FieldPeer, APeerBehindARelayOfThisHostIsReachedByTcp) { through_a_relay(GetParam(), false); }

TEST_P(FieldPeer, ARelayThatForwardsTheRendezvousTooGetsNoSharedMemory) {
  through_a_relay(GetParam(), true);
}

INSTANTIATE_TEST_SUITE_P(Everywhere, FieldPeer,
                         testing::Values(place::event_loop, place::io_context),
                         [](const auto& tested) {
                           return tested.param == place::event_loop ? "on_event_loop"
                                                                    : "on_io_context";
                         });

}  // namespace
}  // namespace smc::test
