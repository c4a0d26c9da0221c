// The wake-up protocol with real threads: each side sleeps whenever it may, so that a lost wake-up
// is a hang, which the bounded waits turn into a failure.
#include <poll.h>

#include <functional>
#include <thread>

#include "pair.hpp"

namespace smc::smcd::testing {
namespace {

using detail::direction;
using namespace std::chrono_literals;

/// Runs a side as a loop does: polls, and sleeps on the doorbell where the group allows it.
class sleeping_loop {
 public:
  explicit sleeping_loop(side& of) : side_(of) {}

  /// Until `done`; false if nothing happened for a long time.
  bool run_until(const std::function<bool()>& done) {
    while (!done()) {
      if (side_.group->poll()) continue;
      if (!side_.group->before_sleep()) continue;
      pollfd p{side_.doorbell.get(), POLLIN, 0};
      const auto r = system::poll({&p, 1}, 20s);
      side_.group->after_sleep();
      if (r.error || r.value == 0) return false;
      static_cast<void>(system::clear(side_.doorbell));
    }
    return true;
  }

 private:
  side& side_;
};

class flag_waiter final : public detail::waiter {
 public:
  void ready() noexcept override { told_.store(true, std::memory_order_release); }
  std::shared_ptr<void> keep_alive() noexcept override { return nullptr; }
  bool take() { return told_.exchange(false, std::memory_order_acq_rel); }

 private:
  std::atomic<bool> told_{false};
};

// Waits as a stream would: try, arm, sleep until told.
bool wait_armed(side& of, connection& c, direction d, flag_waiter& w) {
  sleeping_loop loop(of);
  while (c.poll(d, 1)) {
    if (!c.arm(d, 1, w)) return true;
    if (!loop.run_until([&] { return w.take(); })) return false;
  }
  return true;
}

bool write_all(side& of, connection& c, std::span<const std::byte> bytes, flag_waiter& w) {
  while (!bytes.empty()) {
    const auto r = write(c, bytes);
    if (r.error == code(asio::error::would_block)) {
      if (!wait_armed(of, c, direction::write, w)) return false;
    } else if (r.error) {
      return false;
    }
    bytes = bytes.subspan(r.bytes);
  }
  return true;
}

bool read_all(side& of, connection& c, std::span<std::byte> into, flag_waiter& w) {
  while (!into.empty()) {
    const auto r = read(c, into);
    if (r.error == code(asio::error::would_block)) {
      if (!wait_armed(of, c, direction::read, w)) return false;
    } else if (r.error) {
      return false;
    }
    into = into.subspan(r.bytes);
  }
  return true;
}

class WakeUp : public ::testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(, WakeUp, ::testing::Bool(), [](const auto& mode) {
  return std::string(mode.param ? "LoopMode" : "SharedMode");
});

TEST_P(WakeUp, NoneIsLostInAHundredThousandRoundTrips) {
  side_options options;
  options.loop_mode = GetParam();
  linked_sides sides(options);
  auto pair = connect(sides);
  constexpr std::uint32_t rounds = 50000;
  std::atomic<bool> server_ok{false};
  std::thread server([&] {
    flag_waiter w;
    std::uint32_t n = 0;
    for (std::uint32_t i = 0; i < rounds; ++i) {
      if (!read_all(sides.b, *pair.b, std::as_writable_bytes(std::span(&n, 1)), w)) return;
      if (n != i) return;
      if (!write_all(sides.b, *pair.b, std::as_bytes(std::span(&n, 1)), w)) return;
    }
    server_ok = true;
  });
  flag_waiter w;
  bool ok = true;
  for (std::uint32_t i = 0; i < rounds && ok; ++i) {
    std::uint32_t back = ~i;
    ok = write_all(sides.a, *pair.a, std::as_bytes(std::span(&i, 1)), w) &&
         read_all(sides.a, *pair.a, std::as_writable_bytes(std::span(&back, 1)), w) && back == i;
  }
  server.join();
  EXPECT_TRUE(ok);
  EXPECT_TRUE(server_ok);
  EXPECT_GT(sides.a.group->wakeups_sent() + sides.a.group->wakeups_avoided(), 0u);
}

TEST_P(WakeUp, AWriterThatFillsTheRingAndAReaderThatDrainsItNeverStandStill) {
  side_options options;
  options.loop_mode = GetParam();
  linked_sides sides(options);
  auto pair = connect(sides);
  constexpr std::size_t total = 24u << 20;
  const auto bytes = pattern(1 << 20);
  std::atomic<bool> reader_ok{false};
  std::thread reader([&] {
    flag_waiter w;
    std::vector<std::byte> into(7001);
    for (std::size_t at = 0; at < total;) {
      const auto n = std::min(into.size(), total - at);
      if (!read_all(sides.b, *pair.b, std::span(into).first(n), w)) return;
      for (std::size_t i = 0; i < n; ++i) {
        if (into[i] != bytes[(at + i) % bytes.size()]) return;
      }
      at += n;
    }
    reader_ok = true;
  });
  flag_waiter w;
  bool ok = true;
  for (std::size_t at = 0; at < total && ok; at += bytes.size()) {
    ok = write_all(sides.a, *pair.a, bytes, w);
  }
  reader.join();
  EXPECT_TRUE(ok);
  EXPECT_TRUE(reader_ok);
}

TEST_P(WakeUp, ThreadsThatSleepThemselvesNeedNoLoop) {
  side_options options;
  options.loop_mode = GetParam();
  linked_sides sides(options);
  auto pair = connect(sides);
  const auto bytes = pattern(4 << 20);
  const auto blocking = [](connection& c, direction d, auto&& attempt) {
    for (int idle = 0; idle < 200;) {
      const auto r = attempt();
      if (!r.error) return r.bytes;
      if (r.error != code(asio::error::would_block)) break;
      c.wait(d, 1, 1s);
      idle = c.poll(d, 1) ? idle + 1 : 0;
    }
    return std::size_t{0};
  };
  std::vector<std::byte> got(bytes.size());
  std::thread reader([&] {
    for (std::span<std::byte> into(got); !into.empty();) {
      const auto n = blocking(*pair.b, direction::read, [&] { return read(*pair.b, into); });
      if (n == 0) return;
      into = into.subspan(n);
    }
  });
  for (std::span<const std::byte> from(bytes); !from.empty();) {
    const auto n = blocking(*pair.a, direction::write, [&] { return write(*pair.a, from); });
    if (n == 0) break;
    from = from.subspan(n);
  }
  reader.join();
  EXPECT_EQ(got, bytes);
}

TEST_P(WakeUp, AnEndOfStreamWakesAThreadThatSleeps) {
  side_options options;
  options.loop_mode = GetParam();
  linked_sides sides(options);
  auto pair = connect(sides);
  std::thread reader([&] {
    while (pair.b->poll(direction::read, 1)) pair.b->wait(direction::read, 1, 10s);
  });
  pair.a->shutdown(asio::socket_base::shutdown_send);
  reader.join();
  std::byte one{};
  EXPECT_EQ(read(*pair.b, {&one, 1}).error, eof());
}

TEST_P(WakeUp, AClosingPeerWakesAWriterThatSleeps) {
  side_options options;
  options.loop_mode = GetParam();
  linked_sides sides(options);
  auto pair = connect(sides);
  write(*pair.b, pattern(16384));
  std::thread writer([&] {
    while (pair.b->poll(direction::write, 1)) pair.b->wait(direction::write, 1, 10s);
  });
  pair.a->close();
  writer.join();
  EXPECT_EQ(write(*pair.b, "x").error, code(asio::error::connection_reset));
}

TEST(SharedMode, SeveralThreadsPollAndPushAtOnce) {
  side_options options;
  options.loop_mode = false;
  linked_sides sides(options);
  constexpr std::size_t connections = 4;
  std::vector<connected> pairs;
  for (std::size_t i = 0; i < connections; ++i) pairs.push_back(connect(sides));
  std::atomic<std::size_t> finished{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (auto* s : {&sides.a, &sides.b}) {
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back([s, &stop] {
        while (!stop) {
          if (!s->group->poll()) std::this_thread::yield();
        }
      });
    }
  }
  // A told waiter is the only way on: no thread looks by itself.
  const auto run = [&](connection& c, bool first) {
    flag_waiter w;
    std::uint32_t n = 0;
    for (std::uint32_t i = 0; i < 4000; ++i) {
      if (first && write(c, std::as_bytes(std::span(&i, 1))).bytes != 4) return;
      while (c.poll(direction::read, 1)) {
        if (!c.arm(direction::read, 1, w)) break;
        while (!w.take()) std::this_thread::yield();
      }
      if (read(c, std::as_writable_bytes(std::span(&n, 1))).bytes != 4 || n != i) return;
      if (!first && write(c, std::as_bytes(std::span(&i, 1))).bytes != 4) return;
    }
    ++finished;
  };
  std::vector<std::thread> users;
  for (auto& p : pairs) {
    users.emplace_back([&] { run(*p.a, true); });
    users.emplace_back([&] { run(*p.b, false); });
  }
  for (auto& t : users) t.join();
  stop = true;
  for (auto& t : threads) t.join();
  EXPECT_EQ(finished, 2 * connections);
}

}  // namespace
}  // namespace smc::smcd::testing
