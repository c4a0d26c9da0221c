// async_wait() and wait(): readiness without a transfer.
#include "conformance/fixture.hpp"

namespace smc::test {
namespace {

using Waiting = conformance;
using asio::socket_base;

TEST_P(Waiting, AWaitForReadingEndsWhenBytesComeAndTakesNone) {
  connected([](peers& p) -> asio::awaitable<void> {
    auto wait = p.server.wait(socket_base::wait_read);
    co_await turns();
    EXPECT_FALSE(wait.done());
    co_await send(p.client, "ready");
    EXPECT_EQ(co_await wait.end(), std::error_code());
    EXPECT_EQ(co_await receive(p.server, 5), "ready");
  });
}

TEST_P(Waiting, AWaitForReadingEndsAtOnceWhereBytesAre) {
  connected([](peers& p) -> asio::awaitable<void> {
    co_await send(p.client, "there");
    co_await arrived(p.server, 5);
    for (int i = 0; i < 3; ++i) {
      auto wait = p.server.wait(socket_base::wait_read);
      EXPECT_EQ(co_await wait.end(), std::error_code());
    }
    EXPECT_EQ(p.server.available(), 5u);
    EXPECT_EQ(co_await receive(p.server, 5), "there");
  });
}

TEST_P(Waiting, AWaitForReadingEndsAtTheEndOfStreamWithoutAnError) {
  connected([](peers& p) -> asio::awaitable<void> {
    auto wait = p.server.wait(socket_base::wait_read);
    co_await turns();
    p.client.shutdown(socket_base::shutdown_send);
    EXPECT_EQ(co_await wait.end(), std::error_code());
    EXPECT_EQ(co_await read_end(p.server), asio::error::eof);
    auto again = p.server.wait(socket_base::wait_read);
    EXPECT_EQ(co_await again.end(), std::error_code());
  });
}

TEST_P(Waiting, AWaitForReadingEndsAtAReset) {
  connected([](peers& p) -> asio::awaitable<void> {
    co_await send(p.client, "unread");
    co_await arrived(p.server, 6);
    auto wait = p.client.wait(socket_base::wait_read);
    co_await turns();
    p.server.close();
    EXPECT_EQ(co_await wait.end(), std::error_code());
    EXPECT_EQ(co_await read_end(p.client), asio::error::connection_reset);
  });
}

TEST_P(Waiting, AWaitForWritingEndsAtOnceWhereThereIsRoom) {
  connected([](peers& p) -> asio::awaitable<void> {
    auto wait = p.client.wait(socket_base::wait_write);
    EXPECT_EQ(co_await wait.end(), std::error_code());
  });
}

TEST_P(Waiting, AWaitForWritingEndsWhenThePeerMakesRoom) {
  connected([](peers& p) -> asio::awaitable<void> {
    const std::size_t filled = co_await fill(p.client);
    auto wait = p.client.wait(socket_base::wait_write);
    co_await turns();
    EXPECT_FALSE(wait.done());
    (void)co_await receive(p.server, filled);
    EXPECT_EQ(co_await wait.end(), std::error_code());
    co_await send(p.client, "room");
    EXPECT_EQ(co_await receive(p.server, 4), "room");
  });
}

TEST_P(Waiting, AWaitForWritingEndsWhenThePeerResets) {
  connected([](peers& p) -> asio::awaitable<void> {
    (void)co_await fill(p.client);
    auto wait = p.client.wait(socket_base::wait_write);
    co_await turns();
    EXPECT_FALSE(wait.done());
    p.server.close();
    EXPECT_EQ(co_await wait.end(), std::error_code());
    const auto ec = co_await write_end(p.client);
    EXPECT_TRUE(ec == asio::error::connection_reset || ec == asio::error::broken_pipe)
        << ec.message();
  });
}

TEST_P(Waiting, AWaitForReadingIsNotEndedByRoomForWriting) {
  connected([](peers& p) -> asio::awaitable<void> {
    const std::size_t filled = co_await fill(p.client);
    auto wait = p.client.wait(socket_base::wait_read);
    (void)co_await receive(p.server, filled);
    co_await turns(50);
    EXPECT_FALSE(wait.done());
    co_await send(p.server, "now");
    EXPECT_EQ(co_await wait.end(), std::error_code());
  });
}

TEST_P(Waiting, AReadBehindAWaitGetsTheBytes) {
  connected([](peers& p) -> asio::awaitable<void> {
    auto wait = p.server.wait(socket_base::wait_read);
    char in[8];
    auto read = p.server.read_some(asio::buffer(in));
    co_await send(p.client, "both");
    EXPECT_EQ(co_await wait.end(), std::error_code());
    EXPECT_EQ(co_await read.end(), std::error_code());
    EXPECT_EQ(read.bytes(), 4u);
  });
}

TEST_P(Waiting, AWaitForErrorsOutlastsBytesAndIsEndedByClose) {
  connected([](peers& p) -> asio::awaitable<void> {
    auto wait = p.server.wait(socket_base::wait_error);
    co_await send(p.client, "bytes");
    EXPECT_EQ(co_await receive(p.server, 5), "bytes");
    co_await turns();
    EXPECT_FALSE(wait.done());
    p.server.close();
    EXPECT_EQ(co_await wait.end(), asio::error::operation_aborted);
  });
}

TEST_P(Waiting, AWaitForWritingEndsAtOnceAfterShutdownSend) {
  connected([](peers& p) -> asio::awaitable<void> {
    p.client.shutdown(socket_base::shutdown_send);
    auto wait = p.client.wait(socket_base::wait_write);
    EXPECT_EQ(co_await wait.end(), std::error_code());
    EXPECT_EQ(co_await write_end(p.client), asio::error::broken_pipe);
  });
}

TEST_P(Waiting, AWaitForReadingEndsAtOnceAfterShutdownReceive) {
  connected([](peers& p) -> asio::awaitable<void> {
    p.client.shutdown(socket_base::shutdown_receive);
    auto wait = p.client.wait(socket_base::wait_read);
    EXPECT_EQ(co_await wait.end(), std::error_code());
    EXPECT_EQ(co_await read_end(p.client), asio::error::eof);
  });
}

TEST_P(Waiting, WaitsForBothDirectionsAreIndependent) {
  connected([](peers& p) -> asio::awaitable<void> {
    auto reading = p.client.wait(socket_base::wait_read);
    auto writing = p.client.wait(socket_base::wait_write);
    EXPECT_EQ(co_await writing.end(), std::error_code());
    EXPECT_FALSE(reading.done());
    co_await send(p.server, "x");
    EXPECT_EQ(co_await reading.end(), std::error_code());
  });
}

INSTANTIATE_TEST_SUITE_P(Everywhere, Waiting, in_all_styles(), name_of_combination);

}  // namespace
}  // namespace smc::test
