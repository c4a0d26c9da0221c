#include "failing_allocations.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace smc::test {

namespace {

struct counter {
  bool counts = false;
  bool triggered = false;
  std::uint64_t before = 0;
  std::uint64_t failing = 0;
};
constinit thread_local counter mine;
constinit std::atomic<std::int64_t> blocks{0};

bool fails() noexcept {
  if (!mine.counts) return false;
  if (mine.before != 0) {
    --mine.before;
    return false;
  }
  if (mine.failing == 0) return false;
  --mine.failing;
  mine.triggered = true;
  return true;
}

void* allocate(std::size_t size, std::size_t alignment) noexcept {
  if (fails()) return nullptr;
  void* memory = nullptr;
  if (alignment <= alignof(std::max_align_t)) {
    memory = std::malloc(size == 0 ? 1 : size);
  } else {
    memory = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  }
  if (memory) blocks.fetch_add(1, std::memory_order_relaxed);
  return memory;
}

void* allocate_or_throw(std::size_t size, std::size_t alignment) {
  if (void* memory = allocate(size, alignment)) return memory;
  throw std::bad_alloc();
}

void give_back(void* memory) noexcept {
  if (memory) blocks.fetch_sub(1, std::memory_order_relaxed);
  std::free(memory);
}

}  // namespace

allocation_failures::allocation_failures(std::uint64_t nth, std::uint64_t many) noexcept {
  mine = {true, false, nth, many};
}
allocation_failures::~allocation_failures() { mine.counts = false; }
bool allocation_failures::triggered() noexcept { return mine.triggered; }

allocation_failures::pause::pause() noexcept : counted_(mine.counts) { mine.counts = false; }
allocation_failures::pause::~pause() { mine.counts = counted_; }

std::int64_t blocks_in_use() noexcept { return blocks.load(std::memory_order_relaxed); }

}  // namespace smc::test

using smc::test::allocate;
using smc::test::allocate_or_throw;
using smc::test::give_back;

namespace {
constexpr std::size_t usual = alignof(std::max_align_t);
std::size_t of(std::align_val_t alignment) { return static_cast<std::size_t>(alignment); }
}  // namespace

void* operator new(std::size_t n) { return allocate_or_throw(n, usual); }
void* operator new[](std::size_t n) { return allocate_or_throw(n, usual); }
void* operator new(std::size_t n, std::align_val_t a) { return allocate_or_throw(n, of(a)); }
void* operator new[](std::size_t n, std::align_val_t a) { return allocate_or_throw(n, of(a)); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return allocate(n, usual); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return allocate(n, usual); }
void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return allocate(n, of(a));
}
void* operator new[](std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return allocate(n, of(a));
}
void operator delete(void* p) noexcept { give_back(p); }
void operator delete[](void* p) noexcept { give_back(p); }
void operator delete(void* p, std::size_t) noexcept { give_back(p); }
void operator delete[](void* p, std::size_t) noexcept { give_back(p); }
void operator delete(void* p, std::align_val_t) noexcept { give_back(p); }
void operator delete[](void* p, std::align_val_t) noexcept { give_back(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { give_back(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { give_back(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { give_back(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { give_back(p); }
void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept { give_back(p); }
void operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept { give_back(p); }
