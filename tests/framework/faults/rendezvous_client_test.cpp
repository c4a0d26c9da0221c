// Clients that break the rendezvous' rules with messages and descriptors.
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <random>

#include "framework/faults/attack.hpp"

namespace smc::test {
namespace {

using tcp = asio::ip::tcp;
using namespace negotiation;  // NOLINT: the test speaks its language
using RendezvousClient = attacked_server;

template <typename Number>
void put(std::vector<std::byte>& bytes, std::size_t at, Number value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

TEST_P(RendezvousClient, GarbageEndsTheLink) {
  attacked([](attacker& hostile, echo_server&) -> asio::awaitable<void> {
    std::mt19937 random(1);
    for (std::size_t size : {1u, 4u, 15u, 16u, 17u, 60u, 200u, 1000u, 4096u, 8192u}) {
      raw_client& client = hostile.client();
      std::vector<std::byte> bytes(size);
      for (auto& each : bytes) each = static_cast<std::byte>(random());
      const auto self = own_process();
      client.send_bytes(bytes, {self.get()});
      co_await client.hang_up_comes();
    }
    raw_client& client = hostile.client();
    client.send_bytes({});
    co_await client.hang_up_comes();
  });
}

TEST_P(RendezvousClient, AMessageCutShortAnywhereEndsTheLink) {
  attacked([](attacker& hostile, echo_server&) -> asio::awaitable<void> {
    const auto self = own_process();
    std::vector<message> messages;
    messages.push_back(hostile.intent());
    messages.push_back(proposal_for(1, any_port(), hostile.target()));
    for (const message& each : messages) {
      const auto whole = raw_client::encoded_as(0, each);
      for (std::size_t size = 1; size < whole.size(); size += size < 40 ? 1 : 13) {
        auto bytes = whole;
        bytes.resize(size);
        // Every second one says that it is as long as it is.
        if (size >= 16 && size % 2 == 0) put(bytes, 8, static_cast<std::uint32_t>(size));
        raw_client client(hostile.target().port());
        client.send_bytes(bytes, {self.get()});
        co_await client.hang_up_comes();
      }
    }
  });
}

TEST_P(RendezvousClient, AnOversizedMessageEndsTheLink) {
  attacked([](attacker& hostile, echo_server&) -> asio::awaitable<void> {
    const auto self = own_process();
    for (const std::size_t size :
         {max_message_size + 1, std::size_t{20'000}, std::size_t{100'000}}) {
      auto bytes = raw_client::encoded_as(0, hostile.intent());
      bytes.resize(size);
      put(bytes, 8, static_cast<std::uint32_t>(size));
      raw_client& client = hostile.client();
      client.send_bytes(bytes, {self.get()});
      co_await client.hang_up_comes();
    }
  });
}

TEST_P(RendezvousClient, VersionsThatDontMeetEndTheLink) {
  attacked([](attacker& hostile, echo_server&) -> asio::awaitable<void> {
    const auto self = own_process();
    const std::pair<int, int> versions[] = {{0, 0}, {2, 2}, {255, 255}, {1, 2}, {0, 1}};
    for (const auto& [version, oldest] : versions) {
      auto bytes = raw_client::encoded_as(0, hostile.intent());
      put(bytes, 4, static_cast<std::uint8_t>(version));
      put(bytes, 5, static_cast<std::uint8_t>(oldest));
      raw_client& client = hostile.client();
      client.send_bytes(bytes, {self.get()});
      co_await client.hang_up_comes();
    }
  });
}

TEST_P(RendezvousClient, AMessageOutOfOrderEndsTheLink) {
  attacked([](attacker& hostile, echo_server&) -> asio::awaitable<void> {
    for (const std::uint32_t number : {0u, 2u, 1000u, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
      raw_client& client = hostile.client();
      client.send(hostile.intent());  // number 0
      client.send_bytes(raw_client::encoded_as(number, hostile.intent(2)));
      co_await client.hang_up_comes();
    }
    const auto self = own_process();
    raw_client& first = hostile.client();
    first.send_bytes(raw_client::encoded_as(7, hostile.intent()), {self.get()});
    co_await first.hang_up_comes();
  });
}

TEST_P(RendezvousClient, WhoDoesNotSayWhichProcessItIsIsHungUpOn) {
  attacked([](attacker& hostile, echo_server&) -> asio::awaitable<void> {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    const auto out = taken(system::descriptor::adopt(ends[0]));
    const auto in = taken(system::descriptor::adopt(ends[1]));
    const auto event = taken(system::create_event());
    const auto memory =
        taken(system::descriptor::adopt(::memfd_create("smc-no-process", MFD_CLOEXEC)));
    const auto bytes = raw_client::encoded_as(0, hostile.intent());
    std::vector<std::vector<int>> wrong;
    wrong.push_back({});
    for (const auto* each : {&out, &in, &event, &memory}) {
      const auto self = own_process();
      wrong.push_back({each->get()});
    }
    for (const auto& descriptors : wrong) {
      raw_client& client = hostile.client();
      client.send_bytes(bytes, descriptors);
      co_await client.hang_up_comes();
    }
    raw_client& itself = hostile.client();
    itself.send_bytes(bytes, {itself.socket().get()});
    co_await itself.hang_up_comes();
  });
}

TEST_P(RendezvousClient, WhoNamesAnotherProcessIsHungUpOn) {
  attacked([](attacker& hostile, echo_server&) -> asio::awaitable<void> {
    const pid_t child = ::fork();
    if (child == 0) {
      for (;;) ::pause();
    }
    {
      const auto other = taken(system::open_process(child));
      raw_client& client = hostile.client();
      client.send_bytes(raw_client::encoded_as(0, hostile.intent()), {other.get()});
      co_await client.hang_up_comes();
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  });
}

TEST_P(RendezvousClient, DescriptorsThatNobodyAskedForAreClosed) {
  attacked([](attacker& hostile, echo_server&) -> asio::awaitable<void> {
    const auto self = own_process();
    const auto event = taken(system::create_event());
    for (const std::size_t count : {2u, 8u, 9u, 100u, 253u}) {
      std::vector<int> descriptors(count, event.get());
      descriptors.front() = self.get();
      raw_client& client = hostile.client();
      client.send_bytes(client.encoded(hostile.intent()), descriptors);
      // More than any message has: the kernel has thrown some away.
      if (count > system::max_passed_descriptors) co_await client.hang_up_comes();
      descriptors.front() = event.get();
      client.send_bytes(client.encoded(withdraw{1}), descriptors);
    }
    co_await turns();
  });
}

TEST_P(RendezvousClient, AServersMessagesFromAClientEndTheLink) {
  attacked([](attacker& hostile, echo_server&) -> asio::awaitable<void> {
    accept accepted;
    accepted.transport = "smc-d";
    for (const message& each : {message(accepted), message(retire{})}) {
      raw_client& client = hostile.client();
      client.send(hostile.intent());
      client.send(each);
      co_await client.hang_up_comes();
    }
  });
}

TEST_P(RendezvousClient, MessagesAboutNothingAreDeclinedOrIgnored) {
  attacked([](attacker& hostile, echo_server&) -> asio::awaitable<void> {
    raw_client& client = hostile.client();
    confirm confirmed;
    confirmed.attempt = 77;
    confirmed.transport = "smc-d";
    client.send(confirmed);
    const auto answer = co_await client.next();
    EXPECT_TRUE(std::holds_alternative<decline>(answer.what));
    client.send(proposal_for(78, any_port(), hostile.target()));
    const auto second = co_await client.next();
    EXPECT_TRUE(std::holds_alternative<decline>(second.what));
    client.send(withdraw{79});
    client.send(decline_because(80, reason::other_host));
    co_await turns();
    EXPECT_FALSE(client.hung_up());
  });
}

TEST_P(RendezvousClient, AConfirmWithoutAnAcceptEndsTheAttempt) {
  attacked([](attacker& hostile, echo_server& server) -> asio::awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    tcp::socket& socket = hostile.socket(executor);
    raw_client& client = hostile.client();
    confirm confirmed;
    confirmed.attempt = 1;
    confirmed.transport = "smc-d";
    client.send(hostile.intent());
    client.send(confirmed);
    const auto answer = co_await client.next();
    EXPECT_TRUE(std::holds_alternative<decline>(answer.what));
    co_await socket.async_connect(hostile.target(), asio::use_awaitable);
    EXPECT_EQ(co_await server.next_accepted(), transport_kind::tcp);
    EXPECT_EQ(co_await echoed(socket, "tcp"), "tcp");
  });
}

TEST_P(RendezvousClient, RepeatedIntentsAndProposalsCountOnce) {
  attacked([](attacker& hostile, echo_server& server) -> asio::awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    tcp::socket& socket = hostile.socket(executor);
    raw_client& client = hostile.client();
    for (int i = 0; i < 5; ++i) client.send(hostile.intent());
    co_await socket.async_connect(hostile.target(), asio::use_awaitable);
    for (int i = 0; i < 5; ++i) client.send(hostile.proposal(socket));
    int accepts = 0;
    co_await until([&] {
      while (const auto message = client.receive()) {
        accepts += std::holds_alternative<accept>(message->what) ? 1 : 0;
        EXPECT_TRUE(std::holds_alternative<accept>(message->what) ||
                    std::holds_alternative<decline>(message->what));
      }
      return server.accepted() != 0;  // unconfirmed, it is TCP in the end
    });
    EXPECT_EQ(accepts, 1);
    EXPECT_EQ(co_await server.next_accepted(), transport_kind::tcp);
  });
}

TEST_P(RendezvousClient, ClaimsOnNobodysConnectionsAreDeclinedInTime) {
  attacked([](attacker& hostile, echo_server&) -> asio::awaitable<void> {
    raw_client& client = hostile.client();
    constexpr std::uint64_t count = 50;
    for (std::uint64_t i = 1; i <= count; ++i) {
      client.send(hostile.intent(i));
      const tcp::endpoint from(asio::ip::address_v4(0x0a000000u + static_cast<unsigned>(i)), 1);
      client.send(proposal_for(i, from, hostile.target()));
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto answer = co_await client.next();
      const auto* declined = std::get_if<decline>(&answer.what);
      EXPECT_TRUE(declined && reason_of(*declined) == reason::handshake_timed_out);
    }
  });
}

TEST_P(RendezvousClient, AClaimOnAPlainClientsConnectionOnlyDelaysIt) {
  attacked([](attacker& hostile, echo_server& server) -> asio::awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    tcp::socket& victim = hostile.socket(executor);
    for (int i = 0; i < 3; ++i) {
      raw_client& client = hostile.client();
      client.send(hostile.intent());
      client.send(hostile.proposal(victim));
    }
    co_await turns();
    co_await victim.async_connect(hostile.target(), asio::use_awaitable);
    EXPECT_EQ(co_await server.next_accepted(), transport_kind::tcp);
    EXPECT_EQ(co_await echoed(victim, "mine"), "mine");
  });
}

TEST_P(RendezvousClient, ThousandsOfIntentsMakeNobodyWaitForLong) {
  attacked([](attacker& hostile, echo_server&) -> asio::awaitable<void> {
    for (int l = 0; l < 8; ++l) {
      raw_client& client = hostile.client();
      for (std::uint64_t i = 1; i <= 2000; ++i) {
        client.send(hostile.intent(i));
        if (i % 100 == 0) co_await turns(2);  // what it is told it does not read
      }
    }
  });
}

TEST_P(RendezvousClient, ThousandsOfCallersLeaveNothing) {
  attacked([](attacker& hostile, echo_server&) -> asio::awaitable<void> {
    for (int i = 0; i < 2000; ++i) {
      raw_client client(hostile.target().port());
      if (i % 2 == 0) client.send(hostile.intent());
      if (i % 50 == 0) co_await turns(2);
    }
  });
}

/// How far a client goes before it falls silent or hangs up.
enum class stop_after { calling, intent, connecting, proposal, accept };

asio::awaitable<void> go_as_far_as(stop_after last, attacker& hostile, raw_client& client,
                                   tcp::socket& socket) {
  if (last >= stop_after::intent) client.send(hostile.intent());
  if (last >= stop_after::connecting) {
    co_await socket.async_connect(hostile.target(), asio::use_awaitable);
  }
  if (last >= stop_after::proposal) client.send(hostile.proposal(socket));
  if (last >= stop_after::accept) {
    const auto answer = co_await client.next();
    EXPECT_TRUE(std::holds_alternative<accept>(answer.what));
  }
}

constexpr stop_after everywhere[] = {stop_after::calling, stop_after::intent,
                                     stop_after::connecting, stop_after::proposal,
                                     stop_after::accept};

TEST_P(RendezvousClient, SilenceAnywhereInTheHandshakeIsTcpInTheEnd) {
  attacked([](attacker& hostile, echo_server& server) -> asio::awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    for (const auto last : everywhere) {
      tcp::socket& socket = hostile.socket(executor);
      co_await go_as_far_as(last, hostile, hostile.client(), socket);
      if (last < stop_after::connecting) continue;
      EXPECT_EQ(co_await server.next_accepted(), transport_kind::tcp);
      EXPECT_EQ(co_await echoed(socket, "late"), "late");
    }
  });
}

TEST_P(RendezvousClient, AHangUpAnywhereInTheHandshakeIsTcpAtOnce) {
  world here(GetParam());
  here.run([&]() -> asio::awaitable<void> {
    // Only the hang-up can end the wait for this client.
    echo_server server(here.executor(), std::chrono::minutes(10));
    attacker hostile(server.endpoint());
    for (const auto last : everywhere) {
      tcp::socket& socket = hostile.socket(here.executor());
      {
        raw_client client(server.endpoint().port());
        co_await go_as_far_as(last, hostile, client, socket);
      }
      if (last < stop_after::connecting) continue;
      EXPECT_EQ(co_await server.next_accepted(), transport_kind::tcp);
      EXPECT_EQ(co_await echoed(socket, "at once"), "at once");
    }
    co_await serves_everybody(server);
  });
}

INSTANTIATE_TEST_SUITE_P(Everywhere, RendezvousClient, both_places(), name_of_place);

}  // namespace
}  // namespace smc::test
