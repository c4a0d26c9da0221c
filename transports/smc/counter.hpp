#pragma once
// Counting on the data path without atomic read-modify-write.
#include <atomic>
#include <cstdint>

namespace smc::detail {

/// One thread at a time adds, any thread reads.
class single_writer_counter {
 public:
  void add(std::uint64_t n) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  std::uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

}  // namespace smc::detail
