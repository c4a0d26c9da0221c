#include <cstddef>
#include <cstdint>
#include <span>

#include "fuzz/clc_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  smc::test::examine_clc(std::as_bytes(std::span(data, size)));
  return 0;
}
