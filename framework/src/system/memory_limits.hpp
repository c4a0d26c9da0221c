#pragma once
// How much memory this process may have: the machine's, and the limits of its memory control
// groups.
//
// In a control group, pages reserved beyond the limit are no error but SIGKILL, so the question is
// asked first.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

namespace smc::system {

inline constexpr std::uint64_t no_memory_limit = std::numeric_limits<std::uint64_t>::max();

struct memory_limits {
  std::uint64_t machine = no_memory_limit;      ///< bytes of RAM
  std::uint64_t group_limit = no_memory_limit;  ///< the smallest limit of the process's groups
  std::uint64_t group_free = no_memory_limit;   ///< the smallest rest, page cache counted as free

  std::uint64_t total() const noexcept { return machine < group_limit ? machine : group_limit; }
};

/// Reads them. `root` is put in front of every path (for tests). What can't be read is no limit.
/// Knows version 1 and version 2 of control groups, both with all groups above the process's own.
memory_limits read_memory_limits(const std::string& root = {});

/// How many mappings a process may have (vm.max_map_count); the kernel's default where it can't be
/// read.
std::size_t read_mapping_limit(const std::string& root = {});

}  // namespace smc::system
