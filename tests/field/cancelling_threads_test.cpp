// Time limits that race with operations, on several threads (chriskohlhoff/asio #1348,
// ceph/ceph #67424, boostorg/asio #152 and #458).
#include <asio/bind_cancellation_slot.hpp>
#include <asio/detached.hpp>
#include <asio/experimental/awaitable_operators.hpp>
#include <asio/experimental/parallel_group.hpp>
#include <asio/steady_timer.hpp>
#include <random>

#include "setting.hpp"

namespace smc::test {
namespace {

using namespace asio::experimental::awaitable_operators;
using asio::use_awaitable;

class FieldThreads : public testing::TestWithParam<carrier> {
 protected:
  /// Reads against a timer until all has come; the number of bytes that reads have told of.
  static asio::awaitable<void> reads_against_a_timer(stream& from, std::size_t all, unsigned seed,
                                                     std::size_t& told) {
    std::mt19937 random(seed);
    std::vector<char> bytes(1000);
    asio::steady_timer timer(co_await asio::this_coro::executor);
    while (told < all) {
      timer.expires_after(std::chrono::microseconds(random() % 300));
      const auto first = co_await (from.async_read_some(asio::buffer(bytes), use_awaitable) ||
                                   timer.async_wait(use_awaitable));
      if (first.index() == 0) told += std::get<0>(first);
    }
  }

  static asio::awaitable<void> writes_in_pieces(stream& to, std::size_t all) {
    const std::string piece(777, 'p');
    for (std::size_t done = 0; done < all;) {
      done += co_await to.async_write_some(asio::buffer(piece, std::min(piece.size(), all - done)),
                                           use_awaitable);
    }
  }
};

TEST_P(FieldThreads, ReadsAgainstTimersLoseNoByteOnStrandsOverThreads) {
  constexpr std::size_t streams = 16;
  const std::size_t all = repeated(200) << 10;
  asio::io_context context;
  std::vector<std::unique_ptr<pair>> pairs;
  std::vector<std::size_t> told(streams);
  std::atomic<std::size_t> ended{0};
  const auto end = [&](std::exception_ptr failure) {
    EXPECT_FALSE(failure);
    ++ended;
  };
  for (unsigned i = 0; i < streams; ++i) {
    const auto strand = asio::make_strand(context);
    pairs.push_back(std::make_unique<pair>(strand, GetParam()));
    asio::co_spawn(
        strand,
        [&, i]() -> asio::awaitable<void> {
          pair& p = *pairs[i];
          co_await p.connect();
          co_await (writes_in_pieces(p.client, all) &&
                    reads_against_a_timer(p.server, all, i, told[i]));
        },
        end);
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { context.run_for(patience); });
  for (auto& each : threads) each.join();
  EXPECT_EQ(ended, streams);
  EXPECT_EQ(told, std::vector<std::size_t>(streams, all));
}

TEST_P(FieldThreads, AGroupEndsWithEachKindOfCancellation) {
  using asio::cancellation_type;
  for (const auto kind :
       {cancellation_type::terminal, cancellation_type::partial, cancellation_type::total}) {
    world here(place::threads_and_strand);
    here.run([&]() -> asio::awaitable<void> {
      pair p(here.executor(), GetParam());
      co_await p.connect();
      asio::steady_timer timer(here.executor(), 1h);
      asio::cancellation_signal signal;
      char in[1];
      bool over = false;
      asio::experimental::make_parallel_group(
          [&](auto token) { return p.server.async_data(1, token); },
          [&](auto token) { return p.client.async_read_some(asio::buffer(in), token); },
          [&](auto token) { return timer.async_wait(token); })
          .async_wait(
              asio::experimental::wait_for_all(),
              asio::bind_cancellation_slot(
                  signal.slot(), [&](auto, std::error_code data, asio::const_buffer,
                                     std::error_code read, std::size_t n, std::error_code waited) {
                    EXPECT_EQ(data, asio::error::operation_aborted);
                    EXPECT_EQ(read, asio::error::operation_aborted);
                    EXPECT_EQ(n, 0u);
                    EXPECT_EQ(waited, asio::error::operation_aborted);
                    over = true;
                  }));
      co_await turns();
      signal.emit(kind);
      co_await until([&] { return over; });
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Everywhere, FieldThreads, all_carriers(), [](const auto& tested) {
  const std::string name = name_of(tested.param, place::io_context);
  return name.substr(0, name.find("_on_"));
});

}  // namespace
}  // namespace smc::test
