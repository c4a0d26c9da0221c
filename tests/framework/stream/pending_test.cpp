// Operations that are pending when something else happens: cancellation, closing, moving, the end
// of the context.
#include <algorithm>
#include <array>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/experimental/awaitable_operators.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <atomic>
#include <optional>
#include <random>
#include <variant>

#include "setting.hpp"

namespace smc::test {
namespace {

using namespace asio::experimental::awaitable_operators;

using StreamPending = each_setting;

TEST_P(StreamPending, CancelledReadsTakeNothingAndLeaveTheStreamUsable) {
  connected([](pair& p) -> asio::awaitable<void> {
    for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                            asio::cancellation_type::total}) {
      asio::cancellation_signal signal;
      outcome read;
      char in[8];
      p.server.async_read_some(asio::buffer(in),
                               asio::bind_cancellation_slot(signal.slot(), store(read)));
      co_await turns();
      EXPECT_FALSE(read.called);
      signal.emit(type);
      EXPECT_FALSE(read.called) << "inside emit()";
      co_await until([&read] { return read.called; });
      EXPECT_EQ(read.error, asio::error::operation_aborted);
      EXPECT_EQ(read.bytes, 0u);
      co_await asio::async_write(p.client, asio::buffer("next", 4), asio::use_awaitable);
      EXPECT_EQ(co_await read_text(p.server, 4), "next");
    }
  });
}

TEST_P(StreamPending, OnlyTheReadWhoseSlotIsUsedIsCancelled) {
  connected([](pair& p) -> asio::awaitable<void> {
    asio::cancellation_signal signal;
    outcome first, second, third;
    char in[3] = {};
    p.server.async_read_some(asio::buffer(&in[0], 1), store(first));
    p.server.async_read_some(asio::buffer(&in[1], 1),
                             asio::bind_cancellation_slot(signal.slot(), store(second)));
    p.server.async_read_some(asio::buffer(&in[2], 1), store(third));
    co_await turns();
    signal.emit(asio::cancellation_type::total);
    co_await until([&second] { return second.called; });
    EXPECT_EQ(second.error, asio::error::operation_aborted);
    EXPECT_FALSE(first.called || third.called);
    co_await asio::async_write(p.client, asio::buffer("13", 2), asio::use_awaitable);
    co_await until([&] { return first.called && third.called; });
    EXPECT_EQ(in[0], '1');
    EXPECT_EQ(in[2], '3');
  });
}

TEST_P(StreamPending, WritesCancelledWhileTheRingIsFullSendNothing) {
  connected([](pair& p) -> asio::awaitable<void> {
    p.client.non_blocking(true);
    std::error_code ec;
    std::size_t filled = 0;
    const std::string block(10'000, 'f');
    while (!ec) filled += p.client.write_some(asio::buffer(block), ec);
    asio::cancellation_signal signal;
    outcome write;
    p.client.async_write_some(asio::buffer("lost", 4),
                              asio::bind_cancellation_slot(signal.slot(), store(write)));
    co_await turns();
    if (!write.called) {  // TCP may have moved bytes on meanwhile
      signal.emit(asio::cancellation_type::partial);
      co_await until([&write] { return write.called; });
    }
    EXPECT_TRUE(write.error ? write.bytes == 0 : write.bytes > 0);
    const std::string got = co_await read_text(p.server, filled + write.bytes);
    EXPECT_EQ(got.substr(filled), std::string("lost").substr(0, write.bytes));
    co_await asio::async_write(p.client, asio::buffer("next", 4), asio::use_awaitable);
    EXPECT_EQ(co_await read_text(p.server, 4), "next");
  });
}

asio::awaitable<void> write_under_timers(stream& to, std::size_t total) {
  std::mt19937 random(7);
  asio::steady_timer timer(co_await asio::this_coro::executor);
  const std::string text = pattern_text(0, total);
  for (std::size_t sent = 0; sent < total;) {
    timer.expires_after(std::chrono::microseconds(random() % 40));
    const auto piece =
        asio::buffer(text.data() + sent, std::min<std::size_t>(total - sent, 1 + random() % 4000));
    const auto result = co_await (to.async_write_some(piece, asio::use_awaitable) ||
                                  timer.async_wait(asio::use_awaitable));
    if (result.index() == 0) sent += std::get<0>(result);
  }
}

asio::awaitable<std::string> read_under_timers(stream& from, std::size_t total) {
  std::mt19937 random(8);
  asio::steady_timer timer(co_await asio::this_coro::executor);
  std::string got;
  std::vector<char> piece(3000);
  while (got.size() < total) {
    timer.expires_after(std::chrono::microseconds(random() % 40));
    const auto result =
        co_await (from.async_read_some(asio::buffer(piece.data(), 1 + random() % piece.size()),
                                       asio::use_awaitable) ||
                  timer.async_wait(asio::use_awaitable));
    if (result.index() == 0) got.append(piece.data(), std::get<0>(result));
  }
  co_return got;
}

TEST_P(StreamPending, TransfersThatRaceWithTimersLoseNoByte) {
  connected([](pair& p) -> asio::awaitable<void> {
    constexpr std::size_t total = 600'000;
    const std::string got =
        co_await (write_under_timers(p.client, total) && read_under_timers(p.server, total));
    EXPECT_EQ(got.size(), total);
    EXPECT_TRUE(got == pattern_text(0, total));
  });
}

TEST_P(StreamPending, CloseAbortsAllButNotInside) {
  connected([](pair& p) -> asio::awaitable<void> {
    std::vector<outcome> ended(4);
    char in[8];
    for (outcome& o : ended) p.server.async_read_some(asio::buffer(in), store(o));
    co_await turns();
    p.server.close();
    for (const outcome& o : ended) EXPECT_FALSE(o.called);
    co_await until([&ended] {
      return std::all_of(ended.begin(), ended.end(), [](auto& o) { return o.called; });
    });
    for (const outcome& o : ended) {
      EXPECT_EQ(o.error, asio::error::operation_aborted);
      EXPECT_EQ(o.bytes, 0u);
    }
    EXPECT_FALSE(p.server.is_open());
  });
}

TEST_P(StreamPending, OperationsOnAClosedStreamFailButNotInside) {
  connected([](pair& p) -> asio::awaitable<void> {
    p.server.close();
    outcome read, write;
    char in[8];
    p.server.async_read_some(asio::buffer(in), store(read));
    p.server.async_write_some(asio::buffer("x", 1), store(write));
    EXPECT_FALSE(read.called || write.called);
    co_await until([&] { return read.called && write.called; });
    EXPECT_EQ(read.error, asio::error::bad_descriptor);
    EXPECT_EQ(write.error, asio::error::bad_descriptor);
  });
}

TEST_P(StreamPending, DestroyingTheStreamAbortsAll) {
  connected([](pair& p) -> asio::awaitable<void> {
    outcome first, second;
    char in[8];
    {
      stream dying = std::move(p.server);
      dying.async_read_some(asio::buffer(in), store(first));
      dying.async_read_some(asio::buffer(in), store(second));
      co_await turns();
    }
    EXPECT_FALSE(first.called || second.called);
    co_await until([&] { return first.called && second.called; });
    EXPECT_EQ(first.error, asio::error::operation_aborted);
    EXPECT_EQ(second.error, asio::error::operation_aborted);
    std::error_code ec;
    co_await p.client.async_read_some(asio::buffer(in),
                                      asio::redirect_error(asio::use_awaitable, ec));
    EXPECT_EQ(ec, asio::error::eof);
  });
}

TEST_P(StreamPending, OperationsGoOnWhenTheStreamIsMoved) {
  connected([](pair& p) -> asio::awaitable<void> {
    outcome read;
    char in[8];
    p.server.async_read_some(asio::buffer(in), store(read));
    co_await turns();
    stream moved = std::move(p.server);
    EXPECT_FALSE(p.server.is_open());
    co_await asio::async_write(p.client, asio::buffer("moved", 5), asio::use_awaitable);
    co_await until([&read] { return read.called; });
    EXPECT_FALSE(read.error);
    EXPECT_EQ(std::string_view(in, read.bytes), "moved");
    co_await asio::async_write(moved, asio::buffer("back", 4), asio::use_awaitable);
    EXPECT_EQ(co_await read_text(p.client, 4), "back");
  });
}

TEST_P(StreamPending, TheEndOfTheContextDestroysHandlersWithoutCallingThem) {
  const auto alive = std::make_shared<int>(0);
  std::atomic<int> calls{0};
  {
    world here(where());
    here.run_and_stop([&]() -> asio::awaitable<void> {
      const auto streams = std::make_shared<pair>(here.executor(), by());
      co_await streams->connect();
      const auto in = std::make_shared<std::array<char, 8>>();
      // The handlers own all there is.
      for (int i = 0; i < 3; ++i) {
        streams->server.async_read_some(
            asio::buffer(*in),
            [&calls, streams, in, alive](std::error_code, std::size_t) { ++calls; });
      }
      streams->client.async_read_some(
          asio::buffer(*in),
          [&calls, streams, in, alive](std::error_code, std::size_t) { ++calls; });
      streams->listener.async_accept(
          [&calls, streams, alive](std::error_code, stream) { ++calls; });
      co_await turns();
    });
    EXPECT_EQ(alive.use_count(), 6);
    here.destroy();
  }
  EXPECT_EQ(alive.use_count(), 1);
  EXPECT_EQ(calls, 0);
}

INSTANTIATE_TEST_SUITE_P(Everywhere, StreamPending, all_settings(), name_of_setting);

class StreamExceptions : public testing::TestWithParam<carrier> {};

template <typename Context>
void throws_out_of_run(carrier by) {
  Context context;
  pair p(context.get_executor(), by);
  bool done = false;
  asio::co_spawn(context.get_executor(), p.connect(), [&done](std::exception_ptr e) { done = !e; });
  context.run_for(patience);
  ASSERT_TRUE(done);
  char in[2];
  outcome second;
  p.server.async_read_some(asio::buffer(&in[0], 1), [](std::error_code, std::size_t) {
    throw std::runtime_error("out of a handler");
  });
  p.server.async_read_some(asio::buffer(&in[1], 1), store(second));
  asio::write(p.client, asio::buffer("ab", 2));
  context.restart();
  EXPECT_THROW(context.run_for(patience), std::runtime_error);
  EXPECT_FALSE(second.called);
  context.run_for(patience);
  EXPECT_TRUE(second.called);
  EXPECT_EQ(in[1], 'b');
}

TEST_P(StreamExceptions, LeaveRunAndTheStreamAndItsLoopStayUsable) {
  throws_out_of_run<event_loop>(GetParam());
  throws_out_of_run<asio::io_context>(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Everywhere, StreamExceptions, all_carriers());

}  // namespace
}  // namespace smc::test
