// run() returns when the last work is done: not earlier, not never, whichever thread does it.
#include <gtest/gtest.h>

#include <asio.hpp>
#include <atomic>
#include <functional>
#include <latch>
#include <memory>
#include <smc/event_loop.hpp>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using guard_type = asio::executor_work_guard<smc::event_loop::executor_type>;
using smc::detail::ready_node;

smc::detail::loop_core& core_of(smc::event_loop& loop) { return *smc::detail::loop_of(loop); }

TEST(LoopWork, TheLastWorkMayEndOnAnotherThread) {
  for (int round = 0; round < 300; ++round) {
    smc::event_loop loop;
    std::atomic<int> handled{0};
    auto guard = std::make_unique<guard_type>(loop.get_executor());
    const int posts = round % 7;
    std::thread other([&, g = std::move(guard)]() mutable {
      for (int i = 0; i < posts; ++i) asio::post(loop, [&] { ++handled; });
      g.reset();
    });
    EXPECT_EQ(loop.run(), static_cast<std::size_t>(posts));
    EXPECT_EQ(handled, posts);
    other.join();
  }
}

TEST(LoopWork, WorkStartedByTheLoopMayEndElsewhereWhileMoreIsLeft) {
  // The other thread ends units that only the loop's own count knows of.
  for (int round = 0; round < 200; ++round) {
    smc::event_loop loop;
    std::thread other;
    bool last = false;
    asio::post(loop, [&] {
      auto here = std::make_shared<guard_type>(loop.get_executor());
      auto there = std::make_unique<guard_type>(loop.get_executor());
      auto there_too = std::make_unique<guard_type>(loop.get_executor());
      std::latch ended(1);
      other = std::thread([&, a = std::move(there), b = std::move(there_too)]() mutable {
        a.reset();
        b.reset();
        ended.count_down();
      });
      ended.wait();
      EXPECT_FALSE(loop.stopped());
      asio::post(loop, [&, here] { last = true; });
    });
    EXPECT_EQ(loop.run(), 2u);
    EXPECT_TRUE(last);
    other.join();
  }
}

TEST(LoopWork, ThreadPoolHandlersHoldTheLoop) {
  smc::event_loop loop;
  asio::thread_pool pool(2);
  int back = 0;
  for (int i = 0; i < 500; ++i) {
    asio::post(pool,
               [&, work = guard_type(loop.get_executor())] { asio::post(loop, [&] { ++back; }); });
  }
  while (back < 500) {
    loop.run();
    loop.restart();
  }
  pool.join();
  EXPECT_EQ(back, 500);
}

TEST(LoopWork, RemotePushesWakeASleepingLoop) {
  smc::event_loop loop;
  struct ping : ready_node {
    ping() {
      invoke = [](ready_node* self, action) {
        auto& count = static_cast<ping*>(self)->seen;
        count.fetch_add(1);
        count.notify_one();
      };
    }
    std::atomic<int> seen{0};
  } node;
  auto guard = std::make_unique<guard_type>(loop.get_executor());
  std::thread runner([&] { EXPECT_EQ(loop.run(), 0u); });
  for (int i = 0; i < 2000; ++i) {
    core_of(loop).push_internal(&node);
    node.seen.wait(i);
  }
  guard.reset();
  runner.join();
  EXPECT_EQ(node.seen, 2000);
}

TEST(LoopWork, HandlersFromManyThreadsAllRunAndKeepEachThreadsOrder) {
  smc::event_loop loop;
  constexpr int threads = 3, posts = 3000;
  std::vector<int> next(threads, 0);
  bool in_order = true;
  std::vector<std::thread> posters;
  auto guard = std::make_shared<guard_type>(loop.get_executor());
  for (int t = 0; t < threads; ++t)
    posters.emplace_back([&, t, guard] {
      for (int i = 0; i < posts; ++i)
        asio::post(loop,
                   [&, t, i] { in_order = in_order && next[static_cast<std::size_t>(t)]++ == i; });
    });
  guard.reset();
  EXPECT_EQ(loop.run(), static_cast<std::size_t>(threads * posts));
  EXPECT_TRUE(in_order);
  for (auto& p : posters) p.join();
}

// A wait of the library's on the inner context that is always pending, as a doorbell's.
class doorbell {
 public:
  explicit doorbell(smc::event_loop& loop)
      : core_(core_of(loop)), timer_(static_cast<asio::io_context&>(loop).get_executor()) {}
  void wait(std::chrono::nanoseconds after) {
    timer_.expires_after(after);
    timer_.async_wait([this](std::error_code e) {
      core_.internal_handler();
      core_.retake_unit();
      if (!e) ++rung;
      if (!e && rung < 3) wait(100us);
    });
    core_.release_unit();
  }
  int rung = 0;

 private:
  smc::detail::loop_core& core_;
  asio::steady_timer timer_;
};

TEST(LoopWork, APersistentWaitDoesNotKeepRunFromReturning) {
  smc::event_loop loop;
  doorbell bell(loop);
  core_of(loop).run_exclusive([&] { bell.wait(1h); });
  EXPECT_FALSE(loop.stopped());
  asio::post(loop, [] {});
  EXPECT_EQ(loop.run(), 1u);
  EXPECT_TRUE(loop.stopped());
}

TEST(LoopWork, APersistentWaitStartedBeforeTheFirstWorkDoesNotStopTheLoop) {
  smc::event_loop loop;
  doorbell bell(loop);
  core_of(loop).run_exclusive([&] { bell.wait(1h); });
  EXPECT_EQ(loop.run(), 0u);  // nothing to do
  loop.restart();
  asio::post(loop, [] {});
  EXPECT_EQ(loop.run(), 1u);
}

TEST(LoopWork, APersistentWaitsHandlerIsNotCounted) {
  smc::event_loop loop;
  doorbell bell(loop);
  asio::steady_timer timer(loop, 5ms);
  std::function<void(std::error_code)> until_rung = [&](std::error_code) {
    if (bell.rung == 3) return;
    timer.expires_after(1ms);
    timer.async_wait(until_rung);
  };
  std::size_t waits = 0;
  timer.async_wait([&](std::error_code e) { until_rung(e); });
  core_of(loop).run_exclusive([&] { bell.wait(0ns); });
  while (bell.rung < 3) waits += loop.run_one();
  waits += loop.run();
  EXPECT_EQ(bell.rung, 3);
  EXPECT_GE(waits, 1u);
  EXPECT_TRUE(loop.stopped());
}

TEST(LoopWork, AnInternalHandlerIsNotCountedButWhatItDispatchesIs) {
  smc::event_loop loop;
  asio::steady_timer timer(static_cast<asio::io_context&>(loop).get_executor(), 0s);
  int ran = 0;
  timer.async_wait([&](std::error_code) {
    core_of(loop).internal_handler();
    asio::dispatch(loop, [&] { ++ran; });
    asio::dispatch(loop, [&] { ++ran; });
  });
  EXPECT_EQ(loop.run(), 2u);
  EXPECT_EQ(ran, 2);
}

}  // namespace
