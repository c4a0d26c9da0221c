#include "statistics/registry.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <numeric>
#include <optional>
#include <thread>

namespace {

using smc::connection_statistics;
using smc::process_statistics;
using smc::reason;
using smc::transport_kind;
using smc::detail::connection_record;
using smc::detail::direction;
using smc::detail::transport_counters;

// A connection of which only the counters matter.
class counted_connection final : public smc::detail::connection {
 public:
  transport_counters written;
  transport_counters read;

  smc::detail::transfer_result read_some(std::span<const asio::mutable_buffer>) noexcept override {
    return {unsupported(), 0};
  }
  smc::detail::transfer_result write_some(std::span<const asio::const_buffer>) noexcept override {
    return {unsupported(), 0};
  }
  std::error_code prepare(std::size_t, std::size_t, asio::mutable_buffer&) noexcept override {
    return unsupported();
  }
  std::error_code commit(std::size_t) noexcept override { return unsupported(); }
  std::error_code data(std::size_t, asio::const_buffer&) noexcept override { return unsupported(); }
  std::error_code consume(std::size_t) noexcept override { return unsupported(); }
  std::size_t available() noexcept override { return 0; }
  std::error_code poll(direction, std::size_t) noexcept override { return unsupported(); }
  bool arm(direction, std::size_t, smc::detail::waiter&) noexcept override { return false; }
  void disarm(direction) noexcept override {}
  void wait(direction, std::size_t, std::chrono::milliseconds) noexcept override {}
  std::error_code shutdown(asio::socket_base::shutdown_type) noexcept override {
    return unsupported();
  }
  void close() noexcept override {}
  void abort() noexcept override {}
  void cut() noexcept override {}
  transport_counters counters(direction d) const noexcept override {
    return d == direction::write ? written : read;
  }

 private:
  static std::error_code unsupported() noexcept {
    return std::make_error_code(std::errc::operation_not_supported);
  }
};

std::uint64_t sum(const smc::histogram& h) {
  return std::accumulate(
      h.buckets.begin(), h.buckets.end(), std::uint64_t{0},
      [](std::uint64_t total, const auto& bucket) { return total + bucket.second; });
}

TEST(ConnectionRecord, TellsWhatWasCountedInEachDirection) {
  counted_connection connection;
  connection.written = {.buffer_full_remote = 2,
                        .buffer_too_small_remote = 3,
                        .ring_size = 65536,
                        .wakeups_sent = 4,
                        .wakeups_avoided = 5};
  connection.read = {.buffer_full_remote = 6,
                     .buffer_too_small_remote = 7,
                     .ring_size = 131072,
                     .wakeups_sent = 8,
                     .wakeups_avoided = 9};
  connection_record record(transport_kind::smc_d, connection);
  record.sent.request(100);
  record.sent.transferred(60);
  record.sent.transferred(40);
  record.sent.request(100'000);
  record.sent.buffer_full();
  record.received.request(8192);
  record.received.transferred(5);

  const connection_statistics s = record.snapshot();
  EXPECT_EQ(s.sent.bytes, 100u);
  EXPECT_EQ(s.sent.requests, 2u);
  EXPECT_EQ(sum(s.sent.request_sizes), 2u);
  EXPECT_EQ(s.sent.buffer_full, 1u);
  EXPECT_EQ(s.sent.buffer_too_small, 1u);
  EXPECT_EQ(s.sent.buffer_full_remote, 2u);
  EXPECT_EQ(s.sent.buffer_too_small_remote, 3u);
  EXPECT_EQ(s.sent.ring_size, 65536u);
  EXPECT_EQ(s.received.bytes, 5u);
  EXPECT_EQ(s.received.requests, 1u);
  EXPECT_EQ(s.received.buffer_full, 0u);
  EXPECT_EQ(s.received.buffer_full_remote, 6u);
  EXPECT_EQ(s.received.buffer_too_small_remote, 7u);
  EXPECT_EQ(s.received.ring_size, 131072u);
  EXPECT_EQ(s.wakeups_sent, 12u);
  EXPECT_EQ(s.wakeups_avoided, 14u);
}

TEST(ConnectionRecord, KeepsItsFiguresWhenTheConnectionIsGone) {
  std::optional<counted_connection> connection(std::in_place);
  connection->written.wakeups_sent = 3;
  connection->read.ring_size = 16384;
  connection_record record(transport_kind::smc_d, *connection);
  record.sent.request(1);
  record.sent.transferred(1);
  record.finish();
  connection.reset();
  record.finish();

  const connection_statistics s = record.snapshot();
  EXPECT_EQ(s.sent.bytes, 1u);
  EXPECT_EQ(s.wakeups_sent, 3u);
  EXPECT_EQ(s.received.ring_size, 16384u);
}

TEST(ProcessStatistics, HoldOpenAndEndedConnectionsOnce) {
  const process_statistics before = smc::statistics();
  counted_connection connection;
  connection.written.buffer_full_remote = 1;
  connection.written.ring_size = 65536;
  connection.read.ring_size = 1 << 20;
  const auto check = [&](std::uint64_t open) {
    const process_statistics now = smc::statistics();
    EXPECT_EQ(now.sent.bytes - before.sent.bytes, 11u);
    EXPECT_EQ(now.sent.requests - before.sent.requests, 2u);
    EXPECT_EQ(sum(now.sent.request_sizes), now.sent.requests);
    EXPECT_EQ(now.sent.buffer_full_remote - before.sent.buffer_full_remote, 2u);
    EXPECT_EQ(now.sent.ring_size, 0u);
    EXPECT_EQ(now.received.bytes - before.received.bytes, 7u);
    EXPECT_EQ(
        now.connections.at(transport_kind::smc_d) - before.connections.at(transport_kind::smc_d),
        2u);
    EXPECT_EQ(now.open_connections.at(transport_kind::smc_d), open);
    EXPECT_EQ(sum(now.ring_sizes) - sum(before.ring_sizes), 4u);
    EXPECT_EQ(now.ring_sizes.buckets.at(3).second - before.ring_sizes.buckets.at(3).second, 2u);
  };
  std::optional<connection_record> first(std::in_place, transport_kind::smc_d, connection);
  std::optional<connection_record> second(std::in_place, transport_kind::smc_d, connection);
  first->sent.request(10);
  first->sent.transferred(10);
  second->sent.request(1);
  second->sent.transferred(1);
  second->received.request(7);
  second->received.transferred(7);
  check(2);
  first.reset();
  check(1);
  second->finish();
  check(0);
  second.reset();
  check(0);
}

TEST(ProcessStatistics, ConnectionsMayEndInAnyOrder) {
  counted_connection connection;
  constexpr std::array<std::array<std::size_t, 3>, 6> orders = {
      {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}};
  for (const auto& order : orders) {
    std::array<std::optional<connection_record>, 3> records;
    for (auto& record : records) record.emplace(transport_kind::tcp, connection);
    std::uint64_t open = 3;
    EXPECT_EQ(smc::statistics().open_connections.at(transport_kind::tcp), open);
    for (const std::size_t i : order) {
      records[i].reset();
      EXPECT_EQ(smc::statistics().open_connections.at(transport_kind::tcp), --open);
    }
  }
}

TEST(ProcessStatistics, ATcpConnectionHasNoRingToCount) {
  const auto before = sum(smc::statistics().ring_sizes);
  counted_connection connection;
  const connection_record record(transport_kind::tcp, connection);
  EXPECT_EQ(sum(smc::statistics().ring_sizes), before);
}

TEST(ProcessStatistics, FallbacksAreCountedByReason) {
  const auto count = [](reason why) {
    const auto all = smc::statistics().fallbacks;
    const auto found = all.find(why);
    return found == all.end() ? 0 : found->second;
  };
  const auto before = count(reason::not_permitted);
  const auto odd_before = count(reason::protocol_error);
  smc::detail::count_fallback(reason::not_permitted);
  smc::detail::count_fallback(reason::not_permitted);
  smc::detail::count_fallback(static_cast<reason>(9999));
  smc::detail::count_fallback(reason::none);
  EXPECT_EQ(count(reason::not_permitted) - before, 2u);
  EXPECT_EQ(count(reason::protocol_error) - odd_before, 1u);
  EXPECT_EQ(count(reason::none), 0u);
}

TEST(ProcessStatistics, LinkGroupsAreCountedWhileTheyExist) {
  const auto before = smc::statistics().link_groups;
  {
    const smc::detail::link_group_record group;
    EXPECT_EQ(smc::statistics().link_groups, before + 1);
  }
  EXPECT_EQ(smc::statistics().link_groups, before);
}

TEST(ProcessStatistics, MayBeReadWhileOtherThreadsCountOpenAndEnd) {
  constexpr int rounds = 2000;
  const process_statistics before = smc::statistics();
  std::atomic<int> running{2};
  const auto work = [&running] {
    counted_connection connection;
    for (int i = 0; i < rounds; ++i) {
      connection_record record(transport_kind::other, connection);
      record.sent.request(50);
      record.sent.transferred(50);
    }
    running.fetch_sub(1);
  };
  std::thread one(work);
  std::thread two(work);
  while (running.load() != 0) {
    const process_statistics now = smc::statistics();
    EXPECT_EQ(sum(now.sent.request_sizes), now.sent.requests);
    EXPECT_LE(now.open_connections.at(transport_kind::other), 2u);
  }
  one.join();
  two.join();
  EXPECT_EQ(smc::statistics().sent.bytes - before.sent.bytes, 2u * rounds * 50u);
}

// Without allocations on either side: the sanitizers' allocators can't be used in such a child.
TEST(ProcessStatistics, WorkInAChildForkedWhileAnotherThreadUsesThem) {
  const auto open_and_end = [] {
    const counted_connection connection;
    const connection_record record(transport_kind::tcp, connection);
  };
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop.load()) open_and_end();
  });
  for (int i = 0; i < 200; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::alarm(20);
      open_and_end();
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  stop.store(true);
  busy.join();
}

}  // namespace
