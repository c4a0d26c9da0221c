// Deadlines on what streams and acceptors do, and on Asio's composed operations over them.
#include <sys/socket.h>

#include <asio/experimental/as_tuple.hpp>
#include <asio/read_until.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <smc/deadline.hpp>

#include "framework/stream/setting.hpp"

namespace smc::test {
namespace {

using tcp = asio::ip::tcp;
using asio::use_awaitable;
using asio::experimental::as_tuple;
using Deadline = each_setting;

// Over before long, and still ahead when a test ends.
constexpr std::chrono::milliseconds soon{5};
constexpr std::chrono::hours late{1};

/// What came is there to be read.
asio::awaitable<void> arrived(stream& at, std::size_t bytes) {
  co_await until([&at, bytes] { return at.available() >= bytes; });
}

TEST_P(Deadline, AReadThatGetsNothingTimesOutAndTheNextOneGetsAll) {
  connected([](pair& p) -> asio::awaitable<void> {
    char bytes[4] = {};
    auto [ec, n] = co_await p.client.async_read_some(asio::buffer(bytes),
                                                     with_deadline(soon, as_tuple(use_awaitable)));
    EXPECT_EQ(ec, asio::error::timed_out);
    EXPECT_EQ(n, 0u);
    co_await asio::async_write(p.server, asio::buffer("abcd", 4), use_awaitable);
    EXPECT_EQ(co_await read_text(p.client, 4), "abcd");
  });
}

TEST_P(Deadline, ATimePointMayBeSharedByOperations) {
  connected([](pair& p) -> asio::awaitable<void> {
    const auto limit = std::chrono::steady_clock::now() + soon;
    for (int i = 0; i < 3; ++i) {
      char byte = 0;
      auto [ec, n] = co_await p.client.async_read_some(
          asio::buffer(&byte, 1), with_deadline(limit, as_tuple(use_awaitable)));
      EXPECT_EQ(ec, asio::error::timed_out);
      EXPECT_EQ(n, 0u);
    }
  });
}

TEST_P(Deadline, WhatCompletesInTimeHasItsOwnResult) {
  connected([](pair& p) -> asio::awaitable<void> {
    EXPECT_EQ(co_await asio::async_write(p.server, asio::buffer("abcd", 4),
                                         with_deadline(late, use_awaitable)),
              4u);
    char bytes[4] = {};
    EXPECT_EQ(co_await asio::async_read(p.client, asio::buffer(bytes),
                                        with_deadline(late, use_awaitable)),
              4u);
    EXPECT_EQ(std::string(bytes, 4), "abcd");
    p.server.close();
    auto [ec, n] = co_await p.client.async_read_some(asio::buffer(bytes),
                                                     with_deadline(late, as_tuple(use_awaitable)));
    EXPECT_EQ(ec, asio::error::eof);
    EXPECT_EQ(n, 0u);
  });
}

TEST_P(Deadline, AComposedReadReportsItsExactCountAndTheRestIsReadAfterwards) {
  connected([](pair& p) -> asio::awaitable<void> {
    co_await asio::async_write(p.server, asio::buffer("ab", 2), use_awaitable);
    co_await arrived(p.client, 2);
    char bytes[4] = {};
    auto [ec, n] = co_await asio::async_read(p.client, asio::buffer(bytes),
                                             with_deadline(soon, as_tuple(use_awaitable)));
    EXPECT_EQ(ec, asio::error::timed_out);
    EXPECT_EQ(n, 2u);
    EXPECT_EQ(std::string(bytes, 2), "ab");
    co_await asio::async_write(p.server, asio::buffer("cd", 2), use_awaitable);
    EXPECT_EQ(co_await asio::async_read(p.client, asio::buffer(bytes + 2, 2),
                                        with_deadline(late, use_awaitable)),
              2u);
    EXPECT_EQ(std::string(bytes, 4), "abcd");
  });
}

TEST_P(Deadline, AReadUntilKeepsWhatItReadBeforeTheDeadline) {
  connected([](pair& p) -> asio::awaitable<void> {
    co_await asio::async_write(p.server, asio::buffer("half a", 6), use_awaitable);
    co_await arrived(p.client, 6);
    std::string line;
    auto [ec, n] = co_await asio::async_read_until(p.client, asio::dynamic_buffer(line), '\n',
                                                   with_deadline(soon, as_tuple(use_awaitable)));
    EXPECT_EQ(ec, asio::error::timed_out);
    EXPECT_EQ(n, 0u);
    co_await asio::async_write(p.server, asio::buffer(" line\n", 6), use_awaitable);
    EXPECT_EQ(co_await asio::async_read_until(p.client, asio::dynamic_buffer(line), '\n',
                                              with_deadline(late, use_awaitable)),
              12u);
    EXPECT_EQ(line, "half a line\n");
  });
}

TEST_P(Deadline, AWriteAgainstASlowReaderResumesFromReportedCounts) {
  connected([](pair& p) -> asio::awaitable<void> {
    constexpr std::size_t size = std::size_t{1} << 20;
    // Small on both sides: TCP alone would take the megabyte without a reader.
    const std::string text = pattern_text(0, size);
    std::string got;
    std::size_t sent = 0;
    int time_outs = 0;
    while (sent < size) {
      auto [ec, n] =
          co_await asio::async_write(p.server, asio::buffer(text) + sent, transfer_whole(),
                                     with_deadline(soon, as_tuple(use_awaitable)));
      sent += n;
      if (!ec) break;
      EXPECT_EQ(ec, asio::error::timed_out) << ec.message();
      ++time_outs;
      // The reader takes a part of what was said to be sent.
      std::string part(std::min<std::size_t>(sent - got.size(), std::size_t{300'000}), '\0');
      co_await asio::async_read(p.client, asio::buffer(part), with_deadline(late, use_awaitable));
      got += part;
    }
    EXPECT_EQ(sent, size);
    got += co_await read_text(p.client, size - got.size());
    EXPECT_TRUE(got == text);
    if (p.kind != transport_kind::tcp) {
      EXPECT_GT(time_outs, 1);
    }
  });
}

TEST_P(Deadline, WaitingForReadabilityTimesOut) {
  connected([](pair& p) -> asio::awaitable<void> {
    auto [ec] = co_await p.client.async_wait(stream::wait_read,
                                             with_deadline(soon, as_tuple(use_awaitable)));
    EXPECT_EQ(ec, asio::error::timed_out);
    co_await asio::async_write(p.server, asio::buffer("x", 1), use_awaitable);
    co_await p.client.async_wait(stream::wait_read, with_deadline(late, use_awaitable));
    EXPECT_EQ(p.client.available(), 1u);
  });
}

TEST_P(Deadline, DataInPlaceTimesOutAndStaysForTheNextCall) {
  connected([](pair& p) -> asio::awaitable<void> {
    co_await asio::async_write(p.server, asio::buffer("ab", 2), use_awaitable);
    co_await arrived(p.client, 2);
    auto [ec, bytes] =
        co_await p.client.async_data(4, with_deadline(soon, as_tuple(use_awaitable)));
    EXPECT_EQ(ec, asio::error::timed_out);
    co_await asio::async_write(p.server, asio::buffer("cd", 2), use_awaitable);
    const auto all = co_await p.client.async_data(4, with_deadline(late, use_awaitable));
    EXPECT_EQ(std::string(static_cast<const char*>(all.data()), all.size()), "abcd");
    p.client.consume(4);
  });
}

TEST_P(Deadline, RoomThatDoesNotComeTimesOut) {
  connected([](pair& p) -> asio::awaitable<void> {
    const std::string block(1 << 16, 'x');
    std::size_t filled = 0;
    for (std::error_code full; !full;) {  // until nothing fits
      auto [ec, n] = co_await p.server.async_write_some(
          asio::buffer(block), with_deadline(soon, as_tuple(use_awaitable)));
      filled += n;
      full = ec;
    }
    auto [ec, room] =
        co_await p.server.async_prepare(1, with_deadline(soon, as_tuple(use_awaitable)));
    // The system may find some more room for TCP.
    EXPECT_TRUE(ec == asio::error::timed_out || (!ec && p.kind == transport_kind::tcp))
        << ec.message();
    EXPECT_EQ((co_await read_text(p.client, filled)).size(), filled);
    const auto later = co_await p.server.async_prepare(1, with_deadline(late, use_awaitable));
    EXPECT_GE(later.size(), 1u);
  });
}

TEST_P(Deadline, AcceptTimesOutInBothFormsAndCanBeStartedAgain) {
  world here(where());
  here.run([&]() -> asio::awaitable<void> {
    pair p(here.executor(), by());
    auto [ec] =
        co_await p.listener.async_accept(p.server, with_deadline(soon, as_tuple(use_awaitable)));
    EXPECT_EQ(ec, asio::error::timed_out);
    EXPECT_FALSE(p.server.is_open());
    auto [moved_ec, moved] =
        co_await p.listener.async_accept(with_deadline(soon, as_tuple(use_awaitable)));
    EXPECT_EQ(moved_ec, asio::error::timed_out);
    EXPECT_FALSE(moved.is_open());
    auto [wait_ec] = co_await p.listener.async_wait(acceptor::wait_read,
                                                    with_deadline(soon, as_tuple(use_awaitable)));
    EXPECT_EQ(wait_ec, asio::error::timed_out);
    co_await p.connect();
    outcome connected;
    stream second(here.executor(), settings());
    second.async_connect(p.listener.local_endpoint(), with_deadline(late, store(connected)));
    stream peer = co_await p.listener.async_accept(with_deadline(late, use_awaitable));
    co_await until([&connected] { return connected.called; });
    EXPECT_FALSE(connected.error) << connected.error.message();
    EXPECT_EQ(peer.transport(), expected(by()));
  });
}

/// A listener whose backlog is full: the system drops what else calls.
class full_listener {
 public:
  explicit full_listener(const asio::any_io_executor& executor) : listener_(executor, tcp::v4()) {
    listener_.bind(any_port());
    listener_.listen(0);
    for (int i = 0; i < 4; ++i) {  // kernels differ in how many they keep for a backlog of 0
      waiting_.emplace_back(executor, tcp::v4());
      waiting_.back().native_non_blocking(true);
      const tcp::endpoint to = endpoint();
      (void)::connect(waiting_.back().native_handle(), to.data(),
                      static_cast<socklen_t>(to.size()));
    }
  }
  tcp::endpoint endpoint() const { return listener_.local_endpoint(); }

 private:
  tcp::acceptor listener_;
  std::vector<tcp::socket> waiting_;
};

TEST_P(Deadline, ConnectingToAListenerThatNeverAnswersTimesOut) {
  world here(where());
  here.run([&]() -> asio::awaitable<void> {
    full_listener silent(here.executor());
    stream client(here.executor(), settings());
    auto [ec] = co_await client.async_connect(silent.endpoint(),
                                              with_deadline(soon, as_tuple(use_awaitable)));
    EXPECT_EQ(ec, asio::error::timed_out);
    client.close();
    pair p(here.executor(), by());  // the stream can be used again
    outcome accepted;
    p.listener.async_accept(p.server, store(accepted));
    co_await client.async_connect(p.listener.local_endpoint(), with_deadline(late, use_awaitable));
    co_await until([&accepted] { return accepted.called; });
    EXPECT_EQ(client.transport(), expected(by()));
  });
}

TEST_P(Deadline, ConnectingToARangeTimesOutAsAWhole) {
  world here(where());
  here.run([&]() -> asio::awaitable<void> {
    full_listener silent(here.executor());
    const std::vector<tcp::endpoint> range(2, silent.endpoint());
    stream client(here.executor(), settings());
    auto [ec, to] =
        co_await smc::async_connect(client, range, with_deadline(soon, as_tuple(use_awaitable)));
    EXPECT_EQ(ec, asio::error::timed_out);
    EXPECT_EQ(to, tcp::endpoint());
  });
}

TEST_P(Deadline, ThePastCancelsButWhatIsThereAlreadyIsHadNeverInsideTheCall) {
  connected([](pair& p) -> asio::awaitable<void> {
    for (const auto time : {0s, -1s, std::chrono::seconds::min()}) {
      outcome nothing;
      char bytes[2] = {};
      p.client.async_read_some(asio::buffer(bytes), with_deadline(time, store(nothing)));
      EXPECT_FALSE(nothing.called);
      co_await until([&nothing] { return nothing.called; });
      EXPECT_EQ(nothing.error, asio::error::timed_out);
      co_await asio::async_write(p.server, asio::buffer("ab", 2), use_awaitable);
      co_await arrived(p.client, 2);
      outcome there;
      p.client.async_read_some(asio::buffer(bytes), with_deadline(time, store(there)));
      EXPECT_FALSE(there.called);
      co_await until([&there] { return there.called; });
      EXPECT_FALSE(there.error) << there.error.message();
      EXPECT_EQ(there.bytes, 2u);
      EXPECT_EQ(std::string(bytes, 2), "ab");
    }
  });
}

TEST_P(Deadline, ACompletedOperationLeavesNoTimerThatKeepsTheContextRunning) {
  // Else here.run() would wait for it.
  connected([](pair& p) -> asio::awaitable<void> {
    for (int i = 0; i < 1000; ++i) {
      co_await asio::async_write(p.server, asio::buffer("12345", 5),
                                 with_deadline(late, use_awaitable));
      char bytes[5];
      co_await asio::async_read(p.client, asio::buffer(bytes), with_deadline(late, use_awaitable));
    }
  });
}

TEST_P(Deadline, ClosingAndCancellingTheStreamIsNoTimeOut) {
  connected([](pair& p) -> asio::awaitable<void> {
    char byte = 0;
    outcome cancelled, closed;
    p.client.async_read_some(asio::buffer(&byte, 1), with_deadline(late, store(cancelled)));
    co_await turns();
    p.client.cancel();
    co_await until([&cancelled] { return cancelled.called; });
    EXPECT_EQ(cancelled.error, asio::error::operation_aborted);
    p.client.async_read_some(asio::buffer(&byte, 1), with_deadline(late, store(closed)));
    co_await turns();
    p.client.close();
    co_await until([&closed] { return closed.called; });
    EXPECT_EQ(closed.error, asio::error::operation_aborted);
  });
}

TEST_P(Deadline, BothDirectionsHaveTheirOwn) {
  connected([](pair& p) -> asio::awaitable<void> {
    char byte = 0;
    outcome read, written;
    p.client.async_read_some(asio::buffer(&byte, 1), with_deadline(soon, store(read)));
    p.client.async_write_some(asio::buffer("x", 1), with_deadline(late, store(written)));
    co_await until([&] { return read.called && written.called; });
    EXPECT_EQ(read.error, asio::error::timed_out);
    EXPECT_FALSE(written.error);
    EXPECT_EQ(written.bytes, 1u);
    EXPECT_EQ(co_await read_text(p.server, 1), "x");
  });
}

TEST_P(Deadline, AStreamMayBeMovedMeanwhile) {
  connected([](pair& p) -> asio::awaitable<void> {
    char byte = 0;
    outcome read;
    p.client.async_read_some(asio::buffer(&byte, 1), with_deadline(soon, store(read)));
    stream moved(std::move(p.client));
    co_await until([&read] { return read.called; });
    EXPECT_EQ(read.error, asio::error::timed_out);
    co_await asio::async_write(p.server, asio::buffer("y", 1), use_awaitable);
    EXPECT_EQ(co_await read_text(moved, 1), "y");
  });
}

TEST_P(Deadline, AContextMayGoAwayWithOperationAndDeadlinePending) {
  const auto watched = std::make_shared<int>(0);
  {
    world here(where());
    std::optional<pair> p;
    char bytes[4];
    here.run_and_stop([&]() -> asio::awaitable<void> {
      p.emplace(here.executor(), by());
      co_await p->connect();
      const auto handler = [watched](std::error_code, std::size_t = 0) { ++*watched; };
      asio::async_read(p->client, asio::buffer(bytes), with_deadline(late, handler));
      p->server.async_wait(stream::wait_read, with_deadline(late, handler));
      p->listener.async_accept(
          with_deadline(late, [watched](std::error_code, const stream&) { ++*watched; }));
      co_await turns();
    });
    p.reset();  // which posts the handlers
    here.destroy();
    EXPECT_EQ(watched.use_count(), 1) << "handlers are destroyed with their context";
  }
  // A pool's threads may have called them before.
  EXPECT_TRUE(*watched == 0 || where() == place::pool_and_strand) << "and not called";
}

INSTANTIATE_TEST_SUITE_P(Everywhere, Deadline, all_settings(), name_of_setting);

}  // namespace
}  // namespace smc::test
