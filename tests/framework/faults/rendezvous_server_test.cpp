// Announcers that break the rendezvous' rules: the library's client ends as TCP, with a telling
// reason.
#include <sys/eventfd.h>

#include <atomic>

#include "framework/faults/attack.hpp"
#include "framework/faults/fake_announcer.hpp"
#include "framework/faults/memory_files.hpp"
#include "smcd/link_group.hpp"

namespace smc::test {
namespace {

using tcp = asio::ip::tcp;
using namespace negotiation;  // NOLINT: the test speaks its language

/// What the announcer does with one caller, from its first message on. It is destroyed when the
/// client is through.
using behaviour = std::function<asio::awaitable<void>(raw_client&)>;

/// The proposal of a caller, behind its intent.
asio::awaitable<proposal> proposal_of(raw_client& caller) {
  auto first = co_await caller.next();
  EXPECT_TRUE(std::holds_alternative<intent>(first.what));
  auto second = co_await caller.next();
  co_return std::get<proposal>(second.what);
}

class RendezvousServer : public testing::TestWithParam<place> {
 protected:
  /// A client of the library meets an announcer who behaves so. It must be TCP and work, for the
  /// reason given; and nothing is left of it.
  void met_by(const behaviour& does, reason why,
              std::chrono::milliseconds handshake_timeout = std::chrono::minutes(10)) {
    world here(GetParam());
    here.run([&]() -> asio::awaitable<void> {
      {
        echo_server warm(here.executor());
        co_await serves_everybody(warm);
      }
      const resources before = resources::of_this_process();
      for (int again = 0; again < 2; ++again) {
        plain_server plain(here.executor());
        fake_announcer fake(plain.endpoint().port());
        std::atomic<bool> over{false};
        outcome behaved;
        asio::co_spawn(here.executor(), behave(fake, does, over), [&](std::exception_ptr failure) {
          behaved.called = true;
          EXPECT_FALSE(failure) << "the announcer could not do as it should";
        });
        config settings = settings_for(carrier::smc_d_mapped);
        settings.handshake_timeout = handshake_timeout;
        {
          stream client(here.executor(), settings);
          co_await client.async_connect(plain.endpoint(), asio::use_awaitable);
          EXPECT_EQ(client.transport(), transport_kind::tcp);
          EXPECT_EQ(client.fallback_reason(), make_error_code(why))
              << client.fallback_reason().message();
          EXPECT_EQ(co_await echoed(client, "in spite of it"), "in spite of it");
        }
        over = true;
        co_await until([&] { return behaved.called; });
      }
      co_await nothing_is_left(before);
    });
  }

 private:
  static asio::awaitable<void> behave(fake_announcer& fake, const behaviour& does,
                                      std::atomic<bool>& over) {
    std::optional<raw_client> caller;
    co_await until([&] { return (caller = fake.caller()).has_value(); });
    co_await does(*caller);
    co_await until([&] { return over.load(); });
  }
};

constexpr std::chrono::milliseconds soon{200};

TEST_P(RendezvousServer, SilenceIsATimeout) {
  met_by([](raw_client&) -> asio::awaitable<void> { co_return; }, reason::handshake_timed_out,
         soon);
}

TEST_P(RendezvousServer, SilenceBehindTheProposalIsATimeout) {
  met_by([](raw_client& caller) -> asio::awaitable<void> { (void)co_await proposal_of(caller); },
         reason::handshake_timed_out, soon);
}

TEST_P(RendezvousServer, AHangUpBeforeOrBehindTheIntentIsUnreachable) {
  for (const int messages : {0, 1, 2}) {
    met_by(
        [messages](raw_client& caller) -> asio::awaitable<void> {
          for (int i = 0; i < messages; ++i) (void)co_await caller.next();
          caller = raw_client(taken(system::create_event()));
        },
        reason::rendezvous_unreachable);
  }
}

TEST_P(RendezvousServer, GarbageIsAViolation) {
  for (const std::size_t size : {1u, 16u, 60u, 300u, 8192u, 9000u}) {
    met_by(
        [size](raw_client& caller) -> asio::awaitable<void> {
          (void)co_await proposal_of(caller);
          const auto self = own_process();
          caller.send_bytes(std::vector<std::byte>(size, std::byte{0x5a}), {self.get()});
        },
        reason::protocol_error);
  }
}

TEST_P(RendezvousServer, GarbageAtOnceIsAViolation) {
  met_by(
      [](raw_client& caller) -> asio::awaitable<void> {
        caller.send_bytes(std::vector<std::byte>(60, std::byte{0x5a}));
        co_return;
      },
      reason::protocol_error);
}

TEST_P(RendezvousServer, AVersionThatWeDontUnderstandIsAMismatch) {
  met_by(
      [](raw_client& caller) -> asio::awaitable<void> {
        const auto asked = co_await proposal_of(caller);
        auto bytes = caller.encoded(decline_because(asked.attempt, reason::no_memory));
        bytes[4] = bytes[5] = std::byte{9};
        const auto self = own_process();
        caller.send_bytes(bytes, {self.get()});
      },
      reason::version_mismatch);
}

TEST_P(RendezvousServer, WhoDoesNotSayWhichProcessItIsIsAViolation) {
  met_by(
      [](raw_client& caller) -> asio::awaitable<void> {
        const auto asked = co_await proposal_of(caller);
        const auto event = taken(system::create_event());
        caller.send_bytes(caller.encoded(decline_because(asked.attempt, reason::no_memory)),
                          {event.get()});
      },
      reason::protocol_error);
}

TEST_P(RendezvousServer, AClientsMessagesFromAnAnnouncerAreAViolation) {
  met_by(
      [](raw_client& caller) -> asio::awaitable<void> {
        const auto asked = co_await proposal_of(caller);
        caller.send(withdraw{asked.attempt});
      },
      reason::protocol_error);
}

TEST_P(RendezvousServer, ADeclineSaysWhy) {
  met_by(
      [](raw_client& caller) -> asio::awaitable<void> {
        const auto asked = co_await proposal_of(caller);
        caller.send(decline_because(asked.attempt, reason::memory_limit));
      },
      reason::memory_limit);
}

TEST_P(RendezvousServer, ADeclineWithRubbishInsideIsAViolation) {
  met_by(
      [](raw_client& caller) -> asio::awaitable<void> {
        const auto asked = co_await proposal_of(caller);
        decline message;
        message.attempt = asked.attempt;
        message.clc.assign(28, std::byte{0x77});
        caller.send(message);
      },
      reason::protocol_error);
}

TEST_P(RendezvousServer, AnswersToOthersAttemptsAreIgnored) {
  met_by(
      [](raw_client& caller) -> asio::awaitable<void> {
        const auto asked = co_await proposal_of(caller);
        for (const auto attempt : {asked.attempt + 1, std::uint64_t{0}, UINT64_MAX}) {
          accept message;
          message.attempt = attempt;
          message.transport = "smc-d";
          caller.send(message);
          caller.send(decline_because(attempt, reason::no_memory));
        }
        caller.send(decline_because(asked.attempt, reason::no_device));
      },
      reason::no_device);
}

TEST_P(RendezvousServer, ARetiredAnnouncerIsNone) {
  met_by(
      [](raw_client& caller) -> asio::awaitable<void> {
        (void)co_await proposal_of(caller);
        caller.send(retire{});
      },
      reason::peer_unknown);
}

// ---- ACCEPT

/// An announcer's memory and its ACCEPT in parts.
struct raw_accept {
  accept message;
  smcd::ring_extension ring;
  clc::smcd_endpoint clc;
  std::vector<int> descriptors;  ///< inbox, doorbell, slab
  std::vector<system::descriptor> kept;
};

using bend = std::function<void(raw_accept&)>;

/// An ACCEPT of a group of ours, bent.
behaviour accepting(bend change, int times = 1) {
  return [change = std::move(change), times](raw_client& caller) -> asio::awaitable<void> {
    const auto asked = co_await proposal_of(caller);
    const auto doorbell = taken(system::create_event());
    smcd::group_options options;
    options.own_doorbell = doorbell.get();
    const auto group = smcd::link_group::create(options).value;
    auto opened = group->open_ring(test_ring);
    raw_accept a;
    a.message.attempt = asked.attempt;
    a.message.transport = "smc-d";
    a.ring.group = 4;
    a.ring.introduces = true;
    a.ring.with_slab = true;
    a.ring.ring = opened.value.descriptor();
    a.clc.gid = {0x1111, 0x2222, clc::smcd_gid::loopback_chid};
    a.clc.token = a.ring.ring.token;
    a.clc.size_code = clc::size_code_of(test_ring);
    a.clc.link_id = a.ring.group;
    a.clc.first_contact = true;
    a.descriptors = {group->inbox_file().get(), doorbell.get(), opened.value.slab_file()->get()};
    encode_endpoint(clc::message_type::accept, a.clc, a.message.clc);
    a.message.extension = smcd::encode(a.ring);
    const auto extension = a.message.extension;
    const auto clc = a.message.clc;
    change(a);
    if (a.message.extension == extension) a.message.extension = smcd::encode(a.ring);
    if (a.message.clc == clc) {
      a.message.clc.clear();
      encode_endpoint(clc::message_type::accept, a.clc, a.message.clc);
    }
    a.message.descriptors = static_cast<std::uint8_t>(a.descriptors.size());
    for (int i = 0; i < times; ++i) caller.send(a.message, a.descriptors);
    // The client says that it can't; only then may the memory go.
    const auto answer = co_await caller.next();
    EXPECT_TRUE(std::holds_alternative<decline>(answer.what));
    opened.value.withdraw();
  };
}

TEST_P(RendezvousServer, AnAcceptWithFlawedMemoryIsAViolation) {
  for (const std::size_t which : {0u, 2u}) {
    for (const flaw each : flaws_of_files) {
      met_by(accepting([&](raw_accept& a) {
               auto& copy = a.kept.emplace_back(flawed_copy(a.descriptors[which], each));
               a.descriptors[which] = copy.get();
             }),
             reason::protocol_error);
    }
  }
}

TEST_P(RendezvousServer, AnAcceptWithWrongDescriptorsIsAViolation) {
  const std::vector<std::function<void(std::vector<int>&)>> changes = {
      [](auto& d) { d.clear(); },
      [](auto& d) { d.pop_back(); },
      [](auto& d) { d.erase(d.begin()); },
      [](auto& d) { d.push_back(d[1]); },
      [](auto& d) { std::swap(d[0], d[2]); },
      [](auto& d) { d[1] = d[2]; }};
  for (const auto& change : changes) {
    met_by(accepting([&](raw_accept& a) { change(a.descriptors); }), reason::protocol_error);
  }
}

TEST_P(RendezvousServer, AnAcceptWithWrongNumbersIsAViolation) {
  const std::vector<bend> bends = {
      [](raw_accept& a) { a.ring.ring.slab_rings += 1; },
      [](raw_accept& a) { a.ring.ring.ring_index = a.ring.ring.slab_rings; },
      [](raw_accept& a) { a.ring.ring.ring_generation += 1; },
      [](raw_accept& a) { a.ring.ring.ring_size = 3; },
      [](raw_accept& a) { a.ring.introduces = false; },
      [](raw_accept& a) { a.ring.with_slab = false; },
      [](raw_accept& a) { a.ring.ring.token += 1; },
      [](raw_accept& a) { a.ring.ring.connection_number = 1 << 20; },
      [](raw_accept& a) { a.message.extension.pop_back(); },
      [](raw_accept& a) { a.message.extension.clear(); },
      [](raw_accept& a) { a.message.clc.resize(20); },
      [](raw_accept& a) { a.message.clc.assign(100, std::byte{1}); },
      [](raw_accept& a) { a.message.transport = "smc-r"; },
      [](raw_accept& a) { a.message.transport = "tcp"; }};
  for (const auto& each : bends) met_by(accepting(each), reason::protocol_error);
}

TEST_P(RendezvousServer, AnAcceptWithAnothersTokenIsAnotherHost) {
  met_by(accepting([](raw_accept& a) { a.ring.ring.token = ++a.clc.token; }), reason::other_host);
}

TEST_P(RendezvousServer, AnAcceptThatComesTwiceAndIsWrongEndsTheAttemptOnce) {
  met_by(accepting([](raw_accept& a) { a.descriptors.pop_back(); }, 3), reason::protocol_error);
}

// ---- callers that nobody takes

TEST_P(RendezvousServer, AFullBacklogIsUnreachable) {
  world here(GetParam());
  here.run([&]() -> asio::awaitable<void> {
    plain_server plain(here.executor());
    fake_announcer fake(plain.endpoint().port(), 0, 0);
    std::vector<raw_client> others;
    for (std::error_code error; !error;) {
      auto called = call_announcer(rendezvous_place(plain.endpoint().port()), 0);
      error = called.error;
      if (!error) others.emplace_back(std::move(called.value));
    }
    stream client(here.executor(), settings_for(carrier::smc_d_mapped));
    co_await client.async_connect(plain.endpoint(), asio::use_awaitable);
    EXPECT_EQ(client.transport(), transport_kind::tcp);
    EXPECT_EQ(client.fallback_reason(), make_error_code(reason::rendezvous_unreachable));
    EXPECT_EQ(co_await echoed(client, "in spite of it"), "in spite of it");
  });
}

TEST_P(RendezvousServer, ManyFalseAnnouncersDoNotHideTheTrueOne) {
  world here(GetParam());
  here.run([&]() -> asio::awaitable<void> {
    echo_server server(here.executor());
    std::deque<fake_announcer> false_ones;
    for (unsigned k = 1; k < rendezvous_names; ++k) {
      false_ones.emplace_back(server.endpoint().port(), k);
    }
    for (int i = 0; i < 3; ++i) co_await serves_everybody(server);
  });
}

TEST_P(RendezvousServer, NamesThatAreAllTakenLeaveTheAcceptorWithTcp) {
  world here(GetParam());
  here.run([&]() -> asio::awaitable<void> {
    std::deque<fake_announcer> false_ones;
    std::uint16_t port = 0;
    {
      tcp::acceptor finds_a_port(here.executor(), any_port());
      port = finds_a_port.local_endpoint().port();
      for (unsigned k = 0; k < rendezvous_names; ++k) false_ones.emplace_back(port, k);
    }
    config settings = settings_for(carrier::smc_d_mapped);
    settings.handshake_timeout = soon;
    acceptor listener(here.executor(), tcp::endpoint(asio::ip::address_v4::loopback(), port),
                      settings);
    stream client(here.executor(), settings), server(here.executor(), settings);
    outcome accepted;
    listener.async_accept(server, store(accepted));
    co_await client.async_connect(listener.local_endpoint(), asio::use_awaitable);
    co_await until([&] { return accepted.called; });
    EXPECT_EQ(client.transport(), transport_kind::tcp);
    EXPECT_EQ(server.transport(), transport_kind::tcp);
    co_await asio::async_write(client, asio::buffer("plain", 5), asio::use_awaitable);
    EXPECT_EQ(co_await read_text(server, 5), "plain");
  });
}

INSTANTIATE_TEST_SUITE_P(Everywhere, RendezvousServer, both_places(), name_of_place);

}  // namespace
}  // namespace smc::test
