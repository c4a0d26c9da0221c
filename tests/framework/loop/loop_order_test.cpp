// One order for ready work and for what the inner context completes; when a busy loop looks at
// that.
#include <gtest/gtest.h>

#include <asio.hpp>
#include <asio/experimental/awaitable_operators.hpp>
#include <functional>
#include <smc/event_loop.hpp>
#include <string>

namespace {

using namespace std::chrono_literals;
using smc::detail::ready_node;

smc::detail::loop_core& core_of(smc::event_loop& loop) { return *smc::detail::loop_of(loop); }

TEST(LoopOrder, ACompletionOfTheInnerContextQueuesBehindReadyWork) {
  smc::event_loop loop;
  std::string order;
  asio::steady_timer timer(loop);
  asio::post(loop, [&] {
    timer.expires_at(std::chrono::steady_clock::now() - 1s);
    timer.async_wait([&](std::error_code) { order += 'T'; });
    // More than one look's worth: the timer is seen while these are queued.
    for (int i = 0; i < 1000; ++i) asio::post(loop, [&] { order += '.'; });
  });
  EXPECT_EQ(loop.run(), 1002u);
  EXPECT_EQ(order, std::string(1000, '.').append(1, 'T'));
}

TEST(LoopOrder, InternalNodesAndHandlersKeepOneOrder) {
  struct internal : ready_node {
    internal() {
      invoke = [](ready_node* self, action) { *static_cast<internal*>(self)->order += 'i'; };
    }
    std::string* order;
  } node;
  smc::event_loop loop;
  std::string order;
  node.order = &order;
  asio::post(loop, [&] { order += 'a'; });
  core_of(loop).push_internal(&node);
  asio::post(loop, [&] { order += 'b'; });
  EXPECT_EQ(loop.run(), 2u);  // the internal one does not count
  EXPECT_EQ(order, "aib");
}

// An operation that is performed when it is started, as a write into a ring with room: it can't be
// undone any more.
template <typename Token>
auto async_performed(smc::event_loop& loop, int& performed, Token&& token) {
  return asio::async_initiate<Token, void(std::error_code, int)>(
      [](auto handler, smc::event_loop* l, int* count) {
        using handler_type = decltype(handler);
        struct operation : ready_node {
          explicit operation(handler_type&& h) : handler_(std::move(h)) {
            invoke = [](ready_node* n, action what) {
              std::unique_ptr<operation> self(static_cast<operation*>(n));
              handler_type owned(std::move(self->handler_));
              self.reset();
              if (what == action::run) std::move(owned)(std::error_code(), 1);
            };
          }
          handler_type handler_;
        };
        ++*count;
        auto& core = *smc::detail::loop_of(*l);
        core.work_started();
        core.push(new operation(std::move(handler)));
      },
      token, &loop, &performed);
}

TEST(LoopOrder, AnOperationOrATimerLosesNoPerformedOperation) {
  using namespace asio::experimental::awaitable_operators;
  smc::event_loop loop;
  int performed = 0, reported = 0;
  const auto run = [&]() -> asio::awaitable<void> {
    asio::steady_timer timer(loop);
    for (int i = 0; i < 5000; ++i) {
      timer.expires_after(std::chrono::microseconds(i % 3));
      // Half of the time the loop is busy, so that it looks at the timer between the two.
      for (int k = 0; k < (i % 2) * 300; ++k) asio::post(loop, [] {});
      const auto result = co_await (async_performed(loop, performed, asio::use_awaitable) ||
                                    timer.async_wait(asio::use_awaitable));
      if (result.index() == 0) reported += std::get<0>(result);
    }
  };
  asio::co_spawn(loop, run(), [](std::exception_ptr e) {
    if (e) std::rethrow_exception(e);
  });
  loop.run();
  EXPECT_EQ(performed, 5000);
  EXPECT_EQ(reported, performed);
}

TEST(LoopOrder, ABusyLoopLooksOftenEnoughForTimers) {
  smc::event_loop loop;
  asio::steady_timer timer(loop, 1ms);
  bool fired = false;
  timer.async_wait([&](std::error_code) { fired = true; });
  std::function<void()> again = [&] {
    if (!fired) asio::post(loop, again);
  };
  for (int i = 0; i < 10000; ++i) asio::post(loop, again);
  const std::size_t ran = loop.run();
  EXPECT_TRUE(fired);
  EXPECT_GE(core_of(loop).counters().looks * (256 + 32) + 256, ran);
}

TEST(LoopOrder, TimersAlsoFireWhenABusyLoopIsRunOneHandlerAtATime) {
  for (const bool wait : {true, false}) {
    smc::event_loop loop;
    asio::steady_timer timer(loop, 1ms);
    bool fired = false;
    timer.async_wait([&](std::error_code) { fired = true; });
    std::function<void()> again = [&] { asio::post(loop, again); };
    asio::post(loop, again);
    while (!fired) EXPECT_EQ(wait ? loop.run_one() : loop.poll_one(), 1u);
  }
}

TEST(LoopOrder, ATurnRunsOnlyWhatWasQueuedWhenItBegan) {
  smc::event_loop loop;
  int left = 100;
  std::function<void()> again = [&] {
    if (--left > 0) asio::post(loop, again);
  };
  asio::post(loop, again);
  loop.run();
  EXPECT_GE(core_of(loop).counters().turns, 100u);
}

TEST(LoopOrder, ALoopOfAwaitsKeepsTheStackFlat) {
  smc::event_loop loop;
  int performed = 0;
  asio::co_spawn(
      loop,
      [&]() -> asio::awaitable<void> {
        for (int i = 0; i < 200000; ++i)
          co_await async_performed(loop, performed, asio::use_awaitable);
      },
      [](std::exception_ptr e) {
        if (e) std::rethrow_exception(e);
      });
  loop.run();
  EXPECT_EQ(performed, 200000);
}

}  // namespace
