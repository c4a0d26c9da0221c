#include "smcperf/units.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <stdexcept>
#include <utility>

namespace smcperf {
namespace {

[[noreturn]] void reject(std::string_view what, std::string_view text, std::string_view right) {
  throw std::invalid_argument(std::string(what) + " '" + std::string(text) + "': expected " +
                              std::string(right));
}

std::string three_digits(double value) {
  std::array<char, 32> text{};
  const int decimals = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return text.data();
}

}  // namespace

std::uint64_t parse_size(std::string_view text) {
  constexpr std::string_view right = "bytes with an optional K, M or G, such as 100, 64K or 1M";
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{}) reject("size", text, right);
  int shift = 0;
  if (rest != end) {
    if (rest + 1 != end) reject("size", text, right);
    switch (*rest) {
      case 'k':
      case 'K':
        shift = 10;
        break;
      case 'm':
      case 'M':
        shift = 20;
        break;
      case 'g':
      case 'G':
        shift = 30;
        break;
      default:
        reject("size", text, right);
    }
  }
  if (number > (std::numeric_limits<std::uint64_t>::max() >> shift)) reject("size", text, right);
  return number << shift;
}

std::chrono::nanoseconds parse_duration(std::string_view text) {
  constexpr std::string_view right = "a number with ns, us, ms, s or m, such as 50us, 200ms or 5s";
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error != std::errc{} || number < 0 || !std::isfinite(number)) reject("time", text, right);
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  constexpr std::array<std::pair<std::string_view, double>, 6> units{
      {{"", 1e9}, {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}}};
  for (const auto& [name, factor] : units) {
    if (unit != name) continue;
    const double nanoseconds = number * factor;
    if (nanoseconds > 9e18) break;
    return std::chrono::nanoseconds(std::llround(nanoseconds));
  }
  reject("time", text, right);
}

std::string format_size(std::uint64_t bytes) {
  constexpr std::array<std::pair<std::string_view, int>, 3> units{
      {{" GiB", 30}, {" MiB", 20}, {" KiB", 10}}};
  for (const auto& [name, shift] : units) {
    const std::uint64_t unit = std::uint64_t{1} << shift;
    if (bytes >= unit && bytes % unit == 0)
      return std::to_string(bytes >> shift) + std::string(name);
  }
  return std::to_string(bytes) + " B";
}

std::string format_rate(double per_second, std::string_view unit) {
  constexpr std::array<std::string_view, 4> prefixes{"", "k", "M", "G"};
  std::size_t prefix = 0;
  while (per_second >= 1000 && prefix + 1 < prefixes.size()) {
    per_second /= 1000;
    ++prefix;
  }
  return three_digits(per_second) + " " + std::string(prefixes[prefix]) + std::string(unit);
}

std::string format_time(double nanoseconds) {
  if (nanoseconds < 1e6) return three_digits(nanoseconds / 1e3) + " us";
  if (nanoseconds < 1e9) return three_digits(nanoseconds / 1e6) + " ms";
  return three_digits(nanoseconds / 1e9) + " s";
}

}  // namespace smcperf
