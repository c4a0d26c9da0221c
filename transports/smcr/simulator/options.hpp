#pragma once
// What a simulated network is made of.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <system_error>
#include <vector>

#include "smcr/attributes.hpp"
#include "smcr/simulator/event_queue.hpp"
#include "smcr/work_request.hpp"

namespace smc::rdma::simulator {

/// How a port sends. The defaults are those of 25 Gb/s Ethernet without a switch.
struct link_model {
  std::uint64_t bits_per_second = 25'000'000'000;
  moment latency{1000};
  moment jitter{0};                    ///< up to so much more, from the seed; order is kept
  moment cost_per_message{100};        ///< of the sending device
  std::uint32_t packet_overhead = 74;  ///< bytes besides the payload: RoCE v2 over Ethernet
  std::uint32_t turn = 64 * 1024;      ///< bytes of a write before the next queue pair has its turn
  double loss = 0;                     ///< probability, of each message and of each acknowledgement

  /// Time on the wire.
  moment duration(std::size_t bytes, std::uint32_t packets) const noexcept {
    const std::uint64_t bits = 8 * (bytes + std::uint64_t{packets} * packet_overhead);
    return moment(static_cast<moment::rep>(bits * 1'000'000'000 / bits_per_second)) +
           cost_per_message;
  }
};

struct port_options {
  mtu active_mtu = mtu::b1024;
  std::vector<gid_entry> gids;
  link_model link;
  int fabric = 0;  ///< ports of one fabric reach each other
};

/// A port of RoCE v2 with GID ::ffff:10.0.x.y and MAC 02:00:00:00:x:y, where x.y are `number`.
inline port_options roce_port(std::uint16_t number, mtu active = mtu::b1024) {
  gid_entry entry;
  const auto high = static_cast<std::byte>(number >> 8);
  const auto low = static_cast<std::byte>(number & 0xff);
  entry.gid[10] = entry.gid[11] = std::byte{0xff};
  entry.gid[12] = std::byte{10};
  entry.gid[14] = high;
  entry.gid[15] = low;
  entry.mac = {std::byte{2}, {}, {}, {}, high, low};
  entry.interface_index = number + 1U;
  port_options p;
  p.active_mtu = active;
  p.gids = {entry};
  return p;
}

struct adapter_options {
  /// `name` and limits; `ports` is taken from the list below.
  device_attributes attributes = generous();
  std::vector<port_options> ports;
  std::uint64_t max_locked = ~std::uint64_t{0};  ///< bytes that may be registered (RLIMIT_MEMLOCK)
  std::uint32_t max_inline = 256;                ///< bytes
  /// Completions enter one queue one after the other, each so much later than the last: what makes
  /// a single queue the bottleneck of many queue pairs.
  moment cost_per_completion{0};
  /// Devices differ in whether they remove them.
  bool keeps_completions_of_destroyed = true;
  /// When the device fails: whether flushed requests still complete.
  bool flushes_when_failed = true;

  static device_attributes generous() {
    device_attributes a;
    a.max_queue_pairs = 65536;
    a.max_requests = 16384;
    a.max_parts = 16;
    a.max_completion_queues = 65536;
    a.max_completions = 1U << 22;
    a.max_domains = 65536;
    a.max_regions = 1U << 20;
    a.max_region_size = std::uint64_t{1} << 40;
    a.max_shared_receive_queues = 65536;
    a.max_shared_receives = 16384;
    return a;
  }
};

/// Calls that a test can make fail.
enum class call : std::uint8_t {
  query_port,
  query_gids,
  allocate_domain,
  register_memory,
  create_queue_pair,
  create_completion_queue,
  create_shared_receive_queue,
  modify_queue_pair,
  post_send,
  post_receive
};

/// What is about to travel.
struct flight {
  const void* from = nullptr;  ///< the sending adapter
  std::uint32_t source_qpn = 0;
  std::uint32_t destination_qpn = 0;
  bool acknowledgement = false;  ///< positive or negative; the rest is then empty
  operation what = operation::send;
  std::uint64_t remote_address = 0;
  std::span<std::byte> bytes;  ///< may be changed
};

struct fate {
  bool lost = false;
  moment delay{0};       ///< what follows on the same queue pair can't overtake it
  bool doubled = false;  ///< arrives twice
};

using flight_hook = std::function<fate(const flight&)>;
/// An error makes the call fail with it.
using call_hook = std::function<std::error_code(call)>;

}  // namespace smc::rdma::simulator
