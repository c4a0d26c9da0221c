#pragma once
#include <atomic>
#include <cstddef>
#include <memory>

namespace smc::test {

/// Counts its allocations: those that live, and all. Any thread.
template <typename T>
struct counting_allocator {
  using value_type = T;
  std::atomic<int>* live;
  std::atomic<int>* all;

  counting_allocator(std::atomic<int>* l, std::atomic<int>* a) : live(l), all(a) {}
  template <typename U>
  counting_allocator(const counting_allocator<U>& other) : live(other.live), all(other.all) {}
  T* allocate(std::size_t n) {
    ++*live;
    ++*all;
    return std::allocator<T>().allocate(n);
  }
  void deallocate(T* memory, std::size_t n) {
    --*live;
    std::allocator<T>().deallocate(memory, n);
  }
  template <typename U>
  bool operator==(const counting_allocator<U>& other) const {
    return live == other.live;
  }
};

}  // namespace smc::test
