#pragma once
// Few descriptors, or none, for a while.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "support/resources.hpp"

namespace smc::test {

inline std::size_t open_descriptors() {
  std::size_t count = 0;
  for (const auto& [what, number] : resources::of_this_process().descriptors) count += number;
  return count;
}

/// The process's soft limit, changed while this lives.
class descriptor_limit {
 public:
  explicit descriptor_limit(rlim_t wanted) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit changed{std::min(wanted, before_.rlim_max), before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &changed);
  }
  ~descriptor_limit() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  descriptor_limit(const descriptor_limit&) = delete;
  descriptor_limit& operator=(const descriptor_limit&) = delete;

 private:
  rlimit before_{};
};

/// While it lives this process can't open anything.
class no_descriptors {
 public:
  no_descriptors() : limit_(open_descriptors()) {
    // Numbers below the limit may be free.
    for (int number; (number = ::dup(0)) >= 0;) taken_.push_back(number);
  }
  ~no_descriptors() {
    for (const int number : taken_) ::close(number);
  }
  no_descriptors(const no_descriptors&) = delete;
  no_descriptors& operator=(const no_descriptors&) = delete;

 private:
  const descriptor_limit limit_;
  std::vector<int> taken_;
};

}  // namespace smc::test
