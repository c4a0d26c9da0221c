// Calls in the calling thread, without a running loop and inside handlers; and non-blocking mode.
#include <asio/read.hpp>
#include <asio/write.hpp>
#include <thread>

#include "conformance/fixture.hpp"

namespace smc::test {
namespace {

using asio::socket_base;

class Blocking : public conformance_of_calls {
 protected:
  Blocking() { connect(); }

  std::size_t write(subject& to, std::string_view text) {
    return to.with([&](auto& s) { return asio::write(s, asio::buffer(text)); });
  }
  std::string read(subject& from, std::size_t size) {
    std::string text(size, '\0');
    from.with([&](auto& s) { asio::read(s, asio::buffer(text)); });
    return text;
  }

  std::string in = std::string(100, '\0');
  std::error_code ec;
};

TEST_P(Blocking, OneThreadConnectsWritesAcceptsAndReads) {
  EXPECT_EQ(write(p.client, "alone"), 5u);
  EXPECT_EQ(read(p.server, 5), "alone");
  EXPECT_EQ(p.client.remote_endpoint(), p.at.endpoint());
  EXPECT_EQ(p.server.remote_endpoint(), p.client.local_endpoint());
}

TEST_P(Blocking, AReadWaitsForAnotherThreadsWrite) {
  std::thread writer([this] { write(p.client, "from afar"); });
  EXPECT_EQ(read(p.server, 9), "from afar");
  writer.join();
}

TEST_P(Blocking, AWriteOfMuchWaitsForAnotherThreadsReads) {
  const std::string much = pattern_text(0, std::size_t{6} << 20);
  std::thread writer([&] { EXPECT_EQ(write(p.client, much), much.size()); });
  EXPECT_TRUE(read(p.server, much.size()) == much);
  writer.join();
}

TEST_P(Blocking, BothDirectionsAreUsedByTwoThreadsAtOnce) {
  const std::string text = pattern_text(0, 10 * test_ring);
  std::thread echo([&] {
    for (std::size_t done = 0; done < text.size(); done += 10'240)
      write(p.server, read(p.server, 10'240));
  });
  std::thread writer([&] { write(p.client, text); });
  EXPECT_TRUE(read(p.client, text.size()) == text);
  writer.join();
  echo.join();
}

TEST_P(Blocking, EmptyBuffersReturnAtOnce) {
  EXPECT_EQ(p.server.read_now({}, ec), 0u);
  EXPECT_FALSE(ec);
  EXPECT_EQ(p.server.read_now(mutable_list(3), ec), 0u);
  EXPECT_FALSE(ec);
  EXPECT_EQ(p.server.write_now(const_list(3), ec), 0u);
  EXPECT_FALSE(ec);
}

TEST_P(Blocking, EmptyBuffersOnAClosedStreamAreBadDescriptors) {
  p.client.close();
  EXPECT_EQ(p.client.read_now({}, ec), 0u);
  EXPECT_EQ(ec, asio::error::bad_descriptor);
  EXPECT_EQ(p.client.write_now(const_list(3), ec), 0u);
  EXPECT_EQ(ec, asio::error::bad_descriptor);
}

TEST_P(Blocking, ScatteredReadsAndGatheredWritesAreOneStream) {
  EXPECT_EQ(p.client.write_now({asio::buffer("ab", 2), {}, asio::buffer("cde", 3)}, ec), 5u);
  EXPECT_EQ(p.server.wait_now(socket_base::wait_read), std::error_code());
  EXPECT_EQ(
      p.server.read_now({asio::buffer(in.data(), 1), {}, asio::buffer(in.data() + 1, 50)}, ec), 5u);
  EXPECT_EQ(in.substr(0, 5), "abcde");
}

TEST_P(Blocking, WaitsReturnWhenThereIsSomething) {
  EXPECT_EQ(p.client.wait_now(socket_base::wait_write), std::error_code());
  std::thread writer([this] { write(p.client, "x"); });
  EXPECT_EQ(p.server.wait_now(socket_base::wait_read), std::error_code());
  EXPECT_EQ(p.server.available(), 1u);
  writer.join();
}

TEST_P(Blocking, EndOfStreamIsReportedAgainAndAgain) {
  p.client.shutdown(socket_base::shutdown_send);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(p.server.read_now({asio::buffer(in)}, ec), 0u);
    EXPECT_EQ(ec, asio::error::eof);
  }
}

TEST_P(Blocking, AReadEndsWhenAnotherThreadClosesThePeer) {
  std::thread closer([this] { p.client.close(); });
  EXPECT_EQ(p.server.read_now({asio::buffer(in)}, ec), 0u);
  EXPECT_EQ(ec, asio::error::eof);
  closer.join();
}

TEST_P(Blocking, WritingAfterShutdownSendIsABrokenPipe) {
  p.client.shutdown(socket_base::shutdown_send);
  EXPECT_EQ(p.client.write_now({asio::buffer("x", 1)}, ec), 0u);
  EXPECT_EQ(ec, asio::error::broken_pipe);
}

TEST_P(Blocking, AClosedStreamIsABadDescriptor) {
  p.client.close();
  EXPECT_EQ(p.client.read_now({asio::buffer(in)}, ec), 0u);
  EXPECT_EQ(ec, asio::error::bad_descriptor);
  EXPECT_EQ(p.client.write_now({asio::buffer("x", 1)}, ec), 0u);
  EXPECT_EQ(ec, asio::error::bad_descriptor);
  EXPECT_EQ(p.client.wait_now(socket_base::wait_read), asio::error::bad_descriptor);
}

TEST_P(Blocking, TheThrowingFormsThrowTheSameErrors) {
  p.client.close();
  p.client.with([&](auto& s) {
    EXPECT_EQ(thrown_by([&] { (void)s.read_some(asio::buffer(in)); }), asio::error::bad_descriptor);
    EXPECT_EQ(thrown_by([&] { (void)s.write_some(asio::buffer(in)); }),
              asio::error::bad_descriptor);
    EXPECT_EQ(thrown_by([&] { s.shutdown(socket_base::shutdown_both); }),
              asio::error::bad_descriptor);
    EXPECT_EQ(thrown_by([&] { s.wait(socket_base::wait_read); }), asio::error::bad_descriptor);
    EXPECT_EQ(thrown_by([&] { (void)s.available(); }), asio::error::bad_descriptor);
    EXPECT_EQ(thrown_by([&] { s.cancel(); }), asio::error::bad_descriptor);
    EXPECT_EQ(thrown_by([&] { s.non_blocking(true); }), asio::error::bad_descriptor);
    EXPECT_EQ(thrown_by([&] { s.close(); }), std::error_code());
  });
}

TEST_P(Blocking, NonBlockingCallsSayWouldBlockAndGoOn) {
  EXPECT_EQ(p.server.non_blocking(true), std::error_code());
  EXPECT_EQ(p.client.non_blocking(true), std::error_code());
  EXPECT_TRUE(p.client.with([](auto& s) { return s.non_blocking(); }));
  EXPECT_EQ(p.server.read_now({asio::buffer(in)}, ec), 0u);
  EXPECT_EQ(ec, asio::error::would_block);
  const std::string block(50'000, 'n');
  std::size_t written = 0;
  for (ec.clear(); !ec;) written += p.client.write_now({asio::buffer(block)}, ec);
  EXPECT_EQ(ec, asio::error::would_block);
  EXPECT_GT(written, 0u);
  std::string big(100'000, '\0');
  while (written != 0) {
    if (p.server.wait_now(socket_base::wait_read)) break;
    written -= p.server.read_now({asio::buffer(big)}, ec);
    ASSERT_FALSE(ec) << ec.message();
  }
  p.server.read_now({asio::buffer(in)}, ec);
  EXPECT_EQ(ec, asio::error::would_block);
}

TEST_P(Blocking, NonBlockingModeCanBeLeft) {
  p.server.non_blocking(true);
  p.server.non_blocking(false);
  EXPECT_FALSE(p.server.with([](auto& s) { return s.non_blocking(); }));
  std::thread writer([this] { write(p.client, "waited"); });
  EXPECT_EQ(read(p.server, 6), "waited");
  writer.join();
}

TEST_P(Blocking, PeekedBytesStay) {
  write(p.client, "peek");
  p.server.wait_now(socket_base::wait_read);
  for (int i = 0; i < 2; ++i) {
    const std::size_t n = p.server.with(
        [&](auto& s) { return s.receive(asio::buffer(in), socket_base::message_peek, ec); });
    EXPECT_EQ(in.substr(0, n), "peek");
  }
  EXPECT_EQ(read(p.server, 4), "peek");
}

TEST_P(Blocking, SendAndReceiveAreWriteAndRead) {
  EXPECT_EQ(p.client.with([](auto& s) { return s.send(asio::buffer("sent", 4)); }), 4u);
  p.server.wait_now(socket_base::wait_read);
  EXPECT_EQ(p.server.with([this](auto& s) { return s.receive(asio::buffer(in)); }), 4u);
  EXPECT_EQ(in.substr(0, 4), "sent");
}

INSTANTIATE_TEST_SUITE_P(Everywhere, Blocking, in_both_contexts(), name_of_combination);

using BlockingInside = conformance;

TEST_P(BlockingInside, ReadsOfOtherStreamsDoNotCompleteInsideABlockingConnect) {
  connected([this](peers& p) -> asio::awaitable<void> {
    char in[4];
    auto read = p.server.read_some(asio::buffer(in));
    co_await turns();
    subject another = make(p.server.executor()), accepted = make(p.server.executor());
    std::error_code ec;
    (void)p.client.write_now({asio::buffer("x", 1)}, ec);
    EXPECT_EQ(another.connect_now(p.at.endpoint()), std::error_code());
    EXPECT_EQ(p.at.accept_now(accepted), std::error_code());
    EXPECT_FALSE(read.done()) << "inside a blocking call";
    EXPECT_EQ(co_await read.end(), std::error_code());
    EXPECT_EQ(read.bytes(), 1u);
  });
}

TEST_P(BlockingInside, AConnectDoesNotCompleteInsideABlockingAcceptOrRead) {
  connected([this](peers& p) -> asio::awaitable<void> {
    subject another = make(p.server.executor()), accepted = make(p.server.executor());
    auto made = another.connect(p.at.endpoint());
    EXPECT_EQ(p.at.accept_now(accepted), std::error_code());
    EXPECT_FALSE(made.done()) << "inside accept()";
    std::error_code ec;
    (void)p.client.write_now({asio::buffer("x", 1)}, ec);
    char in[4];
    EXPECT_EQ(p.server.read_now({asio::buffer(in)}, ec), 1u);
    EXPECT_FALSE(made.done()) << "inside read_some()";
    EXPECT_EQ(co_await made.end(), std::error_code());
    if (is_reference()) co_return;
    EXPECT_EQ(another.own().transport(), expected(by()));
    EXPECT_EQ(accepted.own().transport(), expected(by()));
  });
}

INSTANTIATE_TEST_SUITE_P(Everywhere, BlockingInside, in_all_places(), name_of_combination);

}  // namespace
}  // namespace smc::test
