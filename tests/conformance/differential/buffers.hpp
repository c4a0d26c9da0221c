#pragma once
// A step's bytes, spread over buffers.
#include <cstddef>
#include <vector>

namespace smc::test {

template <typename Buffer, typename Memory>
std::vector<Buffer> spread(Memory* memory, std::size_t size, std::size_t pieces) {
  std::vector<Buffer> list;
  const std::size_t each = size / pieces;
  for (std::size_t i = 0; i + 1 < pieces; ++i) list.emplace_back(memory + i * each, each);
  list.emplace_back(memory + (pieces - 1) * each, size - (pieces - 1) * each);
  return list;
}

}  // namespace smc::test
