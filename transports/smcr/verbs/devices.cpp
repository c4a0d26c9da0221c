#include "smcr/verbs/devices.hpp"

#ifdef SMC_WITH_VERBS
#include "smcr/verbs/device.hpp"
#endif

namespace smc::rdma::verbs {

std::string_view to_string(absence a) noexcept {
  switch (a) {
    case absence::none:
      return "there is an RDMA device";
    case absence::not_built:
      return "built without libibverbs; install its headers (Debian: libibverbs-dev) and build "
             "again";
    case absence::no_library:
      return "libibverbs can't be loaded; install it (Debian: libibverbs1 ibverbs-providers)";
    case absence::no_device:
      return "no RDMA device; check with ibv_devinfo, or add a software one (rdma link add)";
    case absence::not_permitted:
      return "no RDMA device could be opened; check the permissions of /dev/infiniband";
  }
  return "unknown";
}

#ifndef SMC_WITH_VERBS

opened_devices open_devices() { return {{}, absence::not_built, {}}; }

#else

opened_devices open_devices() {
  opened_devices result;
  const library* const lib = load(result.detail);
  if (lib == nullptr) {
    result.why_none = absence::no_library;
    return result;
  }
  int count = 0;
  ibv_device** const list = lib->get_device_list(&count);
  if (list == nullptr || count == 0) {
    if (list == nullptr) result.detail = system::last_error().message();
    if (list != nullptr) lib->free_device_list(list);
    result.why_none = absence::no_device;
    return result;
  }
  std::error_code error;
  for (int i = 0; i < count; ++i) {
    ibv_context* const context = lib->open_device(list[i]);
    if (context == nullptr) {
      error = system::last_error();
      continue;
    }
    auto one = std::make_unique<opened>(*lib, context);
    if (const auto refused = one->prepare()) {
      error = refused;
      continue;
    }
    result.devices.push_back(std::move(one));
  }
  lib->free_device_list(list);
  if (result.devices.empty()) {
    result.why_none = absence::not_permitted;
    result.detail = error.message();
  }
  return result;
}

#endif

}  // namespace smc::rdma::verbs
