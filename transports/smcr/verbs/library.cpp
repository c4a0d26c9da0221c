#ifdef SMC_WITH_VERBS

#include "smcr/verbs/library.hpp"

#include <dlfcn.h>

#include <optional>

namespace smc::rdma::verbs {
namespace {

struct loaded {
  std::optional<library> functions;
  std::string error;
};

std::string last_dl_error() {
  const char* text = ::dlerror();
  return text == nullptr ? "unknown error of the dynamic linker" : text;
}

template <typename Function>
void find(void* handle, const char* name, Function& target, std::string& error) {
  target = reinterpret_cast<Function>(::dlsym(handle, name));
  if (target == nullptr && error.empty()) error = last_dl_error();
}

loaded load_now() {
  loaded result;
  void* const handle = ::dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    result.error = last_dl_error();
    return result;
  }
  library f{};
  std::string& error = result.error;
  find(handle, "ibv_get_device_list", f.get_device_list, error);
  find(handle, "ibv_free_device_list", f.free_device_list, error);
  find(handle, "ibv_get_device_name", f.get_device_name, error);
  find(handle, "ibv_get_device_guid", f.get_device_guid, error);
  find(handle, "ibv_open_device", f.open_device, error);
  find(handle, "ibv_close_device", f.close_device, error);
  find(handle, "ibv_query_device", f.query_device, error);
  find(handle, "ibv_query_port", f.query_port, error);
  find(handle, "_ibv_query_gid_table", f.query_gid_table, error);
  find(handle, "ibv_get_async_event", f.get_async_event, error);
  find(handle, "ibv_ack_async_event", f.ack_async_event, error);
  find(handle, "ibv_alloc_pd", f.alloc_pd, error);
  find(handle, "ibv_dealloc_pd", f.dealloc_pd, error);
  find(handle, "ibv_reg_mr", f.reg_mr, error);
  find(handle, "ibv_dereg_mr", f.dereg_mr, error);
  find(handle, "ibv_create_comp_channel", f.create_comp_channel, error);
  find(handle, "ibv_destroy_comp_channel", f.destroy_comp_channel, error);
  find(handle, "ibv_create_cq", f.create_cq, error);
  find(handle, "ibv_destroy_cq", f.destroy_cq, error);
  find(handle, "ibv_get_cq_event", f.get_cq_event, error);
  find(handle, "ibv_ack_cq_events", f.ack_cq_events, error);
  find(handle, "ibv_create_srq", f.create_srq, error);
  find(handle, "ibv_destroy_srq", f.destroy_srq, error);
  find(handle, "ibv_create_qp", f.create_qp, error);
  find(handle, "ibv_modify_qp", f.modify_qp, error);
  find(handle, "ibv_destroy_qp", f.destroy_qp, error);
  if (error.empty()) {
    result.functions = f;
  } else {
    ::dlclose(handle);
  }
  return result;
}

}  // namespace

const library* load(std::string& error) {
  static const loaded once = load_now();
  error = once.error;
  return once.functions ? &*once.functions : nullptr;
}

}  // namespace smc::rdma::verbs

#endif
