#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <smc/statistics.hpp>

#include "statistics/counter.hpp"

namespace smc::detail {

/// Sizes by power of two; counted by one thread at a time, read by any.
class request_histogram {
 public:
  static constexpr unsigned first_shift = 13;      // 8 KiB
  static constexpr std::size_t bucket_count = 17;  // … 512 MiB

  static constexpr std::size_t upper_bound(std::size_t bucket) noexcept {
    return std::size_t{1} << (first_shift + bucket);
  }

  static constexpr std::size_t bucket_of(std::size_t size) noexcept {
    const std::size_t below = size - (size != 0);
    const auto bucket = static_cast<std::size_t>(std::bit_width(below >> first_shift));
    return bucket < bucket_count ? bucket : bucket_count - 1;
  }

  void add(std::size_t size) noexcept { counts_[bucket_of(size)].add(1); }

  void add(const request_histogram& other) noexcept {
    for (std::size_t i = 0; i < bucket_count; ++i) counts_[i].add(other.counts_[i].value());
  }

  std::uint64_t count(std::size_t bucket) const noexcept { return counts_[bucket].value(); }

 private:
  std::array<counter, bucket_count> counts_;
};

}  // namespace smc::detail
