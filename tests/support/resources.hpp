#pragma once
// What a process holds that a leak would show in: open descriptors, mappings of the library's
// memory, threads.
#include <cstddef>
#include <map>
#include <string>

namespace smc::test {

struct resources {
  std::map<std::string, std::size_t>
      descriptors;           ///< by what they are ("socket", "/dev/null", …), and how many
  std::size_t mappings = 0;  ///< of memfd:smc…
  std::size_t threads = 0;

  static resources of_this_process();
};

/// What `after` holds more than `before`, in words; empty: nothing.
std::string growth(const resources& before, const resources& after);

/// Lets the process keep up to `count` descriptors of a kind from their first use on, for caches
/// that live as long as the process. Define one per such cache as a static object of the test
/// program, with the reason beside.
class process_wide_descriptors {
 public:
  /// `kind` as in resources::descriptors, e.g. "anon_inode:[eventfd]".
  process_wide_descriptors(const std::string& kind, std::size_t count);
};

}  // namespace smc::test
