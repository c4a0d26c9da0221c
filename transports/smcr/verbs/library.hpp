#pragma once
// libibverbs, loaded at run time. Only this folder includes its header.
//
// What the header defines inline over the device's own function table (posting, polling, arming)
// is called directly; everything that needs a symbol goes through this one.
#include <infiniband/verbs.h>

#include <string>

namespace smc::rdma::verbs {

struct library {
  decltype(&::ibv_get_device_list) get_device_list;
  decltype(&::ibv_free_device_list) free_device_list;
  decltype(&::ibv_get_device_name) get_device_name;
  decltype(&::ibv_get_device_guid) get_device_guid;
  decltype(&::ibv_open_device) open_device;
  decltype(&::ibv_close_device) close_device;
  decltype(&::ibv_query_device) query_device;
  decltype(&::ibv_query_port) query_port;
  decltype(&::_ibv_query_gid_table) query_gid_table;
  decltype(&::ibv_get_async_event) get_async_event;
  decltype(&::ibv_ack_async_event) ack_async_event;
  decltype(&::ibv_alloc_pd) alloc_pd;
  decltype(&::ibv_dealloc_pd) dealloc_pd;
  decltype(&::ibv_reg_mr) reg_mr;
  decltype(&::ibv_dereg_mr) dereg_mr;
  decltype(&::ibv_create_comp_channel) create_comp_channel;
  decltype(&::ibv_destroy_comp_channel) destroy_comp_channel;
  decltype(&::ibv_create_cq) create_cq;
  decltype(&::ibv_destroy_cq) destroy_cq;
  decltype(&::ibv_get_cq_event) get_cq_event;
  decltype(&::ibv_ack_cq_events) ack_cq_events;
  decltype(&::ibv_create_srq) create_srq;
  decltype(&::ibv_destroy_srq) destroy_srq;
  decltype(&::ibv_create_qp) create_qp;
  decltype(&::ibv_modify_qp) modify_qp;
  decltype(&::ibv_destroy_qp) destroy_qp;
};

/// Loaded once, and never unloaded: its providers may have threads. nullptr where it can't be;
/// `error` then says why.
const library* load(std::string& error);

}  // namespace smc::rdma::verbs
