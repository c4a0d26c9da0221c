#pragma once
// The RDMA devices of this machine.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "smcr/device.hpp"

namespace smc::rdma::verbs {

/// Why there is no device.
enum class absence : std::uint8_t {
  none,          ///< there is one
  not_built,     ///< the library was built without libibverbs' headers
  no_library,    ///< libibverbs is not installed, or too old
  no_device,     ///< none exists, or not for this process
  not_permitted  ///< there are some, but none could be opened
};

/// What is missing, and what helps.
std::string_view to_string(absence a) noexcept;

struct opened_devices {
  std::vector<std::unique_ptr<device>> devices;
  absence why_none = absence::none;
  std::string detail;  ///< what the system said, maybe empty
};

/// Loads libibverbs at the first call and opens all devices. Without it, or without devices, says
/// why; never fails otherwise.
///
/// libibverbs is loaded rather than linked: one build serves machines with and without RDMA, a
/// program that never asks does not load it, and a static library adds nothing to its user's link.
opened_devices open_devices();

}  // namespace smc::rdma::verbs
