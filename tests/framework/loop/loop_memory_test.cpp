// What runs in steady state allocates nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <asio.hpp>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <new>
#include <smc/event_loop.hpp>

namespace {

thread_local long allocations = 0;

void* counted(std::size_t size, std::size_t alignment) noexcept {
  ++allocations;
  void* p = nullptr;
  return ::posix_memalign(&p, std::max(alignment, sizeof(void*)), size) == 0 ? p : nullptr;
}

}  // namespace

// What Asio calls for its own memory.
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return counted(size, alignment);
}

void* operator new(std::size_t size, std::align_val_t alignment) {
  if (void* const p = counted(size, static_cast<std::size_t>(alignment))) return p;
  throw std::bad_alloc();
}
void* operator new(std::size_t size) {
  return ::operator new (size, std::align_val_t{alignof(std::max_align_t)});
}
// Not inlined: g++ would see new paired with free and warn.
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
  std::free(p);
}

namespace {

using smc::detail::ready_node;

smc::detail::loop_core& core_of(smc::event_loop& loop) { return *smc::detail::loop_of(loop); }

TEST(LoopMemory, AnAwaitedPostAllocatesNothing) {
  smc::event_loop loop;
  long used = -1;
  const long at_first = allocations;
  asio::co_spawn(
      loop,
      [&]() -> asio::awaitable<void> {
        for (int i = 0; i < 10; ++i) co_await asio::post(asio::use_awaitable);
        const long before = allocations;
        for (int i = 0; i < 1000; ++i) co_await asio::post(asio::use_awaitable);
        used = allocations - before;
      },
      [](std::exception_ptr e) {
        if (e) std::rethrow_exception(e);
      });
  loop.run();
  EXPECT_EQ(used, 0);
  EXPECT_GT(allocations, at_first);  // they are counted at all
}

TEST(LoopMemory, AChainOfPostsAllocatesNothingAlsoAcrossPolls) {
  smc::event_loop loop;
  const auto guard = asio::make_work_guard(loop);
  for (int i = 0; i < 10; ++i) {
    asio::post(loop, [&] { asio::post(loop, [] {}); });
    loop.poll();
  }
  const long before = allocations;
  for (int i = 0; i < 100; ++i) asio::post(loop, [&] { asio::post(loop, [] {}); });
  const long outside = allocations - before;  // not on the loop's thread: nothing to recycle
  loop.poll();
  EXPECT_EQ(outside, 100);
  EXPECT_LE(allocations - before - outside, 100);
  asio::post(loop, [&] {
    const long inside = allocations;
    asio::post(loop, [] {});
    EXPECT_EQ(allocations, inside);
  });
  loop.poll();
}

TEST(LoopMemory, NodesFromTheLoopAndFromOutsideAllocateNothing) {
  struct node : ready_node {
    smc::detail::loop_core* core;
    int left = 1000;
  } n;
  smc::event_loop loop;
  n.core = &core_of(loop);
  n.invoke = [](ready_node* base, ready_node::action) {
    auto* const self = static_cast<node*>(base);
    if (--self->left == 0) return;
    self->core->work_started();
    self->core->push(self);
  };
  const long before = allocations;
  n.core->work_started();
  n.core->push(&n);
  EXPECT_EQ(loop.run(), 1000u);
  EXPECT_EQ(allocations, before);
}

}  // namespace
