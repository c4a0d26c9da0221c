#pragma once
// Sizes and times as people type and read them: 64K, 1M; 50us, 200ms, 5s.
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace smcperf {

/// Reads a size in bytes: digits and an optional K, M or G (powers of 1024, any case), "64K" is
/// 65536. Throws std::invalid_argument naming the text and what would be right; so do overflows.
std::uint64_t parse_size(std::string_view text);

/// Reads a span of time: a number, maybe with a fraction, and ns, us, ms, s or m ("0.2s"); a bare
/// number is seconds. Throws std::invalid_argument naming the text and what would be right.
std::chrono::nanoseconds parse_duration(std::string_view text);

/// "64 KiB", "1 MiB", "100 B": exact multiples get the larger unit, everything else stays in bytes.
std::string format_size(std::uint64_t bytes);

/// "12.3 GB/s": decimal prefixes, three significant digits.
std::string format_rate(double per_second, std::string_view unit);

/// "0.38 us", "26.5 us", "1.25 ms": three significant digits.
std::string format_time(double nanoseconds);

}  // namespace smcperf
