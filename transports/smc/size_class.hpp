#pragma once
// Ring sizes: powers of two from 16 KiB to 512 MiB (SMC: 16384 << code).
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace smc::detail {

inline constexpr std::uint64_t min_ring_size = 16 * 1024;
inline constexpr std::uint64_t max_ring_size = 512 * 1024 * 1024;
inline constexpr std::size_t size_class_count = 16;

/// Whether the number can be a ring's size.
constexpr bool is_ring_size(std::uint64_t bytes) noexcept {
  return bytes >= min_ring_size && bytes <= max_ring_size && std::has_single_bit(bytes);
}

/// The smallest ring size that is not less than wanted; the largest there is for what is beyond.
constexpr std::uint64_t ring_size_for(std::uint64_t wanted) noexcept {
  return std::bit_ceil(std::clamp(wanted, min_ring_size, max_ring_size));
}

/// Number of the class of a ring size: 0 for 16 KiB, 15 for 512 MiB.
constexpr std::size_t size_class_of(std::uint64_t ring_size) noexcept {
  return static_cast<std::size_t>(std::countr_zero(ring_size) - std::countr_zero(min_ring_size));
}

static_assert(size_class_of(max_ring_size) + 1 == size_class_count);

}  // namespace smc::detail
