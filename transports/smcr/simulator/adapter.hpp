#pragma once
// A simulated device, and the handles by which a test makes it misbehave.
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "smcr/device.hpp"
#include "smcr/simulator/completion_queue.hpp"
#include "smcr/simulator/memory.hpp"
#include "smcr/simulator/options.hpp"
#include "smcr/simulator/port.hpp"

namespace smc::rdma::simulator {

class domain;
class network;
class pair;
class shared_receives;

/// Objects of a device.
struct object_counts {
  std::size_t domains = 0;
  std::size_t regions = 0;
  std::size_t completion_queues = 0;
  std::size_t queue_pairs = 0;
  std::size_t shared_receive_queues = 0;

  bool operator==(const object_counts&) const = default;
};

struct traffic_counts {
  std::uint64_t messages = 0;  ///< sent, a part of a long write counting as one
  std::uint64_t bytes = 0;     ///< of their payload
  std::uint64_t requests = 0;  ///< posted to send
  std::uint64_t retransmissions = 0;
  std::uint64_t receivers_not_ready = 0;  ///< messages that found no receive posted here
};

class adapter final : public device {
 public:
  adapter(network& of, adapter_options options);
  adapter(const adapter&) = delete;
  ~adapter() override;

  const device_attributes& attributes() const noexcept override { return options_.attributes; }
  system::result<port_attributes> port(std::uint8_t number) const noexcept override;
  system::result<std::vector<gid_entry>> gids(std::uint8_t port_number) const noexcept override;
  created<protection_domain> allocate_domain() noexcept override;
  created<completion_queue> create_completion_queue(std::uint32_t depth) noexcept override;
  std::size_t poll_events(std::span<asynchronous_event> into) noexcept override;
  int event_descriptor() noexcept override { return event_bell_.descriptor(); }

  // Faults.

  /// Called at the beginning of each call that is listed in `call`.
  call_hook on_call;
  /// With an event. While a port is down nothing passes it.
  void set_port(std::uint8_t number, bool up);
  /// Without an event: as if a cable or a switch lost everything.
  void set_passing(std::uint8_t number, bool passing);
  /// With an event.
  void add_gid(std::uint8_t port_number, const gid_entry& entry);
  void remove_gid(std::uint8_t port_number, std::uint32_t index);
  /// The device is removed, or its firmware died.
  void fail();
  /// For later changes of a link's speed, loss and the like.
  link_model& link(std::uint8_t port_number);

  /// What a peer that keeps to no rules could put on the wire of the connection: it arrives now, in
  /// sequence. What the queue pair would have answered, with all that follows from it here.
  completion_status inject_send(std::uint32_t qpn, std::span<const std::byte> bytes,
                                bool solicited = true);
  completion_status inject_write(std::uint32_t qpn, std::uint64_t address, std::uint32_t rkey,
                                 std::span<const std::byte> bytes);

  // What was seen.

  object_counts live() const noexcept;
  const traffic_counts& counted() const noexcept { return counted_; }
  /// Objects that were destroyed before others that depend on them; a correct program has none.
  const std::vector<std::string>& misuses() const noexcept { return misuses_; }

  // For the parts of the simulation.

  network& net() const noexcept { return network_; }
  const adapter_options& options() const noexcept { return options_; }
  bool failed() const noexcept { return failed_; }
  std::error_code allow(call c) noexcept;
  memory_table& memory() noexcept { return memory_; }
  traffic_counts& counted() noexcept { return counted_; }
  const std::map<std::uint32_t, pair*>& pairs() const noexcept { return pairs_; }
  pair* find_pair(std::uint32_t qpn) const noexcept;
  simulator::port* find_port(std::uint8_t number) noexcept;
  simulator::port* port_of(int fabric, const gid& who) noexcept;
  bool owns(const completion_queue* queue) const noexcept;
  std::uint32_t next_qpn() noexcept;
  void happened(const asynchronous_event& event);
  void overrun(completions& queue);

  void made(pair& p);
  void made(shared_receives& queue);
  void destroyed(const domain& d) noexcept;
  void destroyed(const completions& queue) noexcept;
  void destroyed(const shared_receives& queue) noexcept;
  void destroyed(pair& p) noexcept;

 private:
  void misused(const char* what) noexcept;

  network& network_;
  adapter_options options_;
  std::deque<simulator::port> ports_;
  memory_table memory_;
  std::map<std::uint32_t, pair*> pairs_;
  std::set<const completion_queue*> queues_;
  std::set<const shared_receives*> shared_;
  std::size_t domains_ = 0;
  std::uint32_t next_qpn_;
  bool failed_ = false;
  std::deque<asynchronous_event> happened_;
  bell event_bell_;
  traffic_counts counted_;
  std::vector<std::string> misuses_;
};

}  // namespace smc::rdma::simulator
