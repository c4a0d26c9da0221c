#pragma once
// A port of a simulated device: its state, its GIDs, and its transmitter, which the queue pairs
// share in turns.
#include <algorithm>
#include <cstdint>
#include <deque>

#include "smcr/simulator/event_queue.hpp"
#include "smcr/simulator/options.hpp"

namespace smc::rdma::simulator {

class adapter;
class pair;

class port {
 public:
  port(adapter& owner, std::uint8_t number, port_options options)
      : owner_(owner), number_(number), options_(std::move(options)) {}

  adapter& owner() const noexcept { return owner_; }
  std::uint8_t number() const noexcept { return number_; }
  const port_options& options() const noexcept { return options_; }
  port_options& options() noexcept { return options_; }

  /// What the device says of it.
  bool active() const noexcept { return active_; }
  void set_active(bool active) noexcept { active_ = active; }
  void set_passing(bool passing) noexcept { passing_ = passing; }
  /// Whether something passes it.
  bool up() const noexcept { return active_ && passing_; }

  const gid_entry* at(std::uint32_t index) const noexcept {
    for (const gid_entry& e : options_.gids) {
      if (e.index == index) return &e;
    }
    return nullptr;
  }
  bool has(const gid& g) const noexcept {
    return std::any_of(options_.gids.begin(), options_.gids.end(),
                       [&](const gid_entry& e) { return e.gid == g; });
  }

  /// The queue pair has something to send.
  void enqueue(std::uint32_t qpn);

 private:
  void transmit();

  adapter& owner_;
  std::uint8_t number_;
  port_options options_;
  bool active_ = true;
  bool passing_ = true;
  bool busy_ = false;
  std::deque<std::uint32_t> waiting_;
};

}  // namespace smc::rdma::simulator
