#pragma once
#include <cstddef>
#include <system_error>

namespace smc::detail {

/// An error, or how many bytes a transfer moved.
struct transfer_result {
  std::error_code error;
  std::size_t bytes = 0;
};

}  // namespace smc::detail
