// Rules for peers, through the whole stack.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "setting.hpp"

namespace smc::test {
namespace {

using tcp = asio::ip::tcp;
using asio::use_awaitable;

rule to(const char* peer, std::vector<transport_kind> kinds) {
  return {peer, 0, "", std::move(kinds), std::nullopt};
}

bool has_ipv6() {
  asio::io_context context;
  tcp::acceptor probe(context);
  std::error_code error;
  probe.open(tcp::v6(), error);
  if (!error) probe.bind({asio::ip::address_v6::loopback(), 0}, error);
  return !error;
}

class Rules : public testing::TestWithParam<place> {
 protected:
  struct result {
    transport_kind client = transport_kind::other, server = transport_kind::other;
    std::error_code client_reason, server_reason;
    std::size_t client_ring = 0, server_ring = 0;  // of what each receives
  };

  /// Connects from a client with `client` to a listener with `server` at `listen`, by way of
  /// `address`.
  result connect(const config& client, const config& server, const tcp::endpoint& listen,
                 const char* address) {
    result r;
    world here(GetParam());
    here.run([&]() -> asio::awaitable<void> {
      acceptor listener(here.executor(), listen, server);
      stream from(here.executor(), client), at(here.executor(), server);
      outcome accepted;
      listener.async_accept(at, store(accepted));
      co_await from.async_connect(
          {asio::ip::make_address(address), listener.local_endpoint().port()}, use_awaitable);
      co_await until([&accepted] { return accepted.called; });
      EXPECT_FALSE(accepted.error) << accepted.error.message();
      co_await asio::async_write(from, asio::buffer("rules", 5), use_awaitable);
      EXPECT_EQ(co_await read_text(at, 5), "rules");
      r = {from.transport(),
           at.transport(),
           from.fallback_reason(),
           at.fallback_reason(),
           from.statistics().received.ring_size,
           at.statistics().received.ring_size};
    });
    return r;
  }
  static tcp::endpoint v4() { return {asio::ip::address_v4::any(), 0}; }
  static tcp::endpoint v6() { return {asio::ip::address_v6::any(), 0}; }
  static config smc_d() { return settings_for(carrier::smc_d_mapped); }
  static config plain() { return settings_for(carrier::tcp); }
};

TEST_P(Rules, SharedMemoryForOneNetworkAndTcpForTheRest) {
  config settings = plain();
  settings.rules = {to("127.0.0.0/8", {transport_kind::smc_d})};
  const auto denied = smc_d();
  // By the config's own transports, and by a rule for all.
  config by_rule = denied;
  by_rule.rules = {to("", {transport_kind::tcp}), to("127.0.0.0/8", {transport_kind::smc_d})};
  for (const config& each : {settings, by_rule}) {
    const bool dual = has_ipv6();
    const auto mapped = connect(each, each, dual ? v6() : v4(), "127.0.0.1");
    EXPECT_EQ(mapped.client, transport_kind::smc_d) << mapped.client_reason.message();
    EXPECT_EQ(mapped.server, transport_kind::smc_d) << mapped.server_reason.message();
    if (!dual) continue;
    const auto other = connect(each, each, v6(), "::1");
    EXPECT_EQ(other.client, transport_kind::tcp);
    EXPECT_EQ(other.server, transport_kind::tcp);
    const auto why =
        each.rules.size() == 2 ? make_error_code(reason::not_configured) : std::error_code();
    EXPECT_EQ(other.client_reason, why);
    EXPECT_EQ(other.server_reason, why);
  }
}

TEST_P(Rules, DenyingSharedMemoryToANetworkReachesItsMappedClientsToo) {
  config settings = smc_d();
  settings.rules = {to("127.0.0.0/8", {transport_kind::tcp})};
  const bool dual = has_ipv6();
  const auto r = connect(settings, settings, dual ? v6() : v4(), "127.0.0.1");
  EXPECT_EQ(r.client, transport_kind::tcp);
  EXPECT_EQ(r.server, transport_kind::tcp);
  EXPECT_EQ(r.client_reason, reason::not_configured);
  EXPECT_EQ(r.server_reason, reason::not_configured);
  if (!dual) return;
  EXPECT_EQ(connect(settings, settings, v6(), "::ffff:127.0.0.1").client, transport_kind::tcp);
  EXPECT_EQ(connect(settings, settings, v6(), "::1").client, transport_kind::smc_d);
}

TEST_P(Rules, OnTheServersSideAloneDeclineTheOffer) {
  config server = smc_d();
  server.rules = {to("127.0.0.0/8", {transport_kind::tcp})};
  const auto r = connect(smc_d(), server, v4(), "127.0.0.1");
  EXPECT_EQ(r.client, transport_kind::tcp);
  EXPECT_EQ(r.server, transport_kind::tcp);
  EXPECT_EQ(r.client_reason, reason::not_configured);
  EXPECT_EQ(r.server_reason, reason::not_configured);
}

TEST_P(Rules, OnTheServersSideAloneOpenWhatTheRestDoesNotGet) {
  config server = plain();
  server.rules = {to("127.0.0.1", {transport_kind::smc_d})};
  EXPECT_EQ(connect(smc_d(), server, v4(), "127.0.0.1").server, transport_kind::smc_d);
  server.rules = {to("127.0.0.99", {transport_kind::smc_d})};
  const auto r = connect(smc_d(), server, v4(), "127.0.0.1");
  EXPECT_EQ(r.client, transport_kind::tcp);
  EXPECT_EQ(r.client_reason, reason::not_configured);
  EXPECT_FALSE(r.server_reason) << "it wanted nothing faster for this peer";
}

TEST_P(Rules, OnTheServersSideForOtherListenersAnnounceNothing) {
  config server = plain();
  server.rules = {to("", {transport_kind::smc_d})};
  server.rules.front().program = "another";
  EXPECT_EQ(connect(smc_d(), server, v4(), "127.0.0.1").client_reason, reason::peer_unknown);
  server.rules.front().program.clear();
  server.rules.front().port = 1;
  EXPECT_EQ(connect(smc_d(), server, v4(), "127.0.0.1").client_reason, reason::peer_unknown);
}

TEST_P(Rules, OnTheClientsSideAloneMakeNoOffer) {
  config client = smc_d();
  client.rules = {to("127.0.0.0/8", {transport_kind::tcp})};
  const auto r = connect(client, smc_d(), v4(), "127.0.0.1");
  EXPECT_EQ(r.client, transport_kind::tcp);
  EXPECT_EQ(r.client_reason, reason::not_configured);
  EXPECT_EQ(r.server_reason, reason::not_offered);
}

TEST_P(Rules, ForPeersOfThisHost) {
  config settings = plain();
  settings.rules = {to("unix", {transport_kind::smc_d}), to("10.0.0.0/8", {transport_kind::tcp})};
  EXPECT_EQ(connect(settings, settings, v4(), "127.0.0.1").server, transport_kind::smc_d);
  if (has_ipv6()) {
    EXPECT_EQ(connect(settings, settings, v6(), "::1").server, transport_kind::smc_d);
  }
}

TEST_P(Rules, ForThisProgramAndForOthers) {
  config settings = plain();
  settings.rules = {to("", {transport_kind::smc_d})};
  settings.rules.front().program = "test_framework_stream";
  EXPECT_EQ(connect(settings, settings, v4(), "127.0.0.1").client, transport_kind::smc_d);
  settings.rules.front().program = "another";
  EXPECT_EQ(connect(settings, settings, v4(), "127.0.0.1").client, transport_kind::tcp);
}

TEST_P(Rules, ForThePortOfTheListeningSide) {
  world here(GetParam());
  here.run([&]() -> asio::awaitable<void> {
    config settings = smc_d();
    acceptor elsewhere(here.executor(), any_port(), settings);
    // A rule needs the port before there is the acceptor: bound and not listening, both may have
    // it.
    tcp::acceptor reserved(here.executor(), tcp::v4());
    reserved.set_option(tcp::acceptor::reuse_address(true));
    reserved.bind(any_port());
    const auto port = reserved.local_endpoint().port();
    settings.rules = {to("", {transport_kind::tcp})};
    settings.rules.front().port = port;
    acceptor denied(here.executor(), {asio::ip::address_v4::loopback(), port}, settings);
    for (acceptor* listener : {&denied, &elsewhere}) {
      for (const config& of_client : {settings, smc_d()}) {
        stream client(here.executor(), of_client), server(here.executor(), settings);
        outcome accepted;
        listener->async_accept(server, store(accepted));
        co_await client.async_connect(listener->local_endpoint(), use_awaitable);
        co_await until([&accepted] { return accepted.called; });
        EXPECT_EQ(client.transport(),
                  listener == &denied ? transport_kind::tcp : transport_kind::smc_d);
      }
    }
  });
}

TEST_P(Rules, GiveRingSizesThatStatisticsShow) {
  config client = smc_d(), server = smc_d();
  client.rules = {{"127.0.0.1", 0, "", {}, std::size_t{256} << 10},
                  {"127.0.0.0/8", 0, "", {}, std::size_t{16} << 10}};
  server.rules = {{"127.0.0.0/8", 0, "", {}, std::size_t{512} << 10}};
  const auto r = connect(client, server, v4(), "127.0.0.1");
  EXPECT_EQ(r.client, transport_kind::smc_d);
  EXPECT_EQ(r.client_ring, std::size_t{256} << 10);
  EXPECT_EQ(r.server_ring, std::size_t{512} << 10);
  const auto without = connect(smc_d(), smc_d(), v4(), "127.0.0.1");
  EXPECT_EQ(without.client_ring, test_ring);
  EXPECT_EQ(without.server_ring, test_ring);
}

TEST_P(Rules, ThatSayTcpDoSoWhereFallingBackIsForbidden) {
  config strict = smc_d();
  strict.fallback = fallback_policy::forbid;
  strict.rules = {to("127.0.0.0/8", {transport_kind::tcp})};
  const auto r = connect(strict, strict, v4(), "127.0.0.1");
  EXPECT_EQ(r.client, transport_kind::tcp);
  EXPECT_EQ(r.server, transport_kind::tcp);
  EXPECT_EQ(r.client_reason, reason::not_configured);
}

TEST_P(Rules, ThatAskForWhatIsNotThereGiveItsReason) {
  config settings = plain();
  settings.rules = {to("127.0.0.0/8", {transport_kind::smc_r})};
  const auto r = connect(settings, settings, v4(), "127.0.0.1");
  EXPECT_EQ(r.client, transport_kind::tcp);
  EXPECT_EQ(r.client_reason, reason::no_device);
  EXPECT_EQ(r.server_reason, reason::no_device);
}

TEST_P(Rules, APlainClientOfADeniedNetworkIsAcceptedAtOnce) {
  world here(GetParam());
  here.run([&]() -> asio::awaitable<void> {
    config settings = smc_d();
    settings.rules = {to("127.0.0.0/8", {transport_kind::tcp})};
    acceptor listener(here.executor(), any_port(), settings);
    tcp::socket client(here.executor());
    co_await client.async_connect(listener.local_endpoint(), use_awaitable);
    stream server = co_await listener.async_accept(use_awaitable);
    EXPECT_EQ(server.transport(), transport_kind::tcp);
    EXPECT_EQ(server.fallback_reason(), reason::not_configured);
  });
}

TEST_P(Rules, HoldForBlockingCallsToo) {
  config settings = smc_d();
  settings.rules = {to("127.0.0.0/8", {transport_kind::tcp})};
  asio::io_context context;
  acceptor listener(context, any_port(), smc_d());
  stream client(context, settings);
  client.connect(listener.local_endpoint());
  stream server = listener.accept();
  EXPECT_EQ(client.fallback_reason(), reason::not_configured);
  acceptor denying(context, any_port(), settings);
  stream second(context, smc_d());
  std::thread connecting([&] { second.connect(denying.local_endpoint()); });
  stream at = denying.accept();
  connecting.join();
  EXPECT_EQ(second.transport(), transport_kind::tcp);
  EXPECT_EQ(at.fallback_reason(), reason::not_configured);
}

INSTANTIATE_TEST_SUITE_P(Everywhere, Rules, all_places());

[[noreturn]] void rules_of_the_process() {
  config settings = settings_for(carrier::smc_d_mapped);
  // Of the destination alone: whatever of these addresses is dialled, the client's is 127.0.0.1.
  settings.rules = {to("127.0.0.2", {transport_kind::tcp})};
  config::set_process_default(settings);
  asio::io_context context;
  acceptor listener(context, {asio::ip::address_v4::any(), 0});
  const auto port = listener.local_endpoint().port();
  for (const char* address : {"127.0.0.1", "127.0.0.2"}) {
    stream client(context);
    client.connect({asio::ip::make_address(address), port});
    std::printf("%s ", to_string(client.transport()).data());
    if (client.fallback_reason() == make_error_code(reason::not_configured)) std::printf("denied ");
    stream server = listener.accept();
  }
  std::fflush(stdout);
  std::exit(0);
}

TEST(RulesOfTheProcess, AreThoseOfTheProcessDefault) {
  EXPECT_EXIT(
      {
        ::dup2(2, 1);  // what is compared
        rules_of_the_process();
      },
      testing::ExitedWithCode(0), "smc-d tcp denied ");
}

}  // namespace
}  // namespace smc::test
