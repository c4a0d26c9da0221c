// Clients that go as far as CONFIRM and then lie about their memory, or about the server's.
#include <asio/error.hpp>

#include "framework/faults/memory_files.hpp"
#include "framework/faults/raw_handshake.hpp"

namespace smc::test {
namespace {

using tcp = asio::ip::tcp;
using namespace negotiation;  // NOLINT: the test speaks its language
using RendezvousConfirm = attacked_server;

/// One lie: what it changes, and what it needs to be kept until it was told.
using lie = std::function<void(raw_confirm&, std::vector<system::descriptor>&)>;

/// Each client of its own goes as far as CONFIRM, and tells one lie there: its TCP connection is
/// thrown away, because after a CONFIRM it is no fallback any more.
attack telling(std::vector<lie> lies) {
  return [lies = std::move(lies)](attacker& hostile, echo_server& server) -> asio::awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    std::size_t number = 0;
    for (const lie& each : lies) {
      SCOPED_TRACE("lie " + std::to_string(number++));
      tcp::socket& socket = hostile.socket(executor);
      raw_client& client = hostile.client();
      raw_handshake handshake(client, socket);
      co_await handshake.up_to_accept(hostile);
      raw_confirm told = handshake.prepare();
      std::vector<system::descriptor> kept;
      each(told, kept);
      handshake.send(told);
      co_await reset_comes(socket);
      EXPECT_EQ(server.accepted(), 0u);
    }
  };
}

TEST_P(RendezvousConfirm, TheTruthIsServed) {
  attacked([](attacker& hostile, echo_server& server) -> asio::awaitable<void> {
    tcp::socket& socket = hostile.socket(co_await asio::this_coro::executor);
    raw_handshake handshake(hostile.client(), socket);
    co_await handshake.up_to_accept(hostile);
    handshake.send(handshake.prepare());
    EXPECT_EQ(co_await server.next_accepted(), transport_kind::smc_d);
    const asio::const_buffer text("honest", 6);
    EXPECT_EQ(handshake.connection().write_some({&text, 1}).bytes, 6u);
    co_await until([&] { return handshake.connection().available() == 6; });
  });
}

TEST_P(RendezvousConfirm, AFlawedInboxIsRefused) {
  std::vector<lie> lies;
  for (const flaw each : flaws_of_files) {
    lies.push_back([each](raw_confirm& c, auto& kept) {
      c.descriptors[0] = kept.emplace_back(flawed_copy(c.descriptors[0], each)).get();
    });
  }
  lies.push_back([](raw_confirm& c, auto& kept) {
    c.descriptors[0] = kept.emplace_back(flawed_copy(c.descriptors[0], flaw::changed)).get();
  });
  attacked(telling(lies));
}

TEST_P(RendezvousConfirm, AFlawedSlabIsRefused) {
  std::vector<lie> lies;
  for (const flaw each : flaws_of_files) {
    lies.push_back([each](raw_confirm& c, auto& kept) {
      c.descriptors[2] = kept.emplace_back(flawed_copy(c.descriptors[2], each)).get();
    });
  }
  lies.push_back([](raw_confirm& c, auto& kept) {  // the magic number of the ring that is meant
    auto& copy = kept.emplace_back(flawed_copy(c.descriptors[2], flaw::nothing));
    const mapped_file memory(copy.get(), size_of(copy.get()));
    memory.at<std::uint64_t>(c.ring.ring.ring_index * sizeof(smcd::ring_header)) = 1;
    c.descriptors[2] = copy.get();
  });
  attacked(telling(lies));
}

TEST_P(RendezvousConfirm, WrongDescriptorsAreRefused) {
  std::vector<lie> lies;
  const auto with = [&lies](auto change) {
    lies.push_back([change](raw_confirm& c, auto&) { change(c.descriptors); });
  };
  with([](std::vector<int>& d) { d.clear(); });
  with([](std::vector<int>& d) { d.pop_back(); });
  with([](std::vector<int>& d) { d.erase(d.begin()); });
  with([](std::vector<int>& d) { d.push_back(d[1]); });
  with([](std::vector<int>& d) { d.insert(d.begin(), d[1]); });
  with([](std::vector<int>& d) { std::swap(d[0], d[1]); });
  with([](std::vector<int>& d) { std::swap(d[0], d[2]); });
  with([](std::vector<int>& d) { d[1] = d[0]; });
  with([](std::vector<int>& d) { d.resize(8, d[1]); });
  attacked(telling(lies));
}

TEST_P(RendezvousConfirm, WrongNumbersAreRefused) {
  std::vector<lie> lies;
  const auto with = [&lies](auto change) {
    lies.push_back([change](raw_confirm& c, auto&) { change(c.ring); });
  };
  using extension = smcd::ring_extension;
  with([](extension& e) { e.group += 1; });
  with([](extension& e) { e.introduces = false; });
  with([](extension& e) { e.with_slab = false; });
  with([](extension& e) { e.ring.token += 1; });
  with([](extension& e) { e.ring.slab_rings = 0; });
  with([](extension& e) { e.ring.slab_rings += 1; });
  with([](extension& e) { e.ring.slab_rings = UINT32_MAX; });
  with([](extension& e) { e.ring.ring_index = e.ring.slab_rings; });
  with([](extension& e) { e.ring.ring_index = UINT32_MAX; });
  with([](extension& e) { e.ring.ring_generation += 1; });
  with([](extension& e) { e.ring.ring_size = 0; });
  with([](extension& e) { e.ring.ring_size += 1; });
  with([](extension& e) { e.ring.ring_size *= 2; });
  with([](extension& e) { e.ring.ring_size = std::uint64_t{1} << 63; });
  with([](extension& e) { e.ring.connection_number = 1 << 16; });
  lies.push_back([](raw_confirm& c, auto&) { c.clc.token += 1; });
  lies.push_back([](raw_confirm& c, auto&) { c.ring.ring.token = ++c.clc.token; });
  attacked(telling(lies));
}

TEST_P(RendezvousConfirm, AWrongMessageIsRefused) {
  std::vector<lie> lies;
  const auto with = [&lies](auto change) {
    lies.push_back([change](raw_confirm& c, auto&) { c.last_touch = change; });
  };
  with([](confirm& m) { m.transport = "smc-r"; });
  with([](confirm& m) { m.transport = "never-heard-of"; });
  with([](confirm& m) { m.clc.clear(); });
  with([](confirm& m) { m.clc.resize(m.clc.size() / 2); });
  with([](confirm& m) { m.clc.assign(200, std::byte{0xe2}); });
  with([](confirm& m) { m.extension.clear(); });
  with([](confirm& m) { m.extension.pop_back(); });
  with([](confirm& m) { m.extension.push_back({}); });
  with([](confirm& m) { m.extension.assign(max_extension_size, std::byte{0xff}); });
  attacked(telling(lies));
}

TEST_P(RendezvousConfirm, WhoHasNotSeenTheServersMemoryIsRefused) {
  attacked([](attacker& hostile, echo_server& server) -> asio::awaitable<void> {
    tcp::socket& socket = hostile.socket(co_await asio::this_coro::executor);
    raw_handshake handshake(hostile.client(), socket);
    co_await handshake.up_to_accept(hostile);
    handshake.send(handshake.prepare(false));
    co_await reset_comes(socket);
    EXPECT_EQ(server.accepted(), 0u);
  });
}

/// What happens to an established stream when its peer's side of the memory is written over.
attack ruining(std::function<void(raw_handshake&, const mapped_file& slab)> ruin) {
  return [ruin](attacker& hostile, echo_server& server) -> asio::awaitable<void> {
    tcp::socket& socket = hostile.socket(co_await asio::this_coro::executor);
    raw_handshake handshake(hostile.client(), socket);
    co_await handshake.up_to_accept(hostile);
    handshake.send(handshake.prepare());
    EXPECT_EQ(co_await server.next_accepted(), transport_kind::smc_d);
    const auto& slab = handshake.accepted().slab;
    const mapped_file memory(slab.get(), size_of(slab.get()));
    ruin(handshake, memory);
    co_await until([&] { return server.open() == 0; });
  };
}

TEST_P(RendezvousConfirm, AProducerCursorThatLiesResetsTheStream) {
  attacked(ruining([](raw_handshake& h, const mapped_file& slab) {
    const auto ring = h.accepted().ring.ring.ring_index * sizeof(smcd::ring_header);
    auto& header = slab.at<smcd::ring_header>(ring);
    header.producer.cursor.store(std::uint64_t{1} << 62);
    // The honest half of the client would repair it: the entry is made by hand.
    const auto& inbox = h.accepted().inbox;
    const mapped_file memory(inbox.get(), size_of(inbox.get()));
    const auto& meant = h.accepted().ring.ring;
    const smcd::entry told{meant.connection_number, smcd::entry_kind::data,
                           meant.connection_generation};
    memory.at<smcd::shared_word>(sizeof(smcd::inbox_header)).store(told.encode());
    (void)system::ring(h.accepted().doorbell);
  }));
}

TEST_P(RendezvousConfirm, RubbishInTheServersInboxResetsTheStream) {
  attacked(ruining([](raw_handshake& h, const mapped_file&) {
    const auto& inbox = h.accepted().inbox;
    const mapped_file memory(inbox.get(), size_of(inbox.get()));
    for (std::size_t at = sizeof(smcd::inbox_header); at < size_of(inbox.get()); at += 4) {
      memory.at<smcd::shared_word>(at).store(0xffffffff);
    }
    (void)system::ring(h.accepted().doorbell);
  }));
}

TEST_P(RendezvousConfirm, AHangUpOfTheRendezvousResetsTheStream) {
  attacked([](attacker& hostile, echo_server& server) -> asio::awaitable<void> {
    tcp::socket& socket = hostile.socket(co_await asio::this_coro::executor);
    std::optional<raw_client> client(std::in_place, hostile.target().port());
    raw_handshake handshake(*client, socket);
    co_await handshake.up_to_accept(hostile);
    handshake.send(handshake.prepare());
    EXPECT_EQ(co_await server.next_accepted(), transport_kind::smc_d);
    client.reset();
    co_await until([&] { return server.open() == 0; });
  });
}

INSTANTIATE_TEST_SUITE_P(Everywhere, RendezvousConfirm, both_places(), name_of_place);

}  // namespace
}  // namespace smc::test
