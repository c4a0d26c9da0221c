#pragma once
// A simulated RDMA network: devices, the links between them, virtual time, faults. Deterministic:
// the same seed and the same calls give the same run.
//
// Nothing happens but in step() and its kin; calls of the devices only set something going. All of
// a network is used by one thread.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "smcr/device.hpp"
#include "smcr/simulator/event_queue.hpp"
#include "smcr/simulator/message.hpp"
#include "smcr/simulator/options.hpp"

namespace smc::rdma::simulator {

class adapter;
class completions;
class port;

class network {
 public:
  explicit network(std::uint64_t seed);
  network(const network&) = delete;
  ~network();

  /// The network owns it. All objects made from it must be gone before the network is.
  adapter& add(adapter_options options);

  moment now() const noexcept { return events_.now(); }
  /// When something happens next; nothing: the network is idle.
  std::optional<moment> next() const noexcept { return events_.next(); }
  /// Lets the next event happen; false where there is none.
  bool step() { return events_.step(); }
  /// All events up to then; afterwards now() == when, unless it was later already.
  void run_until(moment when) { events_.run_until(when); }
  void run_for(moment duration) { run_until(now() + duration); }
  /// Until idle, or `patience` is over; whether it is idle.
  bool run(moment patience = std::chrono::hours(1));

  /// For tests: something of their own in the same order.
  event_queue& events() noexcept { return events_; }
  std::uint64_t random() { return random_(); }

  /// Sees everything before it travels: loss, delay, doubles, other bytes.
  flight_hook on_flight;
  /// An armed completion queue rang.
  std::function<void(completion_queue&)> on_ring;

  // For the parts of the simulation.

  /// A message that has left its port, or an answer; `not_before` keeps the order of its flow.
  void travel(port& from, message m, moment sent, moment& not_before);
  void travel(port& from, reply r, moment& not_before);
  void rang(completions& queue);

 private:
  fate fate_of(const port& from, flight f);
  moment arrival(const port& from, moment sent, const fate& f, moment& not_before);
  template <typename T>
  void deliver(int fabric, T what, moment when);
  port* port_of(int fabric, const gid& who) noexcept;

  event_queue events_;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<adapter>> adapters_;
};

}  // namespace smc::rdma::simulator
