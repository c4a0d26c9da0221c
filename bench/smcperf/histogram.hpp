#pragma once
// A log-linear histogram of nanoseconds: every power of two is cut into 64 equal buckets.
#include <array>
#include <bit>
#include <cstdint>

namespace smcperf {

/// Requires: one thread at a time. Guarantees: values below 128 are exact, all others (the whole
/// 64-bit range) come back from quantile() with a relative error of at most 1/64; minimum and
/// maximum are exact.
class histogram {
 public:
  void record(std::uint64_t value) noexcept {
    ++buckets_[index(value)];
    ++count_;
    if (value > maximum_) maximum_ = value;
    if (value < minimum_) minimum_ = value;
  }

  void merge(const histogram& other) noexcept {
    for (std::size_t i = 0; i < buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
    count_ += other.count_;
    if (other.maximum_ > maximum_) maximum_ = other.maximum_;
    if (other.minimum_ < minimum_) minimum_ = other.minimum_;
  }

  std::uint64_t count() const noexcept { return count_; }
  std::uint64_t maximum() const noexcept { return maximum_; }
  std::uint64_t minimum() const noexcept { return count_ == 0 ? 0 : minimum_; }

  /// The smallest recorded value that at least a share `q` (0 … 1) of all values do not exceed; 0
  /// when empty.
  std::uint64_t quantile(double q) const noexcept {
    if (count_ == 0) return 0;
    const auto all = static_cast<double>(count_);
    auto rank = static_cast<std::uint64_t>(q * all);
    if (static_cast<double>(rank) < q * all) ++rank;  // round up
    if (rank == 0) rank = 1;
    if (rank >= count_) return maximum_;
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      seen += buckets_[i];
      if (seen >= rank) {
        const std::uint64_t value = middle(i);
        return value > maximum_ ? maximum_ : value < minimum_ ? minimum_ : value;
      }
    }
    return maximum_;
  }

 private:
  static constexpr int steps_shift = 6;
  static constexpr std::uint64_t steps = std::uint64_t{1} << steps_shift;

  // The lowest 64 values fill the first group, each later group of 64 buckets covers one power of
  // two.
  static constexpr std::size_t index(std::uint64_t value) noexcept {
    const auto width = static_cast<int>(std::bit_width(value));
    if (width <= steps_shift + 1) return static_cast<std::size_t>(value);
    const int shift = width - steps_shift - 1;
    return (static_cast<std::size_t>(shift) << steps_shift) +
           static_cast<std::size_t>(value >> shift);
  }
  static constexpr std::uint64_t middle(std::size_t i) noexcept {
    if (i < 2 * steps) return i;
    const auto shift = static_cast<int>(i >> steps_shift) - 1;
    const std::uint64_t low = (i - (static_cast<std::size_t>(shift) << steps_shift)) << shift;
    return low + ((std::uint64_t{1} << shift) >> 1);
  }

  // One group for each width of a value from 7 bits up, and the first one.
  std::array<std::uint64_t, steps*(64 - steps_shift + 1)> buckets_{};
  std::uint64_t count_ = 0;
  std::uint64_t maximum_ = 0;
  std::uint64_t minimum_ = ~std::uint64_t{0};
};

}  // namespace smcperf
