#include <gtest/gtest.h>

#include <asio.hpp>
#include <memory>
#include <smc/event_loop.hpp>
#include <string>
#include <thread>

namespace {

namespace execution = asio::execution;
using executor_type = smc::event_loop::executor_type;

static_assert(sizeof(executor_type) == sizeof(void*));
static_assert(execution::is_executor<executor_type>::value);
static_assert(std::is_convertible_v<executor_type, asio::any_io_executor>);
static_assert(std::is_nothrow_copy_constructible_v<executor_type>);
static_assert(asio::can_require<executor_type, execution::blocking_t::never_t>::value);
static_assert(asio::can_require<executor_type, execution::blocking_t::possibly_t>::value);
static_assert(!asio::can_require<executor_type, execution::blocking_t::always_t>::value);
static_assert(asio::can_require<executor_type, execution::outstanding_work_t::tracked_t>::value);
static_assert(asio::can_require<executor_type, execution::relationship_t::continuation_t>::value);

TEST(LoopExecutor, AnswersItsProperties) {
  smc::event_loop loop;
  const executor_type ex = loop.get_executor();
  EXPECT_EQ(&asio::query(ex, execution::context), &static_cast<asio::io_context&>(loop));
  EXPECT_EQ(asio::query(ex, execution::mapping), execution::mapping.thread);
  EXPECT_EQ(asio::query(ex, execution::blocking), execution::blocking.possibly);
  EXPECT_EQ(asio::query(ex, execution::relationship), execution::relationship.fork);
  EXPECT_EQ(asio::query(ex, execution::outstanding_work), execution::outstanding_work.untracked);

  const auto never = asio::require(ex, execution::blocking.never);
  EXPECT_EQ(asio::query(never, execution::blocking), execution::blocking.never);
  EXPECT_TRUE(asio::require(never, execution::blocking.possibly) == ex);
  const auto continuation = asio::require(never, execution::relationship.continuation);
  EXPECT_EQ(asio::query(continuation, execution::relationship),
            execution::relationship.continuation);
  EXPECT_EQ(asio::query(continuation, execution::blocking), execution::blocking.never);
  EXPECT_TRUE(asio::require(asio::require(continuation, execution::relationship.fork),
                            execution::blocking.possibly) == ex);
  const auto tracked = asio::require(ex, execution::outstanding_work.tracked);
  EXPECT_EQ(asio::query(tracked, execution::outstanding_work), execution::outstanding_work.tracked);
  EXPECT_TRUE(asio::require(tracked, execution::outstanding_work.untracked) == ex);
}

TEST(LoopExecutor, ComparesByLoop) {
  smc::event_loop a, b;
  EXPECT_TRUE(a.get_executor() == a.get_executor());
  EXPECT_TRUE(a.get_executor() != b.get_executor());
  EXPECT_TRUE(asio::any_io_executor(a.get_executor()) == asio::any_io_executor(a.get_executor()));
  EXPECT_TRUE(asio::any_io_executor(a.get_executor()) != asio::any_io_executor(b.get_executor()));
}

TEST(LoopExecutor, EachTrackedCopyHoldsTheLoop) {
  smc::event_loop loop;
  using tracked_type =
      decltype(asio::require(loop.get_executor(), execution::outstanding_work.tracked));
  auto first = std::make_unique<tracked_type>(
      asio::require(loop.get_executor(), execution::outstanding_work.tracked));
  auto copy = std::make_unique<tracked_type>(*first);
  auto moved = std::make_unique<tracked_type>(std::move(*first));
  first.reset();
  loop.poll();
  EXPECT_FALSE(loop.stopped());
  *copy = *moved;
  *moved = std::move(*copy);
  copy.reset();
  loop.poll();
  EXPECT_FALSE(loop.stopped());
  moved.reset();
  EXPECT_TRUE(loop.stopped());  // as io_context: without its last work it is stopped at once
}

TEST(LoopExecutor, TracksWorkThroughAnyIoExecutor) {
  smc::event_loop loop;
  {
    const asio::any_io_executor tracked = asio::prefer(asio::any_io_executor(loop.get_executor()),
                                                       execution::outstanding_work.tracked);
    const asio::any_io_executor copy = tracked;
    EXPECT_EQ(loop.poll(), 0u);
    EXPECT_FALSE(loop.stopped());
  }
  EXPECT_EQ(loop.run(), 0u);
  EXPECT_TRUE(loop.stopped());
}

TEST(LoopExecutor, KnowsWhetherItsLoopRunsHere) {
  smc::event_loop loop;
  const executor_type ex = loop.get_executor();
  EXPECT_FALSE(ex.running_in_this_thread());
  bool inside = false, elsewhere = true, exclusive = true;
  asio::post(loop, [&] {
    inside = ex.running_in_this_thread();
    std::thread([&] { elsewhere = ex.running_in_this_thread(); }).join();
  });
  loop.run();
  EXPECT_TRUE(inside);
  EXPECT_FALSE(elsewhere);
  smc::detail::loop_of(loop)->run_exclusive([&] { exclusive = ex.running_in_this_thread(); });
  EXPECT_FALSE(exclusive);
}

TEST(LoopExecutor, DispatchInsideAnExclusiveSectionIsQueued) {
  smc::event_loop loop;
  bool ran = false;
  smc::detail::loop_of(loop)->run_exclusive([&] {
    asio::dispatch(loop, [&] { ran = true; });
    EXPECT_FALSE(ran);
  });
  EXPECT_EQ(loop.run(), 1u);
  EXPECT_TRUE(ran);
}

TEST(LoopExecutor, ANestedLoopKeepsTheOuterOnesThread) {
  smc::event_loop outer, inner;
  bool in_place = false;
  asio::post(outer, [&] {
    asio::post(inner, [&] {
      asio::dispatch(outer, [&] { in_place = true; });
      EXPECT_TRUE(in_place);
    });
    inner.run();
  });
  outer.run();
  EXPECT_TRUE(in_place);
}

TEST(LoopExecutor, StrandsOnItKeepTheirOrder) {
  smc::event_loop loop;
  auto strand = asio::make_strand(loop);
  auto erased = asio::make_strand(asio::any_io_executor(loop.get_executor()));
  std::string order;
  for (char c : {'a', 'b', 'c'}) asio::post(strand, [&, c] { order += c; });
  loop.run();
  loop.restart();
  for (char c : {'d', 'e'}) asio::post(erased, [&, c] { order += c; });
  loop.run();
  EXPECT_EQ(order, "abcde");
}

TEST(LoopExecutor, HandlersBoundToAThreadPoolRunThereAndTheLoopWaitsForThem) {
  smc::event_loop loop;
  asio::thread_pool pool(1);
  std::thread::id where;
  bool back = false;
  asio::steady_timer timer(loop, std::chrono::microseconds(1));
  timer.async_wait(asio::bind_executor(pool.get_executor(),
                                       [&, work = asio::make_work_guard(loop)](std::error_code) {
                                         where = std::this_thread::get_id();
                                         asio::post(loop, [&] { back = true; });
                                       }));
  loop.run();
  EXPECT_TRUE(back);
  EXPECT_NE(where, std::this_thread::get_id());
  pool.join();
}

// Counts what is allocated and not yet freed.
template <typename T>
struct counting_allocator {
  using value_type = T;
  explicit counting_allocator(int* count) noexcept : live(count) {}
  template <typename U>
  counting_allocator(const counting_allocator<U>& other) noexcept : live(other.live) {}
  T* allocate(std::size_t n) {
    ++*live;
    return std::allocator<T>().allocate(n);
  }
  void deallocate(T* p, std::size_t n) {
    --*live;
    std::allocator<T>().deallocate(p, n);
  }
  friend bool operator==(const counting_allocator& a, const counting_allocator& b) noexcept {
    return a.live == b.live;
  }
  int* live;
};

TEST(LoopExecutor, AHandlersMemoryComesFromItsAllocatorAndIsFreeWhenItRuns) {
  smc::event_loop loop;
  int live = 0, inside = -1;
  asio::post(loop, asio::bind_allocator(counting_allocator<char>(&live), [&] { inside = live; }));
  EXPECT_EQ(live, 1);
  EXPECT_EQ(loop.run(), 1u);
  EXPECT_EQ(inside, 0);
  EXPECT_EQ(live, 0);
}

TEST(LoopExecutor, TakesMoveOnlyFunctions) {
  smc::event_loop loop;
  int seen = 0;
  asio::post(loop, [&, p = std::make_unique<int>(7)] { seen = *p; });
  execution::execute(loop.get_executor(), [&, p = std::make_unique<int>(8)] { seen += *p; });
  EXPECT_EQ(loop.run(), 2u);
  EXPECT_EQ(seen, 15);
}

TEST(LoopExecutor, AFunctionWhoseCopyThrowsLeavesNothingBehind) {
  struct throwing {
    throwing() = default;
    throwing(const throwing&) { throw 7; }
    void operator()() const {}
  };
  smc::event_loop loop;
  const throwing f;
  EXPECT_THROW(execution::execute(loop.get_executor(), f), int);
  EXPECT_EQ(loop.run(), 0u);
}

}  // namespace
