#pragma once
// Allocations that fail on purpose. The program that links failing_allocations.cpp has its operator
// new replaced; outside of a scope it is the usual one.
#include <cstddef>
#include <cstdint>

namespace smc::test {

/// While it lives, `many` allocations that this thread makes fail with std::bad_alloc, from the
/// `nth` (from 0) on. One at a time. Other threads, and what this one does in a pause, are not
/// counted: the test's own allocations must not decide which of the library's fails.
class allocation_failures {
 public:
  explicit allocation_failures(std::uint64_t nth, std::uint64_t many = 1) noexcept;
  ~allocation_failures();
  allocation_failures(const allocation_failures&) = delete;
  allocation_failures& operator=(const allocation_failures&) = delete;

  /// Whether any allocation failed.
  static bool triggered() noexcept;

  class pause {
   public:
    pause() noexcept;
    ~pause();
    pause(const pause&) = delete;
    pause& operator=(const pause&) = delete;

   private:
    const bool counted_;
  };
};

/// Blocks that the program has, of all threads.
std::int64_t blocks_in_use() noexcept;

}  // namespace smc::test
