// Streams on a transport that misbehaves within its rules: would-blocks and wake-ups for nothing,
// transfers of a byte, connections that break in the middle. Nothing may be lost, counted twice or
// waited for in vain.
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/experimental/awaitable_operators.hpp>
#include <asio/redirect_error.hpp>
#include <cstring>

#include "setting.hpp"

namespace smc::test {
namespace {

using namespace asio::experimental::awaitable_operators;

class StreamFaults : public each_setting {
 protected:
  injected_faults faults;
};

/// Writes and reads `size` bytes; both counts and the bytes have to be exact.
asio::awaitable<void> transfer(stream& from, stream& to, std::size_t size) {
  const std::string text = pattern_text(0, size);
  std::string got(size, '\0');
  const auto [written, read] =
      co_await (asio::async_write(from, asio::buffer(text), asio::use_awaitable) &&
                asio::async_read(to, asio::buffer(got), asio::use_awaitable));
  EXPECT_EQ(written, size);
  EXPECT_EQ(read, size);
  EXPECT_TRUE(got == text);
  EXPECT_EQ(to.available(), 0u);
}

TEST_P(StreamFaults, WouldBlocksForNothingLoseNothing) {
  connected([](pair& p) -> asio::awaitable<void> {
    injected_faults::set({.client = {.writes = {.blocked_tries = 40, .most = 1000}},
                          .server = {.reads = {.blocked_tries = 60, .most = 700}}});
    co_await transfer(p.client, p.server, 200'000);
    const memory_faults left = injected_faults::left();
    EXPECT_EQ(left.client.writes.blocked_tries, 0u);
    EXPECT_EQ(left.server.reads.blocked_tries, 0u);
  });
}

TEST_P(StreamFaults, WakeUpsForNothingCompleteNothingAndLoseNothing) {
  connected([](pair& p) -> asio::awaitable<void> {
    injected_faults::set({.server = {.reads = {.idle_wakeups = 25}}});
    outcome read;
    char in[8];
    p.server.async_read_some(asio::buffer(in), store(read));
    co_await until([] { return injected_faults::left().server.reads.idle_wakeups == 0; });
    co_await turns();
    EXPECT_FALSE(read.called);
    co_await asio::async_write(p.client, asio::buffer("now", 3), asio::use_awaitable);
    co_await until([&read] { return read.called; });
    EXPECT_FALSE(read.error);
    EXPECT_EQ(std::string_view(in, read.bytes), "now");
    injected_faults::set(
        {.client = {.writes = {.idle_wakeups = 20}}, .server = {.reads = {.idle_wakeups = 20}}});
    co_await transfer(p.client, p.server, 1'000'000);
  });
}

TEST_P(StreamFaults, AWaitForReadinessOutlastsWakeUpsForNothing) {
  connected([](pair& p) -> asio::awaitable<void> {
    injected_faults::set({.server = {.reads = {.idle_wakeups = 5}}});
    outcome ready;
    p.server.async_wait(asio::socket_base::wait_read, store(ready));
    co_await until([] { return injected_faults::left().server.reads.idle_wakeups == 0; });
    co_await turns();
    EXPECT_FALSE(ready.called);
    co_await asio::async_write(p.client, asio::buffer("x", 1), asio::use_awaitable);
    co_await until([&ready] { return ready.called; });
    EXPECT_FALSE(ready.error);
    EXPECT_EQ(p.server.available(), 1u);
  });
}

TEST_P(StreamFaults, MinimaOfPrepareAndDataHoldUnderWakeUpsForNothing) {
  connected([](pair& p) -> asio::awaitable<void> {
    co_await asio::async_write(p.client, asio::buffer("half", 4), asio::use_awaitable);
    injected_faults::set({.server = {.reads = {.blocked_tries = 2, .idle_wakeups = 5}}});
    std::string seen;
    p.server.async_data(8, [&](std::error_code ec, asio::const_buffer bytes) {
      EXPECT_FALSE(ec);
      seen.assign(static_cast<const char*>(bytes.data()), bytes.size());
    });
    co_await until([] { return injected_faults::left().server.reads.idle_wakeups == 0; });
    co_await turns();
    EXPECT_EQ(seen, "");
    co_await asio::async_write(p.client, asio::buffer("more", 4), asio::use_awaitable);
    co_await until([&seen] { return !seen.empty(); });
    EXPECT_EQ(seen, "halfmore");

    injected_faults::set({.client = {.writes = {.blocked_tries = 2, .idle_wakeups = 5}}});
    const std::string most_of_it(test_ring - 8, 'm');  // on top of the 8 that are still there
    co_await asio::async_write(p.client, asio::buffer(most_of_it), asio::use_awaitable);
    std::size_t room = 0;
    p.client.async_prepare(100, [&room](std::error_code ec, asio::mutable_buffer to) {
      EXPECT_FALSE(ec);
      room = to.size();
    });
    co_await until([] { return injected_faults::left().client.writes.idle_wakeups == 0; });
    p.server.consume(8);
    co_await turns();
    EXPECT_EQ(room, 0u);
    (void)co_await read_text(p.server, most_of_it.size());
    co_await until([&room] { return room != 0; });
    EXPECT_GE(room, 100u);
  });
}

TEST_P(StreamFaults, ACancelledReadTakesNothingFromBehindAWouldBlockForNothing) {
  connected([](pair& p) -> asio::awaitable<void> {
    injected_faults::set({.server = {.reads = {.blocked_tries = unlimited}}});
    co_await asio::async_write(p.client, asio::buffer("kept", 4), asio::use_awaitable);
    asio::cancellation_signal signal;
    outcome read;
    char in[8];
    p.server.async_read_some(asio::buffer(in),
                             asio::bind_cancellation_slot(signal.slot(), store(read)));
    co_await turns();
    EXPECT_FALSE(read.called);
    signal.emit(asio::cancellation_type::total);
    co_await until([&read] { return read.called; });
    EXPECT_EQ(read.error, asio::error::operation_aborted);
    EXPECT_EQ(read.bytes, 0u);
    injected_faults::set({});
    EXPECT_EQ(co_await read_text(p.server, 4), "kept");
  });
}

TEST_P(StreamFaults, ShortTransfersKeepExactCounts) {
  connected([](pair& p) -> asio::awaitable<void> {
    constexpr std::size_t size = 3000;
    injected_faults::set({.client = {.writes = {.most = 1}}, .server = {.reads = {.most = 1}}});
    co_await transfer(p.client, p.server, size);
    EXPECT_EQ(p.client.statistics().sent.bytes, size);
    EXPECT_EQ(p.server.statistics().received.bytes, size);
    EXPECT_EQ(p.server.statistics().received.requests, size);
    const std::array<asio::const_buffer, 3> parts{asio::buffer("ab", 2), asio::buffer("", 0),
                                                  asio::buffer("c", 1)};
    EXPECT_EQ(co_await p.client.async_write_some(parts, asio::use_awaitable), 1u);
    EXPECT_EQ(co_await asio::async_write(p.client, asio::buffer("bc", 2), asio::use_awaitable), 2u);
    EXPECT_EQ(co_await read_text(p.server, 3), "abc");
  });
}

TEST_P(StreamFaults, TransferWholeIsNotMetByShortTransfers) {
  connected([](pair& p) -> asio::awaitable<void> {
    injected_faults::set({.client = {.writes = {.most = 999}}, .server = {.reads = {.most = 1}}});
    const std::string text = pattern_text(0, 2500);
    EXPECT_EQ(co_await asio::async_write(p.client, asio::buffer(text), smc::transfer_whole(),
                                         asio::use_awaitable),
              text.size());
    EXPECT_TRUE(co_await read_text(p.server, text.size()) == text);
  });
}

TEST_P(StreamFaults, CommittedBytesThatCouldNotBePassedOnFollowByThemselves) {
  connected([](pair& p) -> asio::awaitable<void> {
    injected_faults::set({.client = {.writes = {.most = 3}}});
    const asio::mutable_buffer room = co_await p.client.async_prepare(11, asio::use_awaitable);
    std::memcpy(room.data(), "by and by..", 11);
    p.client.commit(11);
    EXPECT_EQ(co_await read_text(p.server, 11), "by and by..");
    co_await transfer(p.client, p.server, 100);
  });
}

TEST_P(StreamFaults, CommittedBytesArePassedOnBeforeTheEndOfStream) {
  connected([](pair& p) -> asio::awaitable<void> {
    injected_faults::set({.client = {.writes = {.blocked_tries = 1, .most = 1}}});
    const asio::mutable_buffer room = co_await p.client.async_prepare(4, asio::use_awaitable);
    std::memcpy(room.data(), "last", 4);
    p.client.commit(4);
    p.client.close();
    EXPECT_EQ(co_await read_text(p.server, 4), "last");
    char in[4];
    std::error_code ec;
    co_await p.server.async_read_some(asio::buffer(in),
                                      asio::redirect_error(asio::use_awaitable, ec));
    EXPECT_EQ(ec, asio::error::eof);
  });
}

TEST_P(StreamFaults, ABreakDeliversTheBytesBeforeItAndThenAReset) {
  connected([](pair& p) -> asio::awaitable<void> {
    injected_faults::set({.client = {.breaks_after = 1000}});
    const std::string text = pattern_text(0, 5000);
    outcome write, read;
    asio::async_write(p.client, asio::buffer(text), store(write));
    std::string got(text.size(), '\0');
    asio::async_read(p.server, asio::buffer(got), store(read));
    co_await until([&] { return write.called && read.called; });
    EXPECT_EQ(write.error, asio::error::connection_reset);
    EXPECT_EQ(write.bytes, 1000u);
    EXPECT_EQ(read.error, asio::error::connection_reset);
    EXPECT_EQ(read.bytes, 1000u);
    EXPECT_EQ(got.substr(0, 1000), text.substr(0, 1000));
    EXPECT_EQ(p.client.statistics().sent.bytes, 1000u);
    EXPECT_EQ(p.server.statistics().received.bytes, 1000u);
  });
}

TEST_P(StreamFaults, ABreakEndsWhateverWaits) {
  connected([](pair& p) -> asio::awaitable<void> {
    char in[3][8];
    outcome reads[3], write;
    for (int i = 0; i < 2; ++i) p.client.async_read_some(asio::buffer(in[i]), store(reads[i]));
    p.server.async_read_some(asio::buffer(in[2]), store(reads[2]));
    const std::string much(2 * test_ring, 'm');
    asio::async_write(p.server, asio::buffer(much), store(write));
    co_await until([&] { return reads[0].called && reads[1].called; });
    co_await turns();
    EXPECT_FALSE(write.called || reads[2].called);
    injected_faults::set({.client = {.breaks_after = 0}});
    std::error_code ec;
    co_await p.client.async_write_some(asio::buffer("x", 1),
                                       asio::redirect_error(asio::use_awaitable, ec));
    EXPECT_EQ(ec, asio::error::connection_reset);
    co_await until([&] { return write.called && reads[2].called; });
    // Told once, to whoever meets it first; the other finds the stream over.
    const bool by_read = reads[2].error == asio::error::connection_reset;
    EXPECT_TRUE(by_read || reads[2].error == asio::error::eof) << reads[2].error.message();
    EXPECT_EQ(write.error, by_read ? std::error_code(asio::error::broken_pipe)
                                   : std::error_code(asio::error::connection_reset));
  });
}

TEST_P(StreamFaults, BlockingCallsOutlastWouldBlocksForNothing) {
  if (where() != place::event_loop && where() != place::io_context) {
    GTEST_SKIP() << "blocking calls take no executor: two kinds of context are all there is";
  }
  world here(where());
  pair p(here.executor(), by());
  p.client.connect(p.listener.local_endpoint());
  p.listener.accept(p.server);
  ASSERT_EQ(p.server.transport(), transport_kind::other) << p.server.fallback_reason().message();
  faults.set({.client = {.writes = {.blocked_tries = 30, .most = 777}},
              .server = {.reads = {.blocked_tries = 30, .most = 555}}});
  const std::string text = pattern_text(0, 300'000);
  std::thread writer([&] { EXPECT_EQ(asio::write(p.client, asio::buffer(text)), text.size()); });
  std::string got(text.size(), '\0');
  EXPECT_EQ(asio::read(p.server, asio::buffer(got)), got.size());
  writer.join();
  EXPECT_TRUE(got == text);
  EXPECT_EQ(faults.left().server.reads.blocked_tries, 0u);
}

INSTANTIATE_TEST_SUITE_P(Everywhere, StreamFaults,
                         testing::Combine(testing::Values(carrier::memory), all_places()),
                         name_of_setting);

}  // namespace
}  // namespace smc::test
