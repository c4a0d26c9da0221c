#pragma once
#include <atomic>
#include <cstdint>

namespace smc::detail {

/// Counted by one thread at a time, read by any: a load and a store, no read-modify-write.
class counter {
 public:
  void add(std::uint64_t n) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  std::uint64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

}  // namespace smc::detail
