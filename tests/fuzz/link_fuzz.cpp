#include <cstddef>
#include <cstdint>
#include <span>

#include "fuzz/link_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  smc::test::examine_link(std::as_bytes(std::span(data, size)));
  return 0;
}
