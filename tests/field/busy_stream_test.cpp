// A stream that is always ready beside others (dabeaz/curio #106, anmonteiro/httpun #41,
// twitter/twemproxy #416, romange/helio #577, boostorg/asio #207, Tencent/flare #204).
#include <asio/detached.hpp>
#include <asio/steady_timer.hpp>
#include <limits>

#include "setting.hpp"

namespace smc::test {
namespace {

using asio::use_awaitable;

/// Sends one byte and receives it, both ends here, so that neither ever waits for long.
asio::awaitable<void> keeps_busy(pair& streams, std::size_t rounds, std::size_t& done) {
  char byte = 'b';
  for (; done < rounds; ++done) {
    co_await asio::async_write(streams.client, asio::buffer(&byte, 1), use_awaitable);
    co_await asio::async_read(streams.server, asio::buffer(&byte, 1), use_awaitable);
  }
}

/// The longest that something has waited, counted in rounds of the busy stream.
class longest_gap {
 public:
  explicit longest_gap(const std::size_t& busy) : busy_(busy) {}
  void served() {
    most_ = std::max(most_, busy_ - last_);
    last_ = busy_;
    ++times_;
  }
  std::size_t most() const { return most_; }
  std::size_t times() const { return times_; }

 private:
  const std::size_t& busy_;
  std::size_t last_ = 0, most_ = 0, times_ = 0;
};

TEST_P(Field, AStreamThatIsAlwaysReadyStarvesNobody) {
  constexpr std::size_t others = 10;
  constexpr std::size_t most_rounds_between = 256;
  const std::size_t rounds = repeated(20000);
  world here(where());
  here.run([&]() -> asio::awaitable<void> {
    pair busy(here.executor(), by());
    co_await busy.connect();
    std::vector<std::unique_ptr<pair>> quiet;
    for (std::size_t i = 0; i < others; ++i) {
      quiet.push_back(std::make_unique<pair>(here.executor(), by()));
      co_await quiet.back()->connect();
    }
    std::size_t done = 0, running = 0;
    std::vector<longest_gap> gaps(others + 1, longest_gap(done));
    const auto echo = [&](std::size_t i) -> asio::awaitable<void> {
      char byte = 'q';
      while (done < rounds) {
        co_await asio::async_write(quiet[i]->client, asio::buffer(&byte, 1), use_awaitable);
        co_await asio::async_read(quiet[i]->server, asio::buffer(&byte, 1), use_awaitable);
        gaps[i].served();
      }
    };
    const auto post = [&]() -> asio::awaitable<void> {
      while (done < rounds) {
        co_await asio::post(here.executor(), use_awaitable);
        gaps[others].served();
      }
    };
    bool fired = false;
    asio::steady_timer timer(here.executor(), 1ms);
    timer.async_wait([&](std::error_code) { fired = done < rounds; });
    const auto end = [&](std::exception_ptr failure) {
      EXPECT_FALSE(failure);
      --running;
    };
    running = others + 1;
    for (std::size_t i = 0; i < others; ++i) asio::co_spawn(here.executor(), echo(i), end);
    asio::co_spawn(here.executor(), post(), end);
    co_await keeps_busy(busy, rounds, done);
    co_await until([&] { return running == 0; });
    EXPECT_TRUE(fired) << "a timer";
    for (const longest_gap& each : gaps) {
      EXPECT_LE(each.most(), most_rounds_between);
      EXPECT_GE(each.times(), rounds / most_rounds_between);
    }
  });
}

/// How far the stack has reached down and up, over many handlers.
class stack_reach {
 public:
  void note() {
    // No local's address: AddressSanitizer keeps locals elsewhere.
    const auto at = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    lowest_ = std::min(lowest_, at);
    highest_ = std::max(highest_, at);
  }
  std::size_t spread() const { return highest_ - lowest_; }

 private:
  std::uintptr_t lowest_ = std::numeric_limits<std::uintptr_t>::max();
  std::uintptr_t highest_ = 0;
};

constexpr std::size_t flat = 16 << 10;

/// Each handler starts the next operation, which can be performed at once.
struct chain {
  chain(pair& of, std::size_t operations) : streams(of), left(operations) {}
  void write() {
    inside = true;
    streams.client.async_write_some(asio::buffer(&byte, 1), [this](std::error_code e, std::size_t) {
      EXPECT_FALSE(e || inside);
      reach.note();
      read();
    });
    inside = false;
  }
  void read() {
    inside = true;
    asio::async_read(streams.server, asio::buffer(&byte, 1),
                     [this](std::error_code e, std::size_t) {
                       EXPECT_FALSE(e || inside);
                       reach.note();
                       if (--left != 0) write();
                     });
    inside = false;
  }
  pair& streams;
  std::size_t left;
  char byte = 'c';
  bool inside = false;  // an initiating function
  stack_reach reach;
};

TEST_P(Field, HandlersThatStartTheNextOperationDoNotPileUpOnTheStack) {
  connected([](pair& streams) -> asio::awaitable<void> {
    chain links(streams, repeated(50000));
    links.write();
    co_await until([&] { return links.left == 0; });
    EXPECT_LE(links.reach.spread(), flat);
  });
}

TEST_P(Field, AwaitsThatNeverWaitDoNotPileUpOnTheStack) {
  connected([](pair& streams) -> asio::awaitable<void> {
    stack_reach reach;
    char byte = 'c';
    for (std::size_t i = repeated(50000); i != 0; --i) {
      co_await streams.client.async_write_some(asio::buffer(&byte, 1), use_awaitable);
      reach.note();
      co_await asio::async_read(streams.server, asio::buffer(&byte, 1), use_awaitable);
      reach.note();
    }
    EXPECT_LE(reach.spread(), flat);
  });
}

}  // namespace
}  // namespace smc::test
