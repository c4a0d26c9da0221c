// prepare/commit and data/consume, which every transport of ours has, alone and mixed with reads
// and writes.
#include <cstring>

#include "conformance/fixture.hpp"

namespace smc::test {
namespace {

using ZeroCopy = conformance;
/// Not for TCP, where room is the stream's own.
using ZeroCopyRing = conformance;

std::string_view text_of(asio::const_buffer bytes) {
  return {static_cast<const char*>(bytes.data()), bytes.size()};
}

/// Puts a text into the peer's ring in place.
asio::awaitable<void> put(subject& to, std::string text) {
  auto prepared = to.prepare(text.size());
  EXPECT_EQ(co_await prepared.end(), std::error_code());
  EXPECT_GE(prepared.room().size(), text.size());
  std::memcpy(prepared.room().data(), text.data(), text.size());
  to.own().commit(text.size());
}

/// Takes exactly so much in place.
asio::awaitable<std::string> take(subject& from, std::size_t size) {
  auto there = from.data(size);
  EXPECT_EQ(co_await there.end(), std::error_code());
  EXPECT_GE(there.data().size(), size);
  const std::string text(text_of(there.data()).substr(0, size));
  from.own().consume(size);
  co_return text;
}

TEST_P(ZeroCopy, PreparedBytesArriveInPlaceWhenCommitted) {
  connected([](peers& p) -> asio::awaitable<void> {
    auto prepared = p.client.prepare(8);
    EXPECT_EQ(co_await prepared.end(), std::error_code());
    EXPECT_GE(prepared.room().size(), 8u);
    std::memcpy(prepared.room().data(), "in place", 8);
    co_await turns();
    EXPECT_EQ(p.server.available(), 0u);
    p.client.own().commit(8);
    auto there = p.server.data(8);
    EXPECT_EQ(co_await there.end(), std::error_code());
    EXPECT_EQ(text_of(there.data()), "in place");
  });
}

TEST_P(ZeroCopy, WhatIsNotCommittedIsNotSent) {
  connected([](peers& p) -> asio::awaitable<void> {
    auto prepared = p.client.prepare(10);
    co_await prepared.end();
    std::memcpy(prepared.room().data(), "shown hide", 10);
    p.client.own().commit(5);
    EXPECT_EQ(co_await receive(p.server, 5), "shown");
    co_await turns();
    EXPECT_EQ(p.server.available(), 0u);
    co_await put(p.client, "next");
    EXPECT_EQ(co_await receive(p.server, 4), "next");
  });
}

TEST_P(ZeroCopy, CommittingNothingSendsNothing) {
  connected([](peers& p) -> asio::awaitable<void> {
    (void)p.client.own().prepare(10);
    p.client.own().commit(0);
    co_await put(p.client, "first");
    EXPECT_EQ(co_await receive(p.server, 5), "first");
  });
}

TEST_P(ZeroCopy, MoreThanWasPreparedIsAnInvalidArgument) {
  connected([](peers& p) -> asio::awaitable<void> {
    stream& s = p.client.own();
    EXPECT_EQ(thrown_by([&] { s.commit(1); }), asio::error::invalid_argument);
    const auto room = s.prepare(100);
    EXPECT_EQ(thrown_by([&] { s.commit(room.size() + 1); }), asio::error::invalid_argument);
    s.commit(1);
    EXPECT_EQ(thrown_by([&] { s.commit(1); }), asio::error::invalid_argument)
        << "one span, one commit";
    co_return;
  });
}

TEST_P(ZeroCopy, PrepareGivesNoMoreThanItIsAskedFor) {
  connected([](peers& p) -> asio::awaitable<void> {
    EXPECT_EQ(p.client.own().prepare(0).size(), 0u);
    for (const std::size_t max : {1u, 5u, 1000u}) {
      EXPECT_LE(p.client.own().prepare(max).size(), max);
      EXPECT_GE(p.client.own().prepare(max).size(), 1u);
    }
    co_return;
  });
}

TEST_P(ZeroCopy, AnOrdinaryWriteEndsWhatWasPreparedUncommitted) {
  connected([](peers& p) -> asio::awaitable<void> {
    const auto room = p.client.own().prepare(4);
    std::memcpy(room.data(), "gone", 4);
    co_await send(p.client, "written");
    EXPECT_EQ(thrown_by([&] { p.client.own().commit(4); }), asio::error::invalid_argument);
    EXPECT_EQ(co_await receive(p.server, 7), "written");
    EXPECT_EQ(p.server.available(), 0u);
  });
}

TEST_P(ZeroCopy, ASecondPrepareReplacesTheFirst) {
  connected([](peers& p) -> asio::awaitable<void> {
    std::memcpy(p.client.own().prepare(9).data(), "forgotten", 9);
    co_await put(p.client, "kept");
    EXPECT_EQ(co_await receive(p.server, 4), "kept");
    EXPECT_EQ(p.server.available(), 0u);
  });
}

TEST_P(ZeroCopy, DataIsEmptyWhereNothingHasCome) {
  connected([](peers& p) -> asio::awaitable<void> {
    EXPECT_EQ(p.server.own().data().size(), 0u);
    EXPECT_EQ(thrown_by([&] { p.server.own().consume(1); }), asio::error::invalid_argument);
    p.server.own().consume(0);
    co_return;
  });
}

TEST_P(ZeroCopy, DataStaysUntilItIsConsumed) {
  connected([](peers& p) -> asio::awaitable<void> {
    co_await send(p.client, "stays");
    auto there = p.server.data(5);
    co_await there.end();
    EXPECT_EQ(text_of(p.server.own().data()), "stays");
    EXPECT_EQ(text_of(p.server.own().data()), "stays");
    EXPECT_EQ(p.server.available(), 5u);
    p.server.own().consume(2);
    EXPECT_EQ(text_of(p.server.own().data()), "ays");
    EXPECT_EQ(p.server.available(), 3u);
    p.server.own().consume(3);
    EXPECT_EQ(p.server.own().data().size(), 0u);
  });
}

TEST_P(ZeroCopy, MoreThanThereIsCannotBeConsumed) {
  connected([](peers& p) -> asio::awaitable<void> {
    co_await send(p.client, "four");
    auto there = p.server.data(4);
    co_await there.end();
    EXPECT_EQ(thrown_by([&] { p.server.own().consume(5); }), asio::error::invalid_argument);
    p.server.own().consume(4);
    EXPECT_EQ(thrown_by([&] { p.server.own().consume(1); }), asio::error::invalid_argument);
  });
}

TEST_P(ZeroCopy, AReadGoesOnBehindWhatWasConsumed) {
  connected([](peers& p) -> asio::awaitable<void> {
    co_await send(p.client, "take read take");
    EXPECT_EQ(co_await take(p.server, 5), "take ");
    EXPECT_EQ(co_await receive(p.server, 5), "read ");
    EXPECT_EQ(co_await take(p.server, 4), "take");
    EXPECT_EQ(p.server.available(), 0u);
  });
}

TEST_P(ZeroCopy, AReadTakesWhatDataShowedOnly) {
  connected([](peers& p) -> asio::awaitable<void> {
    co_await send(p.client, "shown");
    auto there = p.server.data(5);
    co_await there.end();
    EXPECT_EQ(co_await receive(p.server, 5), "shown");
    EXPECT_EQ(thrown_by([&] { p.server.own().consume(1); }), asio::error::invalid_argument);
  });
}

TEST_P(ZeroCopy, AReadTakesAlsoWhatCameAfterDataLooked) {
  connected([](peers& p) -> asio::awaitable<void> {
    co_await send(p.client, "seen");
    auto there = p.server.data(4);
    co_await there.end();
    co_await send(p.client, " and not seen");
    co_await arrived(p.server, 17);
    std::string in(100, '\0');
    auto read = p.server.read_some(asio::buffer(in));
    EXPECT_EQ(co_await read.end(), std::error_code());
    EXPECT_EQ(in.substr(0, read.bytes()), "seen and not seen");
  });
}

TEST_P(ZeroCopy, WritesAndCommitsKeepTheirOrder) {
  connected([](peers& p) -> asio::awaitable<void> {
    std::string wanted;
    for (int i = 0; i < 40; ++i) {
      const std::string text = pattern_text(wanted.size(), static_cast<std::size_t>(1 + i * 13));
      if (i % 3 == 0) {
        co_await put(p.client, text);
      } else {
        co_await send(p.client, text);
      }
      wanted += text;
    }
    std::string got = co_await take(p.server, 100);
    got += co_await receive(p.server, wanted.size() - 200);
    got += co_await take(p.server, 100);
    EXPECT_TRUE(got == wanted);
  });
}

TEST_P(ZeroCopy, AStreamOfCommitsGoesRoundTheRingManyTimes) {
  connected([](peers& p) -> asio::awaitable<void> {
    constexpr std::size_t step = 7001, rounds = 60;
    for (std::size_t i = 0; i < rounds; ++i) {
      co_await put(p.client, pattern_text(i * step, step));
      EXPECT_TRUE(co_await take(p.server, step) == pattern_text(i * step, step)) << i;
    }
  });
}

TEST_P(ZeroCopy, ARingFullCanBePreparedAndTakenAtOnce) {
  connected([](peers& p) -> asio::awaitable<void> {
    co_await send(p.client, "off the start");
    (void)co_await receive(p.server, 13);
    const std::string text = pattern_text(5, test_ring);
    auto there = p.server.data(test_ring);  // asking for more gives the writer all that was freed
    co_await put(p.client, text);
    EXPECT_EQ(co_await there.end(), std::error_code());
    EXPECT_TRUE(text_of(there.data()) == text);
  });
}

TEST_P(ZeroCopy, RoomOrDataBeyondAnyRingIsNoBufferSpace) {
  connected([](peers& p) -> asio::awaitable<void> {
    auto prepared = p.client.prepare(std::size_t{1} << 40);
    auto there = p.server.data(std::size_t{1} << 40);
    EXPECT_EQ(co_await prepared.end(), asio::error::no_buffer_space);
    EXPECT_EQ(co_await there.end(), asio::error::no_buffer_space);
    co_await put(p.client, "fine");
    EXPECT_EQ(co_await take(p.server, 4), "fine");
  });
}

TEST_P(ZeroCopy, DataWaitsForItsMinimum) {
  connected([](peers& p) -> asio::awaitable<void> {
    auto there = p.server.data(8);
    co_await send(p.client, "half");
    co_await turns();
    EXPECT_FALSE(there.done());
    co_await send(p.client, "more");
    EXPECT_EQ(co_await there.end(), std::error_code());
    EXPECT_EQ(text_of(there.data()), "halfmore");
  });
}

TEST_P(ZeroCopy, ACancelledDataConsumesNothing) {
  connected([](peers& p) -> asio::awaitable<void> {
    for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                            asio::cancellation_type::total}) {
      auto there = p.server.data(8);
      co_await send(p.client, "half");
      co_await turns();
      there.cancel(type);
      EXPECT_EQ(co_await there.end(), asio::error::operation_aborted);
      EXPECT_EQ(co_await receive(p.server, 4), "half");
    }
  });
}

TEST_P(ZeroCopyRing, ACancelledPrepareLeavesTheStreamUsable) {
  connected([](peers& p) -> asio::awaitable<void> {
    const std::size_t filled = co_await fill(p.client);
    auto prepared = p.client.prepare(1000);
    co_await turns();
    EXPECT_FALSE(prepared.done());
    prepared.cancel(asio::cancellation_type::total);
    EXPECT_EQ(co_await prepared.end(), asio::error::operation_aborted);
    EXPECT_EQ(p.client.own().prepare(1).size(), 0u);
    (void)co_await receive(p.server, filled);
    co_await put(p.client, "room again");
    EXPECT_EQ(co_await take(p.server, 10), "room again");
  });
}

TEST_P(ZeroCopy, APrepareThatWaitsGetsTheRoomThatIsConsumed) {
  connected([](peers& p) -> asio::awaitable<void> {
    const std::size_t filled = co_await fill(p.client);
    auto prepared = p.client.prepare(1000);
    co_await turns();
    (void)co_await receive(p.server, filled);
    EXPECT_EQ(co_await prepared.end(), std::error_code());
    EXPECT_GE(prepared.room().size(), 1000u);
  });
}

TEST_P(ZeroCopy, WhatIsLeftComesWithTheEndToWhoeverWantedMore) {
  connected([](peers& p) -> asio::awaitable<void> {
    co_await send(p.client, "left");
    p.client.shutdown(asio::socket_base::shutdown_send);
    auto there = p.server.data(100);
    EXPECT_EQ(co_await there.end(), asio::error::eof);
    EXPECT_EQ(text_of(there.data()), "left");
    EXPECT_EQ(co_await receive(p.server, 4), "left");
    EXPECT_EQ(co_await read_end(p.server), asio::error::eof);
  });
}

TEST_P(ZeroCopy, WhatWasCommittedIsReadAfterTheWriterCloses) {
  connected([](peers& p) -> asio::awaitable<void> {
    co_await put(p.client, "last words");
    p.client.close();
    EXPECT_EQ(co_await take(p.server, 10), "last words");
    auto there = p.server.data(1);
    EXPECT_EQ(co_await there.end(), asio::error::eof);
    EXPECT_EQ(there.data().size(), 0u);
  });
}

TEST_P(ZeroCopy, DataThatWasShownButNotConsumedIsUnreadInputOfAClose) {
  connected([](peers& p) -> asio::awaitable<void> {
    co_await send(p.client, "unread");
    auto there = p.server.data(6);
    co_await there.end();
    p.server.close();
    EXPECT_EQ(co_await read_end(p.client), asio::error::connection_reset);
  });
}

TEST_P(ZeroCopy, AfterShutdownSendThereIsNothingToPrepare) {
  connected([](peers& p) -> asio::awaitable<void> {
    p.client.shutdown(asio::socket_base::shutdown_send);
    auto prepared = p.client.prepare(1);
    EXPECT_EQ(co_await prepared.end(), asio::error::broken_pipe);
    EXPECT_EQ(thrown_by([&] { (void)p.client.own().prepare(1); }), asio::error::broken_pipe);
  });
}

TEST_P(ZeroCopy, AClosedStreamHasNeitherRoomNorData) {
  connected([](peers& p) -> asio::awaitable<void> {
    p.client.close();
    auto prepared = p.client.prepare(1);
    auto there = p.client.data(1);
    EXPECT_EQ(co_await prepared.end(), asio::error::bad_descriptor);
    EXPECT_EQ(co_await there.end(), asio::error::bad_descriptor);
    EXPECT_EQ(thrown_by([&] { (void)p.client.own().prepare(1); }), asio::error::bad_descriptor);
    EXPECT_EQ(thrown_by([&] { (void)p.client.own().data(); }), asio::error::bad_descriptor);
    EXPECT_EQ(thrown_by([&] { p.client.own().commit(1); }), asio::error::bad_descriptor);
    EXPECT_EQ(thrown_by([&] { p.client.own().consume(1); }), asio::error::bad_descriptor);
  });
}

INSTANTIATE_TEST_SUITE_P(Everywhere, ZeroCopy, ours_in_styles_of_one_thread(), name_of_combination);
INSTANTIATE_TEST_SUITE_P(Everywhere, ZeroCopyRing,
                         testing::Combine(testing::Values(carrier::smc_d_mapped,
                                                          carrier::smc_d_copying, carrier::memory),
                                          all_places(),
                                          testing::Values(style::callback, style::coroutine)),
                         name_of_combination);

}  // namespace
}  // namespace smc::test
