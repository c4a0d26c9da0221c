// Ends of streams, orderly and not: as TCP does it, on every transport.
#include <asio/redirect_error.hpp>

#include "setting.hpp"

namespace smc::test {
namespace {

using StreamClosing = each_setting;

asio::awaitable<std::error_code> read_end(stream& from) {
  char in[16];
  std::error_code ec;
  EXPECT_EQ(co_await from.async_read_some(asio::buffer(in),
                                          asio::redirect_error(asio::use_awaitable, ec)),
            0u);
  co_return ec;
}

asio::awaitable<void> write_text(stream& to, std::string text) {
  co_await asio::async_write(to, asio::buffer(text), asio::use_awaitable);
}

TEST_P(StreamClosing, HalfCloseDeliversTheRestAndThenEndOfStreamAgainAndAgain) {
  connected([](pair& p) -> asio::awaitable<void> {
    co_await write_text(p.client, "last words");
    p.client.shutdown(asio::socket_base::shutdown_send);
    EXPECT_EQ(co_await read_text(p.server, 10), "last words");
    for (int i = 0; i < 3; ++i) EXPECT_EQ(co_await read_end(p.server), asio::error::eof);
    co_await write_text(p.server, "answer");
    EXPECT_EQ(co_await read_text(p.client, 6), "answer");
    std::error_code ec;
    co_await p.client.async_write_some(asio::buffer("x", 1),
                                       asio::redirect_error(asio::use_awaitable, ec));
    EXPECT_EQ(ec, asio::error::broken_pipe);
  });
}

TEST_P(StreamClosing, EndOfStreamWakesAWaitingReader) {
  connected([](pair& p) -> asio::awaitable<void> {
    outcome read;
    char in[8];
    p.server.async_read_some(asio::buffer(in), store(read));
    co_await turns();
    EXPECT_FALSE(read.called);
    p.client.shutdown(asio::socket_base::shutdown_send);
    co_await until([&read] { return read.called; });
    EXPECT_EQ(read.error, asio::error::eof);
  });
}

TEST_P(StreamClosing, ClosingWithUnreadInputResetsThePeer) {
  connected([](pair& p) -> asio::awaitable<void> {
    co_await write_text(p.client, std::string(1000, 'u'));
    co_await until([&p] { return p.server.available() == 1000; });
    p.server.close();
    EXPECT_EQ(co_await read_end(p.client), asio::error::connection_reset);
    std::error_code ec;
    co_await p.client.async_write_some(asio::buffer("x", 1),
                                       asio::redirect_error(asio::use_awaitable, ec));
    EXPECT_TRUE(ec == asio::error::connection_reset || ec == asio::error::broken_pipe)
        << ec.message();
  });
}

TEST_P(StreamClosing, ClosingAfterEverythingWasReadIsEndOfStream) {
  connected([](pair& p) -> asio::awaitable<void> {
    co_await write_text(p.client, std::string(1000, 'r'));
    (void)co_await read_text(p.server, 1000);
    p.server.close();
    EXPECT_EQ(co_await read_end(p.client), asio::error::eof);
  });
}

TEST_P(StreamClosing, AResetDoesNotOvertakeTheBytesBeforeIt) {
  connected([](pair& p) -> asio::awaitable<void> {
    co_await write_text(p.client, "unread");
    co_await until([&p] { return p.server.available() == 6; });
    const std::string text = pattern_text(0, 5000);
    co_await write_text(p.server, text);
    co_await until([&p] { return p.client.available() == 5000; });
    p.server.close();
    EXPECT_TRUE(co_await read_text(p.client, 5000) == text);
    EXPECT_EQ(co_await read_end(p.client), asio::error::connection_reset);
  });
}

TEST_P(StreamClosing, AWriterThatWaitsForRoomEndsWhenTheReaderCloses) {
  connected([](pair& p) -> asio::awaitable<void> {
    p.client.non_blocking(true);
    std::error_code ec;
    const std::string block(50'000, 'w');
    while (!ec) p.client.write_some(asio::buffer(block), ec);
    const std::string much(std::size_t{16} << 20, 'm');
    outcome write;
    asio::async_write(p.client, asio::buffer(much), store(write));
    co_await turns();
    EXPECT_FALSE(write.called);
    p.server.close();
    co_await until([&write] { return write.called; });
    EXPECT_TRUE(write.error == asio::error::connection_reset ||
                write.error == asio::error::broken_pipe)
        << write.error.message();
  });
}

TEST_P(StreamClosing, WhatIsLeftComesWithTheEndToWhoeverWantedMore) {
  connected([](pair& p) -> asio::awaitable<void> {
    co_await write_text(p.client, "left");
    p.client.shutdown(asio::socket_base::shutdown_send);
    bool called = false;
    p.server.async_data(100, [&called](std::error_code ec, asio::const_buffer bytes) {
      EXPECT_EQ(ec, asio::error::eof);
      EXPECT_EQ(std::string_view(static_cast<const char*>(bytes.data()), bytes.size()), "left");
      called = true;
    });
    co_await until([&called] { return called; });
  });
}

TEST_P(StreamClosing, BytesWrittenBeforeCloseAreStillRead) {
  connected([](pair& p) -> asio::awaitable<void> {
    const std::string text = pattern_text(0, 40'000);
    co_await write_text(p.client, text);
    p.client.close();
    std::error_code again;
    p.client.close(again);
    EXPECT_FALSE(again);
    EXPECT_TRUE(co_await read_text(p.server, text.size()) == text);
    EXPECT_EQ(co_await read_end(p.server), asio::error::eof);
  });
}

INSTANTIATE_TEST_SUITE_P(Everywhere, StreamClosing, all_settings(), name_of_setting);

}  // namespace
}  // namespace smc::test
