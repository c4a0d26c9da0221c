#include "smcd/connection.hpp"

#include "pair.hpp"

namespace smc::smcd::testing {
namespace {

using detail::direction;

struct kind {
  const char* name;
  bool loop_mode;
  bool mapped;
  bool mirrored;
};

void PrintTo(const kind& k, std::ostream* out) { *out << k.name; }

class Connection : public ::testing::TestWithParam<kind> {
 protected:
  Connection()
      // Without room for a mapping per ring, slabs are mapped once.
      : budget_(std::uint64_t{1} << 30, GetParam().mirrored ? 60000 : 8),
        sides_(side_options{GetParam().loop_mode, GetParam().mapped, 64, &budget_}) {
    auto made = connect(sides_);
    a = std::move(made.a);
    b = std::move(made.b);
  }

  system::memory_budget budget_;
  linked_sides sides_;
  std::unique_ptr<connection> a;
  std::unique_ptr<connection> b;
};

INSTANTIATE_TEST_SUITE_P(, Connection,
                         ::testing::Values(kind{"LoopMappedMirrored", true, true, true},
                                           kind{"SharedMappedMirrored", false, true, true},
                                           kind{"LoopMappedOnce", true, true, false},
                                           kind{"LoopCopyingMirrored", true, false, true},
                                           kind{"SharedCopyingOnce", false, false, false}),
                         [](const auto& which) { return std::string(which.param.name); });

TEST_P(Connection, BothSidesProveThatTheySeeTheSameMemory) {
  EXPECT_TRUE(a->peer_attached());
  EXPECT_TRUE(b->peer_attached());
}

TEST_P(Connection, BytesArriveInOrder) {
  EXPECT_EQ(write(*a, "hello ").bytes, 6u);
  EXPECT_EQ(write(*a, "world").bytes, 5u);
  EXPECT_EQ(b->available(), 11u);
  EXPECT_EQ(read_text(*b), "hello world");
  EXPECT_EQ(read(*b, std::span<std::byte>()).bytes, 0u);
  std::byte one{};
  EXPECT_EQ(read(*b, {&one, 1}).error, code(asio::error::would_block));
}

TEST_P(Connection, ScatterAndGatherKeepOrder) {
  const std::string parts[] = {"one", "", "two", "three"};
  std::vector<asio::const_buffer> out;
  for (const auto& p : parts) out.emplace_back(p.data(), p.size());
  EXPECT_EQ(a->write_some(out).bytes, 11u);
  char x[4], y[7];
  const std::array<asio::mutable_buffer, 2> in{asio::buffer(x), asio::buffer(y)};
  const auto r = b->read_some(in);
  EXPECT_FALSE(r.error);
  EXPECT_EQ(std::string(x, 4) + std::string(y, r.bytes - 4), "onetwothree");
}

TEST_P(Connection, AFullRingTakesNoMoreAndGoesOnAfterAQuarterIsFree) {
  const auto all = pattern(20000);
  EXPECT_EQ(write(*a, all).bytes, 16384u);
  EXPECT_EQ(write(*a, all).error, code(asio::error::would_block));
  EXPECT_EQ(a->poll(direction::write, 1), code(asio::error::would_block));
  std::vector<std::byte> into(16384 / 4);
  EXPECT_EQ(read(*b, into).bytes, into.size());
  EXPECT_FALSE(a->poll(direction::write, into.size()));
  EXPECT_EQ(a->poll(direction::write, into.size() + 1), code(asio::error::would_block));
  EXPECT_EQ(write(*a, all).bytes, into.size());
  EXPECT_EQ(a->counters(direction::write).buffer_full_remote, 1u);
  EXPECT_EQ(a->counters(direction::write).buffer_too_small_remote, 3u);
}

TEST_P(Connection, ADrainedReaderGivesBackEverything) {
  write(*a, pattern(16300));
  std::vector<std::byte> into(16000);
  read(*b, into);
  into.resize(300);
  read(*b, into);
  EXPECT_EQ(a->poll(direction::write, 16384), code(asio::error::would_block));
  EXPECT_EQ(b->poll(direction::read, 1), code(asio::error::would_block));
  EXPECT_FALSE(a->poll(direction::write, 16384));
}

TEST_P(Connection, LongStreamsSurviveEveryPlaceOfTheWrap) {
  const auto all = pattern(1 << 20);
  std::vector<std::byte> got;
  std::size_t sent = 0;
  std::vector<std::byte> into(20000);
  for (std::size_t turn = 0; got.size() < all.size(); ++turn) {
    const auto n = std::min<std::size_t>(turn * 7919 % 18000, all.size() - sent);
    sent += write(*a, std::span(all).subspan(sent, n)).bytes;
    const auto r = read(*b, std::span(into).first(turn * 104729 % 19000));
    got.insert(got.end(), into.begin(), into.begin() + static_cast<std::ptrdiff_t>(r.bytes));
  }
  EXPECT_EQ(got, all);
}

TEST_P(Connection, PreparedBytesAreSeenWhenCommittedAndNotBefore) {
  asio::mutable_buffer room;
  ASSERT_FALSE(a->prepare(1, 100, room));
  ASSERT_EQ(room.size(), 100u);
  std::memcpy(room.data(), "abcdef", 6);
  EXPECT_EQ(b->available(), 0u);
  EXPECT_EQ(a->commit(101), code(asio::error::invalid_argument));
  EXPECT_FALSE(a->commit(6));
  EXPECT_EQ(a->commit(1), code(asio::error::invalid_argument));
  EXPECT_EQ(read_text(*b), "abcdef");
}

TEST_P(Connection, AWriteEndsAPreparedSpan) {
  asio::mutable_buffer room;
  ASSERT_FALSE(a->prepare(1, 100, room));
  write(*a, "x");
  EXPECT_EQ(a->commit(1), code(asio::error::invalid_argument));
  EXPECT_EQ(read_text(*b), "x");
}

TEST_P(Connection, SpansAreContiguousAcrossTheEndOfTheRing) {
  std::vector<std::byte> into(16384);
  for (std::size_t turn = 0; turn < 40; ++turn) {
    const auto bytes = pattern(10007, turn);
    asio::mutable_buffer room;
    ASSERT_FALSE(a->prepare(bytes.size(), bytes.size(), room));
    ASSERT_EQ(room.size(), bytes.size());
    std::memcpy(room.data(), bytes.data(), bytes.size());
    ASSERT_FALSE(a->commit(bytes.size()));
    asio::const_buffer seen;
    ASSERT_FALSE(b->data(bytes.size(), seen));
    ASSERT_EQ(seen.size(), bytes.size());
    ASSERT_EQ(std::memcmp(seen.data(), bytes.data(), bytes.size()), 0);
    ASSERT_EQ(b->consume(bytes.size() + 1), code(asio::error::invalid_argument));
    ASSERT_FALSE(b->consume(5000));
    ASSERT_FALSE(b->consume(5007));
    ASSERT_EQ(b->consume(1), code(asio::error::invalid_argument));
    ASSERT_EQ(b->data(1, seen), code(asio::error::would_block));
  }
}

TEST_P(Connection, MoreThanTheRingHoldsIsNoBufferSpaceAtOnce) {
  asio::mutable_buffer room;
  asio::const_buffer seen;
  EXPECT_EQ(a->prepare(16385, 20000, room), code(asio::error::no_buffer_space));
  EXPECT_EQ(b->data(16385, seen), code(asio::error::no_buffer_space));
  ASSERT_FALSE(a->prepare(16384, 20000, room));
  EXPECT_EQ(room.size(), 16384u);
}

TEST_P(Connection, DataWaitsForItsMinimumAndGivesTheRestAtTheEnd) {
  asio::const_buffer seen;
  EXPECT_FALSE(b->data(0, seen));
  EXPECT_EQ(seen.size(), 0u);
  write(*a, "abc");
  EXPECT_EQ(b->data(4, seen), code(asio::error::would_block));
  EXPECT_FALSE(b->data(2, seen));
  EXPECT_EQ(seen.size(), 3u);
  a->shutdown(asio::socket_base::shutdown_send);
  EXPECT_EQ(b->data(4, seen), eof());
  EXPECT_EQ(seen.size(), 3u);
  EXPECT_FALSE(b->consume(3));
  EXPECT_EQ(b->data(1, seen), eof());
  EXPECT_EQ(seen.size(), 0u);
}

TEST_P(Connection, ArmingSaysSoWhereThereIsSomething) {
  counting_waiter w;
  write(*a, "x");
  EXPECT_FALSE(b->arm(direction::read, 1, w));
  EXPECT_FALSE(a->arm(direction::write, 1, w));
  settle(sides_);
  EXPECT_EQ(w.told(), 0);
}

TEST_P(Connection, AWaitingReaderIsToldOnce) {
  counting_waiter w;
  ASSERT_TRUE(b->arm(direction::read, 1, w));
  EXPECT_FALSE(sides_.b.group->poll());
  write(*a, "x");
  write(*a, "y");
  settle(sides_);
  EXPECT_EQ(w.told(), 1);
  EXPECT_EQ(read_text(*b), "xy");
  ASSERT_TRUE(b->arm(direction::read, 1, w));
  write(*a, "z");
  settle(sides_);
  EXPECT_EQ(w.told(), 2);
}

TEST_P(Connection, AWaitingWriterIsToldWhenTheReaderDrains) {
  counting_waiter w;
  write(*a, pattern(16384));
  ASSERT_TRUE(a->arm(direction::write, 1, w));
  std::vector<std::byte> into(10);
  read(*b, into);
  settle(sides_);
  EXPECT_EQ(w.told(), 1) << "the reader had just looked, so it knows that the writer waits";
  EXPECT_FALSE(a->poll(direction::write, 10));
}

TEST_P(Connection, AWriterThatWantsMuchIsToldWhenTheReaderCanNotGoOn) {
  counting_waiter w;
  write(*a, pattern(8000));
  EXPECT_EQ(b->available(), 8000u);
  std::vector<std::byte> into(8000);
  read(*b, into);
  write(*a, pattern(100));
  b->available();
  ASSERT_TRUE(a->arm(direction::write, 16384, w));
  read_text(*b);
  EXPECT_EQ(b->poll(direction::read, 1), code(asio::error::would_block));
  settle(sides_);
  EXPECT_GE(w.told(), 1);
  EXPECT_FALSE(a->poll(direction::write, 16384));
}

TEST_P(Connection, ADisarmedWaiterIsNotTold) {
  counting_waiter w;
  ASSERT_TRUE(b->arm(direction::read, 1, w));
  b->disarm(direction::read);
  write(*a, "x");
  settle(sides_);
  EXPECT_EQ(w.told(), 0);
}

TEST_P(Connection, AnArmingThatFoundBytesLeavesOneEntryAtMost) {
  counting_waiter w;
  for (int i = 0; i < 5000; ++i) {
    // Arm, be overtaken by a write, arm again without taking the entry.
    ASSERT_TRUE(b->arm(direction::read, 1, w));
    write(*a, "x");
    ASSERT_FALSE(b->arm(direction::read, 1, w));
    ASSERT_EQ(read_text(*b), "x");
    ASSERT_TRUE(b->arm(direction::read, 1, w));
    write(*a, "y");
    ASSERT_EQ(read_text(*b), "y");
  }
  EXPECT_FALSE(sides_.a.group->ended()) << "the inbox would have been full";
  settle(sides_);
  EXPECT_EQ(w.told(), 1);
}

TEST_P(Connection, TheGroupSleepsOnlyWhereNothingCame) {
  counting_waiter w;
  auto& group = *sides_.b.group;
  ASSERT_TRUE(b->arm(direction::read, 1, w));
  ASSERT_TRUE(group.before_sleep());
  EXPECT_FALSE(system::clear(sides_.b.doorbell).value);
  write(*a, "x");
  EXPECT_TRUE(system::clear(sides_.b.doorbell).value);
  group.after_sleep();
  EXPECT_FALSE(group.before_sleep());
  EXPECT_TRUE(group.poll());
  EXPECT_TRUE(group.before_sleep());
  EXPECT_EQ(sides_.a.group->wakeups_sent(), 1u);
  EXPECT_EQ(a->counters(direction::write).wakeups_sent, 1u);
  group.after_sleep();
  ASSERT_EQ(read_text(*b), "x");
  ASSERT_TRUE(b->arm(direction::read, 1, w));
  write(*a, "y");
  EXPECT_FALSE(system::clear(sides_.b.doorbell).value) << "awake: no doorbell";
  EXPECT_EQ(a->counters(direction::write).wakeups_avoided, 1u);
}

TEST_P(Connection, WhoWaitsWhileTheLoopPollsIsToldHoweverMany) {
  linked_sides sides(side_options{GetParam().loop_mode, GetParam().mapped});
  std::vector<connected> more;
  std::array<counting_waiter, 20> waiters;
  for (auto& w : waiters) {
    more.push_back(connect(sides));
    ASSERT_TRUE(more.back().b->arm(direction::read, 1, w));
  }
  settle(sides);
  for (auto& each : more) write(*each.a, "x");
  settle(sides);
  for (std::size_t i = 0; i < waiters.size(); ++i) {
    EXPECT_EQ(waiters[i].told(), 1) << i;
    EXPECT_EQ(read_text(*more[i].b), "x");
  }
}

TEST_P(Connection, WhatThePollingLoopSeesByItselfNeedsNoEntry) {
  counting_waiter w;
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(b->arm(direction::read, 1, w));
    write(*a, "x");
    settle(sides_);
    ASSERT_EQ(w.told(), i + 1);
    ASSERT_EQ(read_text(*b), "x");
  }
  EXPECT_EQ(sides_.a.group->wakeups_avoided(), GetParam().loop_mode ? 0u : 10u);
}

TEST_P(Connection, ARingThatStaysQuietIsLookedAtNoLonger) {
  counting_waiter w;
  ASSERT_TRUE(b->arm(direction::read, 1, w));
  for (int i = 0; i < 10000; ++i) sides_.b.group->poll();
  write(*a, "x");
  EXPECT_EQ(sides_.a.group->wakeups_avoided(), 1u) << "told by an entry";
  settle(sides_);
  EXPECT_EQ(w.told(), 1);
}

// Case 2 and its neighbours: what each side sees after the other ended.

TEST_P(Connection, EndOfStreamComesAfterTheBytesAgainAndAgain) {
  write(*a, "last");
  EXPECT_FALSE(a->shutdown(asio::socket_base::shutdown_send));
  EXPECT_EQ(write(*a, "more").error, code(asio::error::broken_pipe));
  EXPECT_EQ(read_text(*b), "last");
  std::byte one{};
  EXPECT_EQ(read(*b, {&one, 1}).error, eof());
  EXPECT_EQ(read(*b, {&one, 1}).error, eof());
  EXPECT_EQ(write(*b, "still heard").bytes, 11u);
  EXPECT_EQ(read_text(*a), "still heard");
}

TEST_P(Connection, ClosingWithUnreadInputResetsThePeer) {
  write(*a, pattern(1000));
  ASSERT_EQ(b->available(), 1000u);
  b->close();
  std::byte one{};
  EXPECT_EQ(read(*a, {&one, 1}).error, code(asio::error::connection_reset));
  EXPECT_EQ(write(*a, "x").error, code(asio::error::connection_reset));
  EXPECT_EQ(write(*a, "x").error, code(asio::error::connection_reset));
}

TEST_P(Connection, ClosingAfterReadingEverythingEndsThePeersStream) {
  write(*a, pattern(1000));
  read_text(*b);
  b->close();
  std::byte one{};
  EXPECT_EQ(read(*a, {&one, 1}).error, eof());
  EXPECT_EQ(write(*a, "x").error, code(asio::error::broken_pipe));
}

TEST_P(Connection, AResetDoesNotOvertakeBytes) {
  write(*a, "unread");
  write(*b, pattern(5000));
  b->close();
  std::vector<std::byte> into(6000);
  EXPECT_EQ(read(*a, into).bytes, 5000u);
  EXPECT_EQ(read(*a, into).error, code(asio::error::connection_reset));
}

TEST_P(Connection, APublishedEndOfStreamWinsOverALaterReset) {
  write(*b, "bye");
  b->shutdown(asio::socket_base::shutdown_send);
  write(*a, "unread");
  b->close();
  EXPECT_EQ(read_text(*a), "bye");
  std::byte one{};
  EXPECT_EQ(read(*a, {&one, 1}).error, eof());
}

TEST_P(Connection, AbortResetsAtOnce) {
  write(*a, "before");
  a->abort();
  EXPECT_EQ(read_text(*b), "before");
  std::byte one{};
  EXPECT_EQ(read(*b, {&one, 1}).error, code(asio::error::connection_reset));
  EXPECT_EQ(b->shutdown(asio::socket_base::shutdown_both), code(asio::error::not_connected));
}

TEST_P(Connection, ReceivingCanBeShutDownLocally) {
  write(*a, "abc");
  EXPECT_FALSE(b->shutdown(asio::socket_base::shutdown_receive));
  EXPECT_EQ(read_text(*b), "abc");
  std::byte one{};
  EXPECT_EQ(read(*b, {&one, 1}).error, eof());
  EXPECT_FALSE(b->poll(direction::read, 1));
  EXPECT_EQ(write(*a, "d").bytes, 1u);
  EXPECT_EQ(write(*b, "e").bytes, 1u);
}

TEST_P(Connection, ShutdownTellsTheOwnWaiter) {
  counting_waiter w;
  ASSERT_TRUE(b->arm(direction::read, 1, w));
  b->shutdown(asio::socket_base::shutdown_receive);
  settle(sides_);
  EXPECT_EQ(w.told(), 1);
}

TEST_P(Connection, WaitersAreToldOfAShutdownAndOfAClose) {
  counting_waiter reader, writer;
  ASSERT_TRUE(b->arm(direction::read, 1, reader));
  a->shutdown(asio::socket_base::shutdown_send);
  settle(sides_);
  EXPECT_EQ(reader.told(), 1);
  write(*b, pattern(16384));
  ASSERT_TRUE(b->arm(direction::write, 1, writer));
  a->close();
  settle(sides_);
  EXPECT_EQ(writer.told(), 1);
}

TEST_P(Connection, RingsServeAgainWhenBothSidesHaveClosed) {
  for (int order = 0; order < 200; ++order) {
    counting_waiter w;
    b->arm(direction::read, 1, w);
    a->arm(direction::write, 1, w);
    if (order % 3 == 0) write(*a, "x");
    (order % 2 == 0 ? a : b)->close();
    if (order % 5 == 0) settle(sides_);
    (order % 2 == 0 ? b : a)->close();
    settle(sides_);
    ASSERT_EQ(sides_.a.group->connections(), 0u) << order;
    ASSERT_EQ(sides_.b.group->connections(), 0u) << order;
    auto made = connect(sides_);
    a = std::move(made.a);
    b = std::move(made.b);
    ASSERT_EQ(write(*a, "fresh").bytes, 5u);
    ASSERT_EQ(read_text(*b), "fresh");
  }
  EXPECT_LE(budget_.memory_in_use(), 4u * 256 * 1024) << "no new slab was needed";
}

TEST_P(Connection, ARingIsNotLentWhileThePeerHasNotClosed) {
  const auto before = sides_.a.group->connections();
  a->close();
  settle(sides_);
  EXPECT_EQ(sides_.a.group->connections(), before);
  b->close();
  settle(sides_);
  EXPECT_EQ(sides_.a.group->connections(), before - 1);
}

TEST_P(Connection, ADeadPeersBytesAreDeliveredThenTheReset) {
  counting_waiter w;
  ASSERT_TRUE(a->arm(direction::read, 1, w));
  write(*b, "last words");
  sides_.a.group->peer_died();
  settle(sides_);
  EXPECT_GE(w.told(), 1);
  EXPECT_EQ(read_text(*a), "last words");
  std::byte one{};
  EXPECT_EQ(read(*a, {&one, 1}).error, code(asio::error::connection_reset));
  EXPECT_EQ(write(*a, "x").error, code(asio::error::connection_reset));
  EXPECT_EQ(write(*a, "x").error, code(asio::error::connection_reset));
  EXPECT_EQ(sides_.a.group->open_ring(16384).why, reason::link_failed);
}

TEST_P(Connection, ADeadPeersEndOfStreamWins) {
  write(*b, "all");
  b->shutdown(asio::socket_base::shutdown_send);
  sides_.a.group->peer_died();
  EXPECT_EQ(read_text(*a), "all");
  std::byte one{};
  EXPECT_EQ(read(*a, {&one, 1}).error, eof());
}

TEST_P(Connection, ADeadPeerGivesBackTheRingsOfClosedConnections) {
  a->close();
  settle(sides_);
  EXPECT_EQ(sides_.a.group->connections(), 1u);
  sides_.a.group->peer_died();
  EXPECT_EQ(sides_.a.group->connections(), 0u);
}

}  // namespace
}  // namespace smc::smcd::testing
