#pragma once
// What a device and its ports are and can do.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "smcr/address.hpp"

namespace smc::rdma {

struct device_attributes {
  std::string name;
  std::uint64_t node_guid = 0;
  std::uint8_t ports = 1;  ///< numbered from 1

  std::uint32_t max_queue_pairs = 0;
  std::uint32_t max_requests = 0;  ///< per send or receive queue
  std::uint32_t max_parts = 0;     ///< per request
  std::uint32_t max_completion_queues = 0;
  std::uint32_t max_completions = 0;  ///< per completion queue
  std::uint32_t max_domains = 0;
  std::uint32_t max_regions = 0;
  std::uint64_t max_region_size = 0;            ///< bytes
  std::uint32_t max_shared_receive_queues = 0;  ///< 0: there is no such thing
  std::uint32_t max_shared_receives = 0;        ///< per shared receive queue
};

/// Values of verbs.
enum class port_state : std::uint8_t { none = 0, down, initializing, armed, active, deferred };

struct port_attributes {
  port_state state = port_state::down;
  mtu active_mtu = mtu::b1024;
  mtu max_mtu = mtu::b4096;
  bool ethernet = true;  ///< RoCE; otherwise InfiniBand
};

enum class gid_type : std::uint8_t { infiniband = 0, roce_v1, roce_v2 };

/// A line of a port's GID table.
struct gid_entry {
  rdma::gid gid{};
  std::uint32_t index = 0;  ///< in the table, which may have gaps
  gid_type type = gid_type::roce_v2;
  std::uint32_t interface_index = 0;  ///< of the network interface behind it; 0: none
  mac_address mac{};                  ///< of that interface

  bool operator==(const gid_entry&) const = default;
};

enum class event_kind : std::uint8_t {
  completion_queue_error,  ///< overrun: the queue is of no use any more, nor what feeds it
  queue_pair_fatal,
  queue_pair_request_error,
  queue_pair_access_error,
  communication_established,
  last_request_reached,  ///< a queue pair in error took its last request off the shared queue
  shared_receive_queue_error,
  port_active,
  port_error,
  gid_change,
  device_fatal,  ///< nothing of the device works any more
  other
};

/// Something that happened aside from all requests. What it is about is named by number, for the
/// object may be gone.
struct asynchronous_event {
  event_kind kind = event_kind::other;
  std::uint8_t port = 0;         ///< events of a port
  std::uint32_t qpn = 0;         ///< events of a queue pair
  const void* object = nullptr;  ///< the completion or shared receive queue; to be compared only

  bool operator==(const asynchronous_event&) const = default;
};

}  // namespace smc::rdma
