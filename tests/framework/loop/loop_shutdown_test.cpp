// A loop that goes destroys the handlers that were not called, and calls none.
#include <gtest/gtest.h>

#include <asio.hpp>
#include <functional>
#include <memory>
#include <smc/event_loop.hpp>
#include <thread>
#include <utility>

namespace {

using smc::detail::ready_node;

smc::detail::loop_core& core_of(smc::event_loop& loop) { return *smc::detail::loop_of(loop); }

class at_destruction {
 public:
  explicit at_destruction(std::function<void()> f) : f_(std::move(f)) {}
  at_destruction(const at_destruction&) = delete;
  at_destruction& operator=(const at_destruction&) = delete;
  ~at_destruction() { f_(); }

 private:
  std::function<void()> f_;
};

TEST(LoopShutdown, DestroysQueuedHandlersOfBothSides) {
  const auto alive = std::make_shared<int>(0);
  bool called = false;
  {
    smc::event_loop loop;
    asio::post(loop, [&called, alive] { called = true; });
    std::thread([&] { asio::post(loop, [&called, alive] { called = true; }); }).join();
    auto timer = std::make_shared<asio::steady_timer>(loop, std::chrono::hours(1));
    timer->async_wait([&called, alive, timer](std::error_code) { called = true; });
    core_of(loop).run_exclusive([&] { asio::post(loop, [&called, alive] { called = true; }); });
    EXPECT_EQ(alive.use_count(), 5);
  }
  EXPECT_EQ(alive.use_count(), 1);
  EXPECT_FALSE(called);
}

TEST(LoopShutdown, DestroysSuspendedCoroutines) {
  const auto alive = std::make_shared<int>(0);
  {
    smc::event_loop loop;
    asio::co_spawn(
        loop,
        [](std::shared_ptr<int>) -> asio::awaitable<void> {
          asio::steady_timer timer(co_await asio::this_coro::executor, std::chrono::hours(1));
          co_await timer.async_wait(asio::use_awaitable);
        }(alive),
        asio::detached);
    loop.poll();
    EXPECT_EQ(alive.use_count(), 2);
  }
  EXPECT_EQ(alive.use_count(), 1);
}

TEST(LoopShutdown, DestroysWhatDestructorsPost) {
  int destroyed = 0;
  bool called = false;
  {
    smc::event_loop loop;
    auto second = std::make_shared<at_destruction>([&] { ++destroyed; });
    auto first = std::make_shared<at_destruction>([&, second] {
      ++destroyed;
      asio::post(loop, [&called, second] { called = true; });
      asio::dispatch(loop, [&called, second] { called = true; });
    });
    second.reset();
    asio::post(loop, [&called, first] { called = true; });
  }
  EXPECT_EQ(destroyed, 2);
  EXPECT_FALSE(called);
}

TEST(LoopShutdown, DestructorsMayUseExclusiveSections) {
  bool ran = false;
  {
    smc::event_loop loop;
    auto owner = std::make_shared<at_destruction>(
        [&] { core_of(loop).run_exclusive([&] { ran = core_of(loop).on_this_thread(); }); });
    asio::steady_timer timer(loop, std::chrono::hours(1));
    timer.async_wait([owner](std::error_code) {});
    asio::post(loop, [owner] {});
  }
  EXPECT_TRUE(ran);
}

TEST(LoopShutdown, NodesGetDestroyAndMayPushMore) {
  struct node : ready_node {
    smc::detail::loop_core* core = nullptr;
    node* then = nullptr;
    int destroyed = 0;
    node() {
      invoke = [](ready_node* n, action what) {
        auto* self = static_cast<node*>(n);
        EXPECT_EQ(what, action::destroy);
        ++self->destroyed;
        if (self->then) self->core->push_internal(self->then);
      };
    }
  } first, second;
  {
    smc::event_loop loop;
    first.core = &core_of(loop);
    first.then = &second;
    first.core->work_started();
    first.core->push(&first);
  }
  EXPECT_EQ(first.destroyed, 1);
  EXPECT_EQ(second.destroyed, 1);
}

TEST(LoopShutdown, AStoppedLoopWithAPostedWakeUpGoesCleanly) {
  for (int i = 0; i < 100; ++i) {
    auto loop = std::make_unique<smc::event_loop>();
    auto guard = std::make_unique<asio::executor_work_guard<smc::event_loop::executor_type>>(
        loop->get_executor());
    std::thread runner([&] { loop->run(); });
    asio::post(*loop, [] {});
    loop->stop();
    runner.join();
    guard.reset();
    loop.reset();
  }
}

}  // namespace
