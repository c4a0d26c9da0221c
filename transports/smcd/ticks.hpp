#pragma once
// A clock that costs a few nanoseconds and has no unit that is known here; for durations of
// hundreds of its ticks, whose exact length does not matter.
#include <cstdint>

namespace smc::smcd {

struct processor_ticks {
#if defined(__x86_64__)
  static constexpr bool available = true;
  static std::uint64_t now() noexcept { return __builtin_ia32_rdtsc(); }  // 2 to 4 each nanosecond
#else
  static constexpr bool available = false;
  static std::uint64_t now() noexcept { return 0; }
#endif
};

}  // namespace smc::smcd
