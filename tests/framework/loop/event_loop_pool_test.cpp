#include <gtest/gtest.h>

#include <asio.hpp>
#include <atomic>
#include <functional>
#include <latch>
#include <memory>
#include <set>
#include <smc/event_loop.hpp>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

TEST(EventLoopPool, RunsEachLoopOnAThreadOfItsOwn) {
  smc::event_loop_pool pool(3);
  ASSERT_EQ(pool.size(), 3u);
  std::vector<std::thread::id> ids(3);
  std::latch all(3);  // only with three threads do all get here
  for (std::size_t i = 0; i < 3; ++i)
    asio::post(pool.loop(i), [&, i] {
      ids[i] = std::this_thread::get_id();
      all.arrive_and_wait();
    });
  pool.join();
  EXPECT_EQ(std::set<std::thread::id>(ids.begin(), ids.end()).size(), 3u);
}

TEST(EventLoopPool, HandsItsLoopsOutInTurn) {
  smc::event_loop_pool pool(2);
  EXPECT_EQ(&pool.next_loop(), &pool.loop(0));
  EXPECT_EQ(&pool.next_loop(), &pool.loop(1));
  EXPECT_EQ(&pool.next_loop(), &pool.loop(0));
}

TEST(EventLoopPool, IdleLoopsKeepRunningUntilJoin) {
  smc::event_loop_pool pool(1);
  for (int i = 0; i < 10; ++i) {
    std::latch ran(1);
    asio::post(pool.loop(0), [&] { ran.count_down(); });
    ran.wait();
  }
  pool.join();
  EXPECT_TRUE(pool.loop(0).stopped());
}

TEST(EventLoopPool, JoinWaitsForAllWork) {
  smc::event_loop_pool pool(2);
  std::atomic<int> left{1000};
  // A hop that changes loops needs work on the next one, or that one may end before.
  const auto a = std::make_shared<asio::executor_work_guard<smc::event_loop::executor_type>>(
      pool.loop(0).get_executor());
  const auto b = std::make_shared<asio::executor_work_guard<smc::event_loop::executor_type>>(
      pool.loop(1).get_executor());
  std::function<void()> guarded = [&] {
    if (--left > 0) {
      asio::post(pool.next_loop(), guarded);
    } else {
      a->reset();
      b->reset();
    }
  };
  asio::post(pool.next_loop(), guarded);
  pool.join();
  EXPECT_EQ(left, 0);
}

TEST(EventLoopPool, StopEndsJoin) {
  smc::event_loop_pool pool(2);
  const auto guard = asio::make_work_guard(pool.loop(1));
  pool.stop();
  pool.join();
  EXPECT_TRUE(pool.loop(0).stopped());
  EXPECT_TRUE(pool.loop(1).stopped());
}

TEST(EventLoopPool, AnExceptionStopsThePoolAndLeavesJoinOnce) {
  smc::event_loop_pool pool(2);
  const auto guard = asio::make_work_guard(pool.loop(1));  // would never end otherwise
  asio::post(pool.loop(0), [] { throw std::runtime_error("handler"); });
  EXPECT_THROW(pool.join(), std::runtime_error);
  EXPECT_NO_THROW(pool.join());
}

TEST(EventLoopPool, DestructionDestroysHandlersThatOwnOtherLoopsTimers) {
  const auto alive = std::make_shared<int>(0);
  {
    smc::event_loop_pool pool(2);
    for (std::size_t i = 0; i < 2; ++i) {
      auto mine = std::make_shared<asio::steady_timer>(pool.loop(i), std::chrono::hours(1));
      auto others = std::make_shared<asio::steady_timer>(pool.loop(1 - i), std::chrono::hours(1));
      mine->async_wait([mine, others, alive](std::error_code) {});
    }
    EXPECT_EQ(alive.use_count(), 3);
  }
  EXPECT_EQ(alive.use_count(), 1);
}

TEST(EventLoopPool, OfNoLoopsIsAnError) {
  EXPECT_THROW(smc::event_loop_pool(0), std::invalid_argument);
}

}  // namespace
