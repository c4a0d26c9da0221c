#include <gtest/gtest.h>

#include <asio.hpp>
#include <atomic>
#include <latch>
#include <memory>
#include <smc/event_loop.hpp>
#include <thread>
#include <vector>

namespace {

smc::detail::loop_core& core_of(smc::event_loop& loop) { return *smc::detail::loop_of(loop); }

TEST(LoopExclusive, WithoutARunnerItRunsAtOnceAsTheLoopsThread) {
  smc::event_loop loop;
  auto& core = core_of(loop);
  EXPECT_FALSE(core.on_this_thread());
  bool inside = false;
  core.run_exclusive([&] { inside = core.on_this_thread(); });
  EXPECT_TRUE(inside);
  EXPECT_FALSE(core.on_this_thread());
}

TEST(LoopExclusive, NestedItJustCalls) {
  smc::event_loop loop;
  auto& core = core_of(loop);
  int calls = 0;
  core.run_exclusive([&] { core.run_exclusive([&] { ++calls; }); });
  EXPECT_FALSE(core.on_this_thread());
  asio::post(loop, [&] {
    core.run_exclusive([&] { ++calls; });
    EXPECT_EQ(calls, 2);
  });
  EXPECT_EQ(loop.run(), 1u);
  EXPECT_EQ(calls, 2);
}

TEST(LoopExclusive, AnExceptionOpensTheGateAgain) {
  smc::event_loop loop;
  EXPECT_THROW(core_of(loop).run_exclusive([] { throw 7; }), int);
  EXPECT_FALSE(core_of(loop).on_this_thread());
  asio::post(loop, [] {});
  EXPECT_EQ(loop.run(), 1u);
}

TEST(LoopExclusive, WithARunnerItsThreadCallsAndTheCallerDoesNotWait) {
  smc::event_loop loop;
  std::latch inside(1), queued(1);
  std::thread::id where;
  asio::post(loop, [&] {
    inside.count_down();
    queued.wait();  // would never end if run_exclusive() waited
  });
  std::thread::id runner_id;
  std::thread runner([&] {
    runner_id = std::this_thread::get_id();
    EXPECT_EQ(loop.run(), 1u);
  });
  inside.wait();
  core_of(loop).run_exclusive(
      [&, own = std::make_unique<int>(1)] { where = std::this_thread::get_id(); });
  queued.count_down();
  runner.join();
  EXPECT_EQ(where, runner_id);
}

TEST(LoopExclusive, WakesASleepingRunner) {
  smc::event_loop loop;
  auto guard = asio::make_work_guard(loop);
  std::thread runner([&] { loop.run(); });
  for (int i = 0; i < 500; ++i) {
    std::latch called(1);
    core_of(loop).run_exclusive([&] { called.count_down(); });
    called.wait();
  }
  guard.reset();
  runner.join();
}

TEST(LoopExclusive, ARequestIsNotLeftBehindWhenTheRunnerIsStopped) {
  smc::event_loop loop;
  std::latch inside(1), queued(1);
  bool called = false;
  asio::post(loop, [&] {
    inside.count_down();
    queued.wait();
    loop.stop();
  });
  asio::post(loop, [] {});
  std::thread runner([&] { EXPECT_EQ(loop.run(), 1u); });
  inside.wait();
  core_of(loop).run_exclusive([&] { called = true; });
  queued.count_down();
  runner.join();
  EXPECT_TRUE(called);
}

TEST(LoopExclusive, ARunThatMeetsASectionWaitsForItsEnd) {
  smc::event_loop loop;
  std::latch inside(1), started(1);
  bool over = false, seen = false;
  asio::post(loop, [&] { seen = over; });
  std::thread section([&] {
    core_of(loop).run_exclusive([&] {
      inside.count_down();
      started.wait();
      over = true;
    });
  });
  inside.wait();
  std::thread runner([&] {
    started.count_down();
    EXPECT_EQ(loop.run(), 1u);
  });
  runner.join();
  section.join();
  EXPECT_TRUE(seen);
}

TEST(LoopExclusive, SectionsOfManyThreadsExcludeEachOtherAndTheRunner) {
  smc::event_loop loop;
  long plain = 0;  // unprotected on purpose
  auto guard = std::make_unique<asio::executor_work_guard<smc::event_loop::executor_type>>(
      loop.get_executor());
  constexpr int threads = 3, calls = 500;
  std::vector<std::thread> callers;
  std::atomic<int> left{threads};
  for (int t = 0; t < threads; ++t)
    callers.emplace_back([&] {
      for (int i = 0; i < calls; ++i) core_of(loop).run_exclusive([&] { ++plain; });
      if (--left == 0) guard.reset();
    });
  // Runs and does not run, in turn.
  long handlers = 0;
  while (left > 0) {
    asio::post(loop, [&] { ++plain; });
    handlers += static_cast<long>(loop.poll());
    loop.restart();
  }
  for (auto& c : callers) c.join();
  handlers += static_cast<long>(loop.poll());
  EXPECT_EQ(plain, threads * calls + handlers);
}

TEST(LoopExclusive, WorkStartedInsideHoldsTheNextRun) {
  smc::event_loop loop;
  auto& core = core_of(loop);
  struct node : smc::detail::ready_node {
    bool ran = false;
  } n;
  n.invoke = [](smc::detail::ready_node* self, smc::detail::ready_node::action) {
    static_cast<node*>(self)->ran = true;
  };
  core.run_exclusive([&] {
    core.work_started();
    core.push(&n);
  });
  EXPECT_EQ(loop.run(), 1u);
  EXPECT_TRUE(n.ran);
}

}  // namespace
