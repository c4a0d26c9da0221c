// Clients whose mailbox, or whose use of the server's, is a lie.
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <atomic>
#include <thread>

#include "framework/faults/attack.hpp"
#include "framework/faults/memory_files.hpp"
#include "negotiation/mailbox.hpp"

namespace smc::test {
namespace {

using namespace negotiation;  // NOLINT: the test speaks its language
using RendezvousMailbox = attacked_server;

/// A mailbox and a doorbell as the library makes them.
struct honest_mailbox {
  honest_mailbox() : doorbell(taken(system::create_event())) {
    if (box.create(system::memory_budget::process()) != reason::none) {
      throw std::runtime_error("no mailbox");
    }
  }
  mailbox box;
  system::descriptor doorbell;
};

/// Introduces a client with these as process, mailbox and doorbell.
void introduce(raw_client& client, const message& what, std::vector<int> descriptors) {
  const auto self = own_process();
  descriptors.insert(descriptors.begin(), self.get());
  client.send_bytes(client.encoded(what, true), descriptors);
}

/// A client that holds the server's mailbox.
struct correspondent {
  explicit correspondent(raw_client& c) : client(c) {}

  asio::awaitable<void> meet() {
    client.send(confirm_of_nothing());  // declined, and the decline introduces the server
    auto answer = co_await client.next();
    file = std::move(answer.mailbox);
    doorbell = std::move(answer.doorbell);
    memory.emplace(file.get(), mailbox_size);
  }

  static message confirm_of_nothing() {
    confirm m;
    m.attempt = 99;
    m.transport = "smc-d";
    return m;
  }
  mailbox_header& header() { return memory->at<mailbox_header>(0); }
  std::uint64_t& length() { return memory->at<std::uint64_t>(mailbox_size - mailbox_capacity); }
  void publish(std::uint64_t written) {
    header().written.store(written);
    (void)system::ring(doorbell);
  }
  mail_sender sender() {
    mail_sender made;
    if (made.attach(taken(file.duplicate()), taken(doorbell.duplicate()),
                    system::memory_budget::process()) != reason::none) {
      throw std::runtime_error("the server's mailbox");
    }
    return made;
  }

  raw_client& client;
  system::descriptor file, doorbell;
  std::optional<mapped_file> memory;
};

TEST_P(RendezvousMailbox, AFlawedMailboxEndsTheLinkAndNothingElse) {
  attacked([](attacker& hostile, echo_server&) -> asio::awaitable<void> {
    honest_mailbox honest;
    std::vector<system::descriptor> wrong;
    for (const flaw each : flaws_of_files) {
      wrong.push_back(flawed_copy(honest.box.file().get(), each));
    }
    wrong.push_back(flawed_copy(honest.box.file().get(), flaw::changed));  // the magic number
    wrong.push_back(flawed_copy(honest.box.file().get(), flaw::nothing));
    mapped_file(wrong.back().get(), mailbox_size).at<mailbox_header>(0).version.store(2);
    wrong.push_back(taken(system::create_event()));
    wrong.push_back(taken(system::descriptor::adopt(::open("/dev/zero", O_RDWR | O_CLOEXEC))));
    wrong.push_back(own_process());
    for (const auto& file : wrong) {
      raw_client& client = hostile.client();
      introduce(client, hostile.intent(), {file.get(), honest.doorbell.get()});
      co_await client.hang_up_comes();
    }
  });
}

TEST_P(RendezvousMailbox, WhatIsNoDoorbellEndsTheLinkAndNothingElse) {
  attacked([](attacker& hostile, echo_server&) -> asio::awaitable<void> {
    honest_mailbox honest;
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) throw std::runtime_error("no pipe");
    const auto out = taken(system::descriptor::adopt(ends[0]));
    const auto in = taken(system::descriptor::adopt(ends[1]));
    const auto blocking = taken(system::descriptor::adopt(::eventfd(0, EFD_CLOEXEC)));
    const auto mail = honest.box.file().get();
    const std::vector<std::vector<int>> wrong = {{mail, in.get()},
                                                 {mail, out.get()},
                                                 {mail, blocking.get()},
                                                 {mail, mail},
                                                 {honest.doorbell.get(), mail},
                                                 {mail},
                                                 {}};
    for (const auto& descriptors : wrong) {
      raw_client& client = hostile.client();
      introduce(client, hostile.intent(), descriptors);
      co_await client.hang_up_comes();
    }
  });
}

TEST_P(RendezvousMailbox, AServersMessageFromAClientWithAMailboxLeavesNothing) {
  attacked([](attacker& hostile, echo_server&) -> asio::awaitable<void> {
    honest_mailbox honest;
    raw_client& client = hostile.client();
    introduce(client, hostile.intent(), {honest.box.file().get(), honest.doorbell.get()});
    client.send(retire{});
    co_await client.hang_up_comes();
  });
}

TEST_P(RendezvousMailbox, ACursorThatLiesEndsTheLink) {
  attacked([](attacker& hostile, echo_server&) -> asio::awaitable<void> {
    const std::uint64_t cursors[] = {1, 7, mailbox_capacity + 1, std::uint64_t{1} << 63,
                                     UINT64_MAX};
    for (const std::uint64_t written : cursors) {
      correspondent c(hostile.client());
      co_await c.meet();
      c.publish(written);
      co_await c.client.hang_up_comes();
    }
  });
}

TEST_P(RendezvousMailbox, ALengthThatLiesEndsTheLink) {
  attacked([](attacker& hostile, echo_server&) -> asio::awaitable<void> {
    const std::uint64_t lengths[] = {
        0, 9, max_message_size, 8193, 1u << 31, std::uint64_t{1} << 63, UINT64_MAX - 7, UINT64_MAX};
    for (const std::uint64_t length : lengths) {
      correspondent c(hostile.client());
      co_await c.meet();
      c.length() = length;
      c.publish(16);
      co_await c.client.hang_up_comes();
    }
  });
}

TEST_P(RendezvousMailbox, ACursorThatGoesBackEndsTheLink) {
  attacked([](attacker& hostile, echo_server&) -> asio::awaitable<void> {
    correspondent c(hostile.client());
    co_await c.meet();
    auto mail = c.sender();
    for (std::uint64_t i = 0; i < 10; ++i) mail.send(c.client.encoded(withdraw{i}), true);
    co_await until([&] { return c.header().taken.load() == c.header().written.load(); });
    c.publish(c.header().taken.load() - 8);
    co_await c.client.hang_up_comes();
  });
}

TEST_P(RendezvousMailbox, ChangingWhatLiesThereWhileItIsReadDoesNoHarm) {
  attacked([](attacker& hostile, echo_server&) -> asio::awaitable<void> {
    for (int round = 0; round < 20; ++round) {
      correspondent c(hostile.client());
      co_await c.meet();
      std::atomic<bool> over{false};
      std::thread writer([&] {
        // As TSan sees them: words that everybody writes.
        for (std::uint64_t i = 1; !over; i = i * 6364136223846793005u + 1442695040888963407u) {
          auto& word = c.memory->at<std::atomic<std::uint64_t>>(mailbox_size - mailbox_capacity +
                                                                (i >> 40) % 64 * 8);
          word.store(i % 3 == 0 ? i : i % 200, std::memory_order_relaxed);
          if (i % 16 == 0) c.publish(i % mailbox_capacity);
        }
      });
      c.publish(24);
      for (int turn = 0; turn < 1000 && !c.client.hung_up(); ++turn) co_await turns(1);
      over = true;
      writer.join();
      c.publish(UINT64_MAX);
      co_await c.client.hang_up_comes();
    }
  });
}

TEST_P(RendezvousMailbox, MailThatComesAfterTheEndKeepsNobodyBusy) {
  attacked([](attacker& hostile, echo_server&) -> asio::awaitable<void> {
    correspondent c(hostile.client());
    co_await c.meet();
    c.publish(UINT64_MAX);
    co_await c.client.hang_up_comes();
    for (std::uint64_t i = 0; i < 100; ++i) {
      c.publish(i);
      co_await turns(2);
    }
  });
}

TEST_P(RendezvousMailbox, ATakenCursorThatLiesSendsTheServerToTheSocket) {
  attacked([](attacker& hostile, echo_server&) -> asio::awaitable<void> {
    honest_mailbox honest;
    const mapped_file memory(honest.box.file().get(), mailbox_size);
    raw_client& client = hostile.client();
    introduce(client, correspondent::confirm_of_nothing(),
              {honest.box.file().get(), honest.doorbell.get()});
    (void)co_await client.next();
    for (const std::uint64_t taken : {1ull, 8192ull, 1ull << 63}) {
      memory.at<mailbox_header>(0).taken.store(taken);
      client.send(correspondent::confirm_of_nothing());
      const auto answer = co_await client.next();
      EXPECT_TRUE(std::holds_alternative<decline>(answer.what));
    }
  });
}

TEST_P(RendezvousMailbox, AMailboxThatIsNeverReadSendsTheServerToTheSocket) {
  attacked([](attacker& hostile, echo_server&) -> asio::awaitable<void> {
    honest_mailbox honest;
    raw_client& client = hostile.client();
    introduce(client, correspondent::confirm_of_nothing(),
              {honest.box.file().get(), honest.doorbell.get()});
    (void)co_await client.next();
    bool answered = false;
    for (int i = 0; i < 1000 && !answered; ++i) {
      client.send(correspondent::confirm_of_nothing());
      co_await turns(5);
      answered = client.receive().has_value();
    }
    EXPECT_TRUE(answered);
  });
}

// Each way holds what overtook the other's: who waited for all of them would wait one call inside
// the other.
TEST_P(RendezvousMailbox, MessagesThatOvertakeEachOtherEndTheLink) {
  attacked([](attacker& hostile, echo_server&) -> asio::awaitable<void> {
    correspondent c(hostile.client());
    co_await c.meet();
    const int room = 16 << 20;
    (void)::setsockopt(c.client.socket().get(), SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room);
    auto mail = c.sender();
    for (std::uint32_t i = 0; i < 680; ++i) {
      mail.send(raw_client::encoded_as(10'000 - i, retire{}), false);
      c.client.send_bytes(raw_client::encoded_as(20'000 - i, retire{}));
    }
    (void)system::ring(c.doorbell);
    co_await c.client.hang_up_comes();
  });
}

TEST_P(RendezvousMailbox, MessagesByBothWaysKeepTheirOrder) {
  attacked([](attacker& hostile, echo_server&) -> asio::awaitable<void> {
    correspondent c(hostile.client());
    co_await c.meet();
    auto mail = c.sender();
    for (std::uint64_t round = 0; round < 20; ++round) {
      for (std::uint64_t i = 0; i < 20; ++i) {
        if ((i * 7 + round) % 3 == 0) {
          mail.send(c.client.encoded(withdraw{i}), true);
        } else {
          c.client.send(withdraw{i});
        }
      }
      co_await turns(2);
    }
    c.client.send(correspondent::confirm_of_nothing());
    const auto answer = co_await c.client.next();
    EXPECT_TRUE(std::holds_alternative<decline>(answer.what));
  });
}

TEST_P(RendezvousMailbox, AClientThatNeverStopsWritingLeavesTimeForOthers) {
  attacked([](attacker& hostile, echo_server& server) -> asio::awaitable<void> {
    correspondent c(hostile.client());
    co_await c.meet();
    auto mail = c.sender();
    std::atomic<bool> over{false};
    std::thread writer([&] {
      auto packet = c.client.encoded(withdraw{5});
      while (!over) {
        if (mail.send(packet, true)) packet = c.client.encoded(withdraw{5});
      }
    });
    for (int i = 0; i < 10; ++i) co_await serves_everybody(server);
    over = true;
    writer.join();
    EXPECT_FALSE(c.client.hung_up());
  });
}

INSTANTIATE_TEST_SUITE_P(Everywhere, RendezvousMailbox, both_places(), name_of_place);

}  // namespace
}  // namespace smc::test
