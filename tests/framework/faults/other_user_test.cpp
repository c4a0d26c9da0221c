// Processes of another user: TCP, for that reason, and no way to keep others waiting.
#include <unistd.h>

#include "framework/faults/attack.hpp"
#include "support/other_process.hpp"

namespace smc::test {
namespace {

using tcp = asio::ip::tcp;

constexpr uid_t nobody = 65534;

void become_nobody() {
  if (::setgid(nobody) != 0 || ::setuid(nobody) != 0) throw std::runtime_error("setuid");
}

void nobodys_server(shared_facts& facts, const role_argument&) {
  become_nobody();
  event_loop loop;
  echo_server server(loop.get_executor());
  facts.port = server.endpoint().port();
  loop.run();
}

/// Reports 1000 and its reason for being TCP. `number`: a further user that it trusts.
void nobodys_client(shared_facts& facts, const role_argument& to) {
  become_nobody();
  event_loop loop;
  auto settings = settings_for(carrier::smc_d_mapped);
  settings.allowed_uids = {nobody};
  if (to.number >= 0) settings.allowed_uids.push_back(static_cast<uid_t>(to.number));
  stream client(loop, settings);
  client.connect(at_port(to.port));
  char bytes[] = "nobody";
  asio::write(client, asio::buffer(bytes, 6));
  asio::read(client, asio::buffer(bytes, 6));
  facts.step = 1000 + static_cast<std::uint32_t>(client.fallback_reason().value());
}

void nobodys_silent_intents(shared_facts& facts, const role_argument& to) {
  become_nobody();
  raw_client client(to.port);
  for (std::uint64_t i = 1; i <= 100; ++i) client.send(intent_for(i, at_port(to.port)));
  facts.step = 1;
  for (;;) ::pause();
}

class OtherUser : public testing::TestWithParam<place> {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  }

  /// Why a client of another user is TCP at an acceptor of ours.
  static void connects(int trusted) {
    world here(GetParam());
    here.run([&]() -> asio::awaitable<void> {
      echo_server server(here.executor());
      co_await serves_everybody(server);
      const resources before = resources::of_this_process();
      {
        other_process client(nobodys_client, {server.endpoint().port(), trusted});
        co_await until([&] { return client.facts().step != 0; });
        EXPECT_EQ(static_cast<reason>(client.facts().step - 1000), reason::other_user);
        EXPECT_EQ(co_await server.next_accepted(), transport_kind::tcp);
      }
      co_await serves_everybody(server);
      co_await nothing_is_left(before);
    });
  }
};

TEST_P(OtherUser, AnAnnouncerOfAnotherUserIsReachedByTcp) {
  world here(GetParam());
  here.run([&]() -> asio::awaitable<void> {
    other_process server(nobodys_server);
    std::uint32_t port = 0;
    co_await until([&] { return (port = server.facts().port) != 0; });
    for (int i = 0; i < 3; ++i) {
      stream client(here.executor(), settings_for(carrier::smc_d_mapped));
      co_await client.async_connect(at_port(port), asio::use_awaitable);
      EXPECT_EQ(client.transport(), transport_kind::tcp);
      EXPECT_EQ(client.fallback_reason(), make_error_code(reason::other_user))
          << client.fallback_reason().message();
      EXPECT_EQ(co_await echoed(client, "over tcp"), "over tcp");
    }
  });
}

TEST_P(OtherUser, AClientOfAnotherUserDoesNotTrustUs) { connects(-1); }

TEST_P(OtherUser, AClientOfAnotherUserWhoTrustsUsIsDeclined) {
  connects(static_cast<int>(::geteuid()));
}

TEST_P(OtherUser, APlainClientOfOurOwnBesideAClientOfAnotherUserOffersNothing) {
  world here(GetParam());
  here.run([&]() -> asio::awaitable<void> {
    acceptor listener(here.executor(), any_port(), settings_for(carrier::smc_d_mapped));
    asio::ip::tcp::socket plain(here.executor());
    const auto at = listener.local_endpoint();
    std::vector<stream> accepted;
    other_process other(nobodys_client, {at.port(), -1});
    for (const reason expected : {reason::other_user, reason::not_offered}) {
      if (expected == reason::not_offered) co_await plain.async_connect(at, asio::use_awaitable);
      accepted.push_back(co_await listener.async_accept(asio::use_awaitable));
      const auto found = accepted.back().fallback_reason();
      EXPECT_EQ(found, expected) << found.message();
    }
  });
}

TEST_P(OtherUser, IntentsOfAnotherUserMakeNobodyWait) {
  world here(GetParam());
  here.run([&]() -> asio::awaitable<void> {
    // Whoever waits for an intent here waits longer than the test.
    echo_server server(here.executor(), std::chrono::minutes(10));
    co_await serves_everybody(server);
    const resources before = resources::of_this_process();
    {
      other_process hostile(nobodys_silent_intents, {server.endpoint().port(), 0});
      co_await until([&] { return hostile.facts().step != 0; });
      for (int i = 0; i < 5; ++i) co_await serves_everybody(server);
    }
    co_await nothing_is_left(before);
  });
}

INSTANTIATE_TEST_SUITE_P(Everywhere, OtherUser, both_places(), name_of_place);

}  // namespace
}  // namespace smc::test
