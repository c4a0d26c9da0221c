#pragma once
// What the process has cost so far.
#include <sys/resource.h>

#include <cstdint>

namespace smcperf {

struct cpu_time {
  std::uint64_t user_ns = 0;
  std::uint64_t system_ns = 0;
  std::uint64_t total_ns() const noexcept { return user_ns + system_ns; }
};

/// User and system time of all threads of this process since it began.
inline cpu_time process_cpu_time() noexcept {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto nanoseconds = [](const timeval& t) {
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u +
           static_cast<std::uint64_t>(t.tv_usec) * 1'000u;
  };
  return {nanoseconds(usage.ru_utime), nanoseconds(usage.ru_stime)};
}

inline cpu_time operator-(cpu_time later, cpu_time earlier) noexcept {
  return {later.user_ns - earlier.user_ns, later.system_ns - earlier.system_ns};
}

}  // namespace smcperf
