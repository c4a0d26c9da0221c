#pragma once
// Asks for cache lines before they are used. Between two CPUs that share no cache each line that a
// message needs costs a transfer; asked for together, the transfers overlap.
#include <cstddef>

namespace smc::smcd {

inline constexpr std::size_t cache_line = 64;

/// The line will be read.
inline void prefetch_to_read(const void* line) noexcept { __builtin_prefetch(line, 0, 3); }

/// The line will be written: the peer's copy goes.
inline void prefetch_to_write(const void* line) noexcept {
#if defined(__x86_64__)
  // The compiler's own would only read, as the oldest processors have no such instruction; on
  // those that know none this is no operation.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));
#else
  __builtin_prefetch(line, 1, 3);
#endif
}

}  // namespace smc::smcd
