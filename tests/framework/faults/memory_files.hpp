#pragma once
// Memory files as an honest peer would never send them, and access to those that it gets.
#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "framework/faults/raw_client.hpp"
#include "support/mapped_file.hpp"
#include "system/memory.hpp"

namespace smc::test {

/// What is wrong with a memory file; `nothing`: it is a copy of the right one.
enum class flaw { nothing, unsealed, half_sealed, write_sealed, shorter, longer, sparse, changed };

inline constexpr flaw flaws_of_files[] = {flaw::unsealed, flaw::half_sealed, flaw::write_sealed,
                                          flaw::shorter,  flaw::longer,      flaw::sparse};

inline std::size_t size_of(int file) {
  return static_cast<std::size_t>(
      taken(system::status_of(taken(system::descriptor::adopt(::fcntl(file, F_DUPFD_CLOEXEC, 3)))))
          .size);
}

/// A copy of `original` with one flaw. `changed`: its first byte is another one.
inline system::descriptor flawed_copy(int original, flaw what) {
  const std::size_t size = size_of(original);
  auto made = taken(system::create_memory_file("smc-flawed"));
  std::size_t length = size;
  if (what == flaw::shorter) length -= 4096;
  if (what == flaw::longer) length += 4096;
  if (::ftruncate(made.get(), static_cast<off_t>(length)) != 0)
    throw std::runtime_error("ftruncate");
  if (what != flaw::sparse) {
    const mapped_file from(original, size);
    const mapped_file to(made.get(), length);
    std::memset(to.data(), 0, length);
    std::memcpy(to.data(), from.data(), std::min(size, length));
    if (what == flaw::changed) to.data()[0] ^= std::byte{1};
  }
  int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  if (what == flaw::unsealed) seals = 0;
  if (what == flaw::half_sealed) seals = F_SEAL_SHRINK;
  if (what == flaw::write_sealed) seals |= F_SEAL_WRITE;
  if (system::add_seals(made, seals)) throw std::runtime_error("seals");
  return made;
}

}  // namespace smc::test
