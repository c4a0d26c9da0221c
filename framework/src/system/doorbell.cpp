#include "system/doorbell.hpp"

#include <fcntl.h>

namespace smc::system {

bool is_doorbell(const descriptor& file) noexcept {
  const auto status = status_of(file);
  if (status.error || (status.value.mode & S_IFMT) != 0) return false;
  const auto flags = flags_of(file);
  return !flags.error && (flags.value & O_NONBLOCK) != 0;
}

}  // namespace smc::system
