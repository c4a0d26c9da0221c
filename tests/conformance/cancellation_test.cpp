// Ending what is pending: each operation by its own slot, all of them by cancel().
#include "conformance/fixture.hpp"

namespace smc::test {
namespace {

using Cancellation = conformance;
/// Not for the reference: Asio 1.22 looks for the operation in the object that was moved from.
using CancellationOurs = conformance;
using asio::socket_base;

constexpr asio::cancellation_type types[] = {asio::cancellation_type::terminal,
                                             asio::cancellation_type::partial,
                                             asio::cancellation_type::total};

TEST_P(Cancellation, ACancelledReadTakesNothingAndLeavesTheStreamUsable) {
  connected([](peers& p) -> asio::awaitable<void> {
    for (const auto type : types) {
      char in[8];
      auto read = p.server.read_some(asio::buffer(in));
      co_await turns();
      EXPECT_FALSE(read.done());
      read.cancel(type);
      EXPECT_EQ(co_await read.end(), asio::error::operation_aborted);
      EXPECT_EQ(read.bytes(), 0u);
      co_await send(p.client, "next");
      EXPECT_EQ(co_await receive(p.server, 4), "next");
    }
  });
}

TEST_P(Cancellation, ACancelledReadIntoSeveralBuffersTakesNothing) {
  connected([](peers& p) -> asio::awaitable<void> {
    char in[2][4];
    auto read = p.server.read_some(mutable_list{asio::buffer(in[0]), asio::buffer(in[1])});
    read.cancel(asio::cancellation_type::total);
    EXPECT_EQ(co_await read.end(), asio::error::operation_aborted);
    EXPECT_EQ(read.bytes(), 0u);
  });
}

TEST_P(Cancellation, OnlyTheReadWhoseSlotIsUsedIsCancelled) {
  connected([](peers& p) -> asio::awaitable<void> {
    char in[3] = {};
    auto first = p.server.read_some(asio::buffer(&in[0], 1));
    auto second = p.server.read_some(asio::buffer(&in[1], 1));
    auto third = p.server.read_some(asio::buffer(&in[2], 1));
    co_await turns();
    second.cancel(asio::cancellation_type::total);
    EXPECT_EQ(co_await second.end(), asio::error::operation_aborted);
    EXPECT_FALSE(first.done() || third.done());
    co_await send(p.client, "13");
    EXPECT_EQ(co_await first.end(), std::error_code());
    EXPECT_EQ(co_await third.end(), std::error_code());
    EXPECT_EQ(in[0], '1');
    EXPECT_EQ(in[2], '3');
  });
}

TEST_P(Cancellation, TheFirstOfTheQueueMayBeCancelledBeforeTheOthers) {
  connected([](peers& p) -> asio::awaitable<void> {
    char in[2] = {};
    auto first = p.server.read_some(asio::buffer(&in[0], 1));
    auto second = p.server.read_some(asio::buffer(&in[1], 1));
    co_await turns();
    first.cancel(asio::cancellation_type::terminal);
    EXPECT_EQ(co_await first.end(), asio::error::operation_aborted);
    co_await send(p.client, "2");
    EXPECT_EQ(co_await second.end(), std::error_code());
    EXPECT_EQ(in[1], '2');
  });
}

TEST_P(Cancellation, AWriteCancelledWhileThereIsNoRoomSendsNothing) {
  connected([](peers& p) -> asio::awaitable<void> {
    for (const auto type : types) {
      const std::size_t filled = co_await fill(p.client);
      auto write = p.client.write_some(asio::buffer("lost", 4));
      co_await turns();
      EXPECT_FALSE(write.done());
      write.cancel(type);
      EXPECT_EQ(co_await write.end(), asio::error::operation_aborted);
      EXPECT_EQ(write.bytes(), 0u);
      EXPECT_EQ(co_await receive(p.server, filled), std::string(filled, 'f'));
      co_await send(p.client, "next");
      EXPECT_EQ(co_await receive(p.server, 4), "next");
    }
  });
}

TEST_P(Cancellation, AComposedReadReportsWhatItHadRead) {
  connected([](peers& p) -> asio::awaitable<void> {
    for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial}) {
      std::string in(100, '\0');
      std::size_t got = 0;
      auto read =
          p.server.read({asio::buffer(in)}, [&got](const std::error_code& ec, std::size_t n) {
            got = n;
            return ec ? std::size_t{0} : std::size_t{100};
          });
      co_await send(p.client, "part");
      co_await until([&got] { return got == 4; });
      read.cancel(type);
      EXPECT_EQ(co_await read.end(), asio::error::operation_aborted);
      EXPECT_EQ(read.bytes(), 4u);
      EXPECT_EQ(in.substr(0, 4), "part");
    }
  });
}

TEST_P(Cancellation, AComposedWriteReportsExactlyWhatArrives) {
  connected([](peers& p) -> asio::awaitable<void> {
    const std::string much = pattern_text(0, std::size_t{16} << 20);
    auto write = p.client.write({asio::buffer(much)}, transfer_whole());
    co_await turns(50);
    EXPECT_FALSE(write.done());
    write.cancel(asio::cancellation_type::terminal);
    EXPECT_EQ(co_await write.end(), asio::error::operation_aborted);
    EXPECT_LT(write.bytes(), much.size());
    p.client.shutdown(socket_base::shutdown_send);
    EXPECT_TRUE(co_await receive(p.server, write.bytes()) == much.substr(0, write.bytes()));
    EXPECT_EQ(co_await read_end(p.server), asio::error::eof);
  });
}

TEST_P(Cancellation, WhatIsThereAlreadyIsReadThoughCancelledThen) {
  connected([](peers& p) -> asio::awaitable<void> {
    co_await send(p.client, "there");
    co_await arrived(p.server, 5);
    char in[8];
    auto read = p.server.read_some(asio::buffer(in));
    if (p.server.how() == style::callback) read.cancel(asio::cancellation_type::total);
    EXPECT_EQ(co_await read.end(), std::error_code());
    EXPECT_EQ(std::string_view(in, read.bytes()), "there");
  });
}

TEST_P(Cancellation, AWaitIsCancelled) {
  connected([](peers& p) -> asio::awaitable<void> {
    for (const auto type : types) {
      for (const auto what : {socket_base::wait_read, socket_base::wait_error}) {
        auto wait = p.server.wait(what);
        co_await turns();
        EXPECT_FALSE(wait.done());
        wait.cancel(type);
        EXPECT_EQ(co_await wait.end(), asio::error::operation_aborted);
      }
    }
  });
}

TEST_P(Cancellation, CancelEndsAllThatIsPendingButNotInside) {
  connected([](peers& p) -> asio::awaitable<void> {
    char in[2][8];
    (void)co_await fill(p.client);
    const std::string much(std::size_t{16} << 20, 'm');
    auto first = p.client.read_some(asio::buffer(in[0]));
    auto second = p.client.read_some(asio::buffer(in[1]));
    auto write = p.client.write(asio::buffer(much));
    auto wait = p.client.wait(socket_base::wait_error);
    co_await turns();
    EXPECT_EQ(p.client.cancel(), std::error_code());
    EXPECT_FALSE(first.done() || second.done() || wait.done() || write.done()) << "inside cancel()";
    for (operation* each : {&first, &second, &wait}) {
      EXPECT_EQ(co_await each->end(), asio::error::operation_aborted);
    }
    // Where a piece of it was just over, its next one was not pending yet.
    while (!write.done()) {
      p.client.cancel();
      co_await turns();
    }
    EXPECT_EQ(co_await write.end(), asio::error::operation_aborted);
    EXPECT_TRUE(p.client.is_open());
    co_await send(p.server, "on");
    EXPECT_EQ(co_await receive(p.client, 2), "on");
  });
}

TEST_P(Cancellation, CancelOfAnIdleStreamChangesNothing) {
  connected([](peers& p) -> asio::awaitable<void> {
    EXPECT_EQ(p.server.cancel(), std::error_code());
    co_await send(p.client, "idle");
    EXPECT_EQ(co_await receive(p.server, 4), "idle");
  });
}

TEST_P(Cancellation, ManyCancelledReadsLoseNoByte) {
  connected([](peers& p) -> asio::awaitable<void> {
    const std::string text = pattern_text(0, 60'000);
    auto write = p.client.write(asio::buffer(text));
    std::string got, in(701, '\0');
    for (std::size_t round = 0; got.size() < text.size(); ++round) {
      auto read = p.server.read_some(asio::buffer(in));
      if (round % 3 == 0) read.cancel(types[round % 9 / 3]);
      const auto error = co_await read.end();
      EXPECT_EQ(!error, read.bytes() != 0) << error.message();
      got.append(in, 0, read.bytes());
    }
    EXPECT_EQ(co_await write.end(), std::error_code());
    EXPECT_TRUE(got == text);
  });
}

TEST_P(Cancellation, CloseEndsAllThatIsPendingButNotInside) {
  connected([](peers& p) -> asio::awaitable<void> {
    char in[3][8];
    auto first = p.server.read_some(asio::buffer(in[0]));
    auto second = p.server.read_some(asio::buffer(in[1]));
    auto third = p.server.read_some(asio::buffer(in[2]));
    auto wait = p.server.wait(socket_base::wait_error);
    co_await turns();
    p.server.close();
    EXPECT_FALSE(first.done() || second.done() || third.done() || wait.done()) << "inside close()";
    for (operation* each : {&first, &second, &third, &wait}) {
      EXPECT_EQ(co_await each->end(), asio::error::operation_aborted);
      EXPECT_EQ(each->bytes(), 0u);
    }
    EXPECT_FALSE(p.server.is_open());
  });
}

TEST_P(Cancellation, CloseEndsAWriteThatWaitsForRoom) {
  connected([](peers& p) -> asio::awaitable<void> {
    (void)co_await fill(p.client);
    const std::string much(std::size_t{16} << 20, 'm');
    auto write = p.client.write(asio::buffer(much));
    co_await turns();
    EXPECT_FALSE(write.done());
    p.client.close();
    const auto ec = co_await write.end();
    // The latter where a piece of it was just over, and the next one finds the stream closed.
    EXPECT_TRUE(ec == asio::error::operation_aborted || ec == asio::error::bad_descriptor)
        << ec.message();
  });
}

TEST_P(Cancellation, OperationsOnAClosedStreamAreBadDescriptors) {
  connected([](peers& p) -> asio::awaitable<void> {
    p.server.close();
    char in[8];
    auto read = p.server.read_some(asio::buffer(in));
    auto write = p.server.write_some(asio::buffer("x", 1));
    auto composed_read = p.server.read(asio::buffer(in));
    auto composed_write = p.server.write(asio::buffer("x", 1));
    auto wait = p.server.wait(socket_base::wait_read);
    for (operation* each : {&read, &write, &composed_read, &composed_write, &wait}) {
      EXPECT_EQ(co_await each->end(), asio::error::bad_descriptor);
    }
  });
}

TEST_P(Cancellation, DestroyingAStreamEndsAllThatIsPending) {
  connected([](peers& p) -> asio::awaitable<void> {
    char in[2][8];
    std::optional<subject> dying(std::move(p.server));
    auto first = dying->read_some(asio::buffer(in[0]));
    auto second = dying->read_some(asio::buffer(in[1]));
    co_await turns();
    dying.reset();
    EXPECT_FALSE(first.done() || second.done());
    EXPECT_EQ(co_await first.end(), asio::error::operation_aborted);
    EXPECT_EQ(co_await second.end(), asio::error::operation_aborted);
    EXPECT_EQ(co_await read_end(p.client), asio::error::eof);
  });
}

TEST_P(Cancellation, AReadPendingWhileTheStreamIsMovedCompletes) {
  connected([](peers& p) -> asio::awaitable<void> {
    char in[8];
    auto read = p.server.read_some(asio::buffer(in));
    co_await turns();
    subject moved = std::move(p.server);
    EXPECT_FALSE(p.server.is_open());
    co_await send(p.client, "moved");
    EXPECT_EQ(co_await read.end(), std::error_code());
    EXPECT_EQ(std::string_view(in, read.bytes()), "moved");
    co_await send(moved, "back");
    EXPECT_EQ(co_await receive(p.client, 4), "back");
  });
}

TEST_P(CancellationOurs, AReadPendingWhileTheStreamIsMovedIsStillCancelled) {
  connected([](peers& p) -> asio::awaitable<void> {
    char in[8];
    auto read = p.server.read_some(asio::buffer(in));
    co_await turns();
    subject moved = std::move(p.server);
    read.cancel(asio::cancellation_type::partial);
    EXPECT_EQ(co_await read.end(), asio::error::operation_aborted);
    auto again = moved.read_some(asio::buffer(in));
    co_await turns();
    moved.close();
    EXPECT_EQ(co_await again.end(), asio::error::operation_aborted);
  });
}

TEST_P(Cancellation, AssigningToAStreamEndsWhatWasPendingOnIt) {
  connected([](peers& p) -> asio::awaitable<void> {
    char in[8];
    auto read = p.client.read_some(asio::buffer(in));
    co_await turns();
    p.client = subject(p.server.executor(), p.by, p.client.how());
    EXPECT_EQ(co_await read.end(), asio::error::operation_aborted);
    EXPECT_EQ(co_await read_end(p.server), asio::error::eof);
    EXPECT_FALSE(p.client.is_open());
  });
}

INSTANTIATE_TEST_SUITE_P(Everywhere, Cancellation, in_styles_of_one_thread(), name_of_combination);
INSTANTIATE_TEST_SUITE_P(Everywhere, CancellationOurs, ours_in_styles_of_one_thread(),
                         name_of_combination);

}  // namespace
}  // namespace smc::test
