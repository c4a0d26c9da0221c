// Deadlines on contexts with several threads, and operations started from outside of them. Under
// ThreadSanitizer these show that timer and signal are touched by one thread at a time.
#include <asio/bind_cancellation_slot.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/experimental/as_tuple.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_future.hpp>
#include <smc/deadline.hpp>

#include "framework/stream/setting.hpp"

namespace smc::test {
namespace {

using asio::use_awaitable;
using asio::experimental::as_tuple;
using DeadlineThreads = each_setting;

TEST_P(DeadlineThreads, CountsAreExactWhenDeadlinesAndBytesMeet) {
  connected([](pair& p) -> asio::awaitable<void> {
    // Both sides retry from their counts: a byte that was lost or came twice would show.
    constexpr std::size_t size = 100'000;
    std::size_t sent = 0, got = 0;
    bool same = true, writer_ended = false;
    asio::co_spawn(
        p.server.get_executor(),
        [&]() -> asio::awaitable<void> {
          for (int i = 0; sent < size; ++i) {
            const std::string text = pattern_text(sent, std::min<std::size_t>(700, size - sent));
            auto [ec, n] = co_await asio::async_write(
                p.server, asio::buffer(text),
                with_deadline(std::chrono::microseconds(i % 7 * 15), as_tuple(use_awaitable)));
            EXPECT_TRUE(!ec || ec == asio::error::timed_out) << ec.message();
            sent += n;
            if (i % 3 == 0) co_await turns(1);
          }
        },
        [&writer_ended](std::exception_ptr e) {
          EXPECT_FALSE(e);
          writer_ended = true;
        });
    for (int i = 0; got < size; ++i) {
      std::string text(std::min<std::size_t>(1000, size - got), '\0');
      auto [ec, n] = co_await asio::async_read(
          p.client, asio::buffer(text),
          with_deadline(std::chrono::microseconds(i % 5 * 25), as_tuple(use_awaitable)));
      EXPECT_TRUE(!ec || ec == asio::error::timed_out) << ec.message();
      same = same && text.substr(0, n) == pattern_text(got, n);
      got += n;
    }
    EXPECT_TRUE(same);
    EXPECT_EQ(got, size);
    co_await until([&writer_ended] { return writer_ended; });
    EXPECT_EQ(sent, size);
  });
}

INSTANTIATE_TEST_SUITE_P(Everywhere, DeadlineThreads, all_settings(), name_of_setting);

/// Streams on a running context, used from the outside.
class DeadlineFromOutside : public testing::TestWithParam<carrier> {
 protected:
  template <typename Executor>
  void use(const Executor& executor) {
    const auto error_of = asio::use_future([](std::error_code ec) { return ec; });
    const auto error_and_count =
        asio::use_future([](std::error_code ec, std::size_t n) { return std::make_tuple(ec, n); });
    const config settings = settings_for(GetParam());
    acceptor listener(executor, any_port(), settings);
    stream client(executor, settings), server(executor, settings);
    auto none = listener.async_accept(server, with_deadline(1ms, error_of));
    EXPECT_EQ(none.get(), asio::error::timed_out);
    auto accepted = listener.async_accept(server, with_deadline(1h, asio::use_future));
    client.async_connect(listener.local_endpoint(), with_deadline(1h, asio::use_future)).get();
    accepted.get();
    EXPECT_EQ(client.transport(), expected(GetParam()));
    std::string got;
    std::size_t position = 0;
    for (int i = 0; i < 200; ++i) {
      char bytes[8];
      // Composed, and with a deadline that passes while it is being started, or in its middle.
      auto reading =
          asio::async_read(client, asio::buffer(bytes),
                           with_deadline(std::chrono::microseconds(i % 4 * 40), error_and_count));
      const std::string text = pattern_text(position, 5);
      EXPECT_EQ(
          asio::async_write(server, asio::buffer(text), with_deadline(1h, asio::use_future)).get(),
          5u);
      position += 5;
      const auto [ec, n] = reading.get();
      EXPECT_TRUE(!ec || ec == asio::error::timed_out) << ec.message();
      got.append(bytes, n);
    }
    while (got.size() < position) {
      char bytes[64];
      const std::size_t n =
          client.async_read_some(asio::buffer(bytes), with_deadline(1h, asio::use_future)).get();
      got.append(bytes, n);
    }
    EXPECT_EQ(got, pattern_text(0, position));
    listener.close();
  }
};

TEST_P(DeadlineFromOutside, AThreadPoolWithoutAStrand) {
  asio::thread_pool pool(3);
  use(pool.get_executor());
  pool.join();
}

TEST_P(DeadlineFromOutside, AStrandOverAThreadPool) {
  asio::thread_pool pool(3);
  use(asio::make_strand(pool));
  pool.join();
}

TEST_P(DeadlineFromOutside, AContextOfOneThread) {
  asio::io_context context;
  auto work = asio::make_work_guard(context);
  std::thread thread([&context] { context.run(); });
  use(context.get_executor());
  work.reset();
  thread.join();
}

TEST_P(DeadlineFromOutside, AnEventLoopOfAnotherThread) {
  event_loop loop;
  auto work = asio::make_work_guard(loop.get_executor());
  std::thread thread([&loop] { loop.run(); });
  use(loop.get_executor());
  work.reset();
  thread.join();
}

INSTANTIATE_TEST_SUITE_P(Everywhere, DeadlineFromOutside, all_carriers());

}  // namespace
}  // namespace smc::test
