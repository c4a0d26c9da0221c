// Ends of streams, orderly and not: as TCP does it, on every transport.
#include "conformance/fixture.hpp"

namespace smc::test {
namespace {

using Closing = conformance;
/// Not for the reference: Asio 1.22 tells only the first of several reads of the end.
using ClosingOurs = conformance;
using asio::socket_base;

bool is_gone(const std::error_code& ec) {
  return ec == asio::error::connection_reset || ec == asio::error::broken_pipe;
}

TEST_P(Closing, HalfCloseDeliversTheRestAndThenEndOfStreamAgainAndAgain) {
  connected([](peers& p) -> asio::awaitable<void> {
    co_await send(p.client, "last words");
    EXPECT_EQ(p.client.shutdown(socket_base::shutdown_send), std::error_code());
    EXPECT_EQ(co_await receive(p.server, 10), "last words");
    for (int i = 0; i < 3; ++i) EXPECT_EQ(co_await read_end(p.server), asio::error::eof);
  });
}

TEST_P(Closing, TheOtherDirectionOutlivesAHalfClose) {
  connected([](peers& p) -> asio::awaitable<void> {
    p.client.shutdown(socket_base::shutdown_send);
    EXPECT_EQ(co_await read_end(p.server), asio::error::eof);
    const std::string text = pattern_text(0, 30'000);
    co_await send(p.server, text);
    EXPECT_TRUE(co_await receive(p.client, text.size()) == text);
    p.server.shutdown(socket_base::shutdown_send);
    EXPECT_EQ(co_await read_end(p.client), asio::error::eof);
  });
}

TEST_P(Closing, WritingAfterShutdownSendIsABrokenPipeAgainAndAgain) {
  connected([](peers& p) -> asio::awaitable<void> {
    p.client.shutdown(socket_base::shutdown_send);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(co_await write_end(p.client), asio::error::broken_pipe);
  });
}

TEST_P(Closing, ShuttingDownTwiceIsNoError) {
  connected([](peers& p) -> asio::awaitable<void> {
    for (const auto what :
         {socket_base::shutdown_send, socket_base::shutdown_receive, socket_base::shutdown_both}) {
      EXPECT_EQ(p.client.shutdown(what), std::error_code());
      EXPECT_EQ(p.client.shutdown(what), std::error_code());
    }
    EXPECT_TRUE(p.client.is_open());
    co_return;
  });
}

TEST_P(Closing, ShutdownReceiveDeliversWhatHasComeAndThenEndOfStream) {
  connected([](peers& p) -> asio::awaitable<void> {
    co_await send(p.client, "came before");
    co_await arrived(p.server, 11);
    EXPECT_EQ(p.server.shutdown(socket_base::shutdown_receive), std::error_code());
    EXPECT_EQ(co_await receive(p.server, 11), "came before");
    EXPECT_EQ(co_await read_end(p.server), asio::error::eof);
  });
}

TEST_P(Closing, ShutdownReceiveEndsAReadThatWaits) {
  connected([](peers& p) -> asio::awaitable<void> {
    char in[8];
    auto read = p.server.read_some(asio::buffer(in));
    co_await turns();
    EXPECT_FALSE(read.done());
    p.server.shutdown(socket_base::shutdown_receive);
    EXPECT_EQ(co_await read.end(), asio::error::eof);
  });
}

TEST_P(Closing, ShutdownReceiveLeavesWritingAsItWas) {
  connected([](peers& p) -> asio::awaitable<void> {
    p.server.shutdown(socket_base::shutdown_receive);
    co_await send(p.server, "still");
    EXPECT_EQ(co_await receive(p.client, 5), "still");
  });
}

TEST_P(Closing, ShutdownBothEndsReadingAndWriting) {
  connected([](peers& p) -> asio::awaitable<void> {
    p.client.shutdown(socket_base::shutdown_both);
    EXPECT_EQ(co_await read_end(p.client), asio::error::eof);
    EXPECT_EQ(co_await write_end(p.client), asio::error::broken_pipe);
    EXPECT_EQ(co_await read_end(p.server), asio::error::eof);
    EXPECT_TRUE(p.client.is_open());
  });
}

TEST_P(Closing, ShutdownOfAClosedStreamIsBadDescriptor) {
  unconnected([](peers& p) -> asio::awaitable<void> {
    EXPECT_EQ(p.client.shutdown(socket_base::shutdown_send), asio::error::bad_descriptor);
    co_return;
  });
}

TEST_P(Closing, ShutdownBeforeConnectingIsNotConnected) {
  unconnected([](peers& p) -> asio::awaitable<void> {
    p.client.open();
    EXPECT_EQ(p.client.shutdown(socket_base::shutdown_both), asio::error::not_connected);
    co_return;
  });
}

TEST_P(Closing, EndOfStreamWakesAWaitingReader) {
  connected([](peers& p) -> asio::awaitable<void> {
    char in[8];
    auto read = p.server.read_some(asio::buffer(in));
    co_await turns();
    EXPECT_FALSE(read.done());
    p.client.shutdown(socket_base::shutdown_send);
    EXPECT_EQ(co_await read.end(), asio::error::eof);
    EXPECT_EQ(read.bytes(), 0u);
  });
}

TEST_P(ClosingOurs, EndOfStreamEndsAllReadsThatWait) {
  connected([](peers& p) -> asio::awaitable<void> {
    char in[3][8];
    auto first = p.server.read_some(asio::buffer(in[0]));
    auto second = p.server.read_some(asio::buffer(in[1]));
    auto third = p.server.read_some(asio::buffer(in[2]));
    p.client.close();
    EXPECT_EQ(co_await first.end(), asio::error::eof);
    EXPECT_EQ(co_await second.end(), asio::error::eof);
    EXPECT_EQ(co_await third.end(), asio::error::eof);
  });
}

TEST_P(Closing, AComposedReadEndsWithTheCountOfWhatCameBeforeTheEnd) {
  connected([](peers& p) -> asio::awaitable<void> {
    std::string in(100, '\0');
    auto read = p.server.read(asio::buffer(in));
    co_await send(p.client, "short");
    p.client.close();
    EXPECT_EQ(co_await read.end(), asio::error::eof);
    EXPECT_EQ(read.bytes(), 5u);
    EXPECT_EQ(in.substr(0, 5), "short");
  });
}

TEST_P(Closing, BothSidesMayHalfCloseAndBothReadTheRest) {
  connected([](peers& p) -> asio::awaitable<void> {
    co_await send(p.client, "from client");
    co_await send(p.server, "from server");
    p.client.shutdown(socket_base::shutdown_send);
    p.server.shutdown(socket_base::shutdown_send);
    EXPECT_EQ(co_await receive(p.server, 11), "from client");
    EXPECT_EQ(co_await receive(p.client, 11), "from server");
    EXPECT_EQ(co_await read_end(p.client), asio::error::eof);
    EXPECT_EQ(co_await read_end(p.server), asio::error::eof);
  });
}

TEST_P(Closing, ClosingWithUnreadInputResetsThePeer) {
  connected([](peers& p) -> asio::awaitable<void> {
    co_await send(p.client, std::string(1000, 'u'));
    co_await arrived(p.server, 1000);
    p.server.close();
    EXPECT_EQ(co_await read_end(p.client), asio::error::connection_reset);
    const auto ec = co_await write_end(p.client);
    EXPECT_TRUE(is_gone(ec)) << ec.message();
  });
}

TEST_P(Closing, AResetIsReportedOnceAndThenTheStreamIsOver) {
  connected([](peers& p) -> asio::awaitable<void> {
    co_await send(p.client, std::string(1000, 'u'));
    co_await arrived(p.server, 1000);
    p.server.close();
    EXPECT_EQ(co_await read_end(p.client), asio::error::connection_reset);
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(co_await read_end(p.client), asio::error::eof);
      EXPECT_EQ(co_await write_end(p.client), asio::error::broken_pipe);
    }
  });
}

TEST_P(Closing, AResetThatAWriterWasToldOfIsEndOfStreamForTheReader) {
  connected([](peers& p) -> asio::awaitable<void> {
    co_await send(p.client, "unread");
    co_await arrived(p.server, 6);
    p.server.close();
    EXPECT_EQ(p.client.wait_now(socket_base::wait_read), std::error_code());
    EXPECT_EQ(co_await write_end(p.client), asio::error::connection_reset);
    EXPECT_EQ(co_await read_end(p.client), asio::error::eof);
    EXPECT_EQ(co_await write_end(p.client), asio::error::broken_pipe);
  });
}

TEST_P(Closing, ShutdownAfterAResetIsNotConnected) {
  connected([](peers& p) -> asio::awaitable<void> {
    co_await send(p.client, "unread");
    co_await arrived(p.server, 6);
    p.server.close();
    EXPECT_EQ(co_await read_end(p.client), asio::error::connection_reset);
    EXPECT_EQ(p.client.shutdown(socket_base::shutdown_send), asio::error::not_connected);
  });
}

TEST_P(Closing, BytesThatComeAfterShutdownReceiveAreStillDelivered) {
  connected([](peers& p) -> asio::awaitable<void> {
    EXPECT_EQ(p.server.shutdown(socket_base::shutdown_receive), std::error_code());
    co_await send(p.client, "late");
    co_await arrived(p.server, 4);
    EXPECT_EQ(co_await receive(p.server, 4), "late");
    EXPECT_EQ(co_await read_end(p.server), asio::error::eof);
  });
}

TEST_P(Closing, AResetWakesAWaitingReader) {
  connected([](peers& p) -> asio::awaitable<void> {
    char in[8];
    auto read = p.client.read_some(asio::buffer(in));
    co_await send(p.client, "unread");
    co_await arrived(p.server, 6);
    p.server.close();
    EXPECT_EQ(co_await read.end(), asio::error::connection_reset);
  });
}

TEST_P(Closing, ClosingAfterEverythingWasReadIsEndOfStream) {
  connected([](peers& p) -> asio::awaitable<void> {
    co_await send(p.client, std::string(1000, 'r'));
    (void)co_await receive(p.server, 1000);
    p.server.close();
    EXPECT_EQ(co_await read_end(p.client), asio::error::eof);
  });
}

TEST_P(Closing, AResetDoesNotOvertakeTheBytesBeforeIt) {
  connected([](peers& p) -> asio::awaitable<void> {
    co_await send(p.client, "unread");
    co_await arrived(p.server, 6);
    const std::string text = pattern_text(0, 5000);
    co_await send(p.server, text);
    co_await arrived(p.client, 5000);
    p.server.close();
    EXPECT_TRUE(co_await receive(p.client, 5000) == text);
    EXPECT_EQ(co_await read_end(p.client), asio::error::connection_reset);
  });
}

TEST_P(Closing, AWriterThatWaitsForRoomEndsWhenTheReaderCloses) {
  connected([](peers& p) -> asio::awaitable<void> {
    (void)co_await fill(p.client);
    const std::string much(std::size_t{16} << 20, 'm');
    auto write = p.client.write(asio::buffer(much));
    co_await turns();
    EXPECT_FALSE(write.done());
    p.server.close();
    const auto ec = co_await write.end();
    EXPECT_TRUE(is_gone(ec)) << ec.message();
  });
}

TEST_P(Closing, BytesWrittenBeforeCloseAreStillRead) {
  connected([](peers& p) -> asio::awaitable<void> {
    const std::string text = pattern_text(0, 40'000);
    co_await send(p.client, text);
    EXPECT_EQ(p.client.close(), std::error_code());
    EXPECT_TRUE(co_await receive(p.server, text.size()) == text);
    EXPECT_EQ(co_await read_end(p.server), asio::error::eof);
  });
}

TEST_P(Closing, AFullRingOfBytesIsStillReadAfterClose) {
  connected([](peers& p) -> asio::awaitable<void> {
    const std::size_t filled = co_await fill(p.client);
    p.client.close();
    EXPECT_EQ(co_await receive(p.server, filled), std::string(filled, 'f'));
    EXPECT_EQ(co_await read_end(p.server), asio::error::eof);
  });
}

TEST_P(Closing, ClosingTwiceIsNoError) {
  connected([](peers& p) -> asio::awaitable<void> {
    EXPECT_EQ(p.client.close(), std::error_code());
    EXPECT_EQ(p.client.close(), std::error_code());
    EXPECT_FALSE(p.client.is_open());
    co_return;
  });
}

TEST_P(Closing, LingerOfZeroSecondsResetsThePeer) {
  connected([](peers& p) -> asio::awaitable<void> {
    p.client.with([](auto& s) { s.set_option(socket_base::linger(true, 0)); });
    p.client.close();
    EXPECT_EQ(co_await read_end(p.server), asio::error::connection_reset);
  });
}

TEST_P(Closing, ALingerOfZeroSecondsIsNotInheritedByTheNextConnection) {
  connected([](peers& p) -> asio::awaitable<void> {
    p.client.with([](auto& s) { s.set_option(socket_base::linger(true, 0)); });
    p.client.close();
    p.server.close();
    co_await p.connect();
    p.client.close();
    EXPECT_EQ(co_await read_end(p.server), asio::error::eof);
  });
}

TEST_P(Closing, WritingToAPeerThatHasClosedSoonIsABrokenPipe) {
  connected([](peers& p) -> asio::awaitable<void> {
    p.server.close();
    EXPECT_EQ(co_await read_end(p.client), asio::error::eof);
    std::error_code ec;
    for (int i = 0; i < 1000 && !ec; ++i) {  // TCP hears of it only by the answer to the first
      auto write = p.client.write_some(asio::buffer("x", 1));
      ec = co_await write.end();
    }
    EXPECT_TRUE(is_gone(ec)) << ec.message();
  });
}

TEST_P(Closing, AStreamThatWasClosedConnectsAgain) {
  connected([](peers& p) -> asio::awaitable<void> {
    p.client.close();
    p.server.close();
    co_await p.connect();
    co_await send(p.client, "again");
    EXPECT_EQ(co_await receive(p.server, 5), "again");
  });
}

TEST_P(Closing, AClosedStreamHasNoEndpointsAndNothingAvailable) {
  connected([](peers& p) -> asio::awaitable<void> {
    p.client.close();
    std::error_code local, remote;
    p.client.with([&](auto& s) {
      (void)s.local_endpoint(local);
      (void)s.remote_endpoint(remote);
    });
    EXPECT_EQ(local, asio::error::bad_descriptor);
    EXPECT_EQ(remote, asio::error::bad_descriptor);
    EXPECT_EQ(p.client.available_error(), asio::error::bad_descriptor);
    EXPECT_EQ(p.client.cancel(), asio::error::bad_descriptor);
    co_return;
  });
}

TEST_P(Closing, BytesOfBothDirectionsCrossWithTheEnd) {
  connected([](peers& p) -> asio::awaitable<void> {
    const std::string text = pattern_text(7, 300'000);
    auto write = p.client.write(asio::buffer(text));
    std::string in(text.size() + 1, '\0');
    auto read = p.server.read(asio::buffer(in));
    EXPECT_EQ(co_await write.end(), std::error_code());
    p.client.shutdown(socket_base::shutdown_send);
    EXPECT_EQ(co_await read.end(), asio::error::eof);
    EXPECT_EQ(read.bytes(), text.size());
    EXPECT_TRUE(in.substr(0, text.size()) == text);
  });
}

INSTANTIATE_TEST_SUITE_P(Everywhere, Closing, in_all_styles(), name_of_combination);
INSTANTIATE_TEST_SUITE_P(Everywhere, ClosingOurs, ours_in_all_styles(), name_of_combination);

}  // namespace
}  // namespace smc::test
