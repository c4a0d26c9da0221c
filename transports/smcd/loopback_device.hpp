#pragma once
// The device of one machine: buffers are slabs of shared memory, signals are inboxes. Mappable; and
// a variant that is not, for comparison and for devices to come (option map_send_buffer=false).
#include <map>
#include <memory>
#include <mutex>

#include "smcd/device.hpp"
#include "smcd/inbox.hpp"
#include "system/memory_budget.hpp"

namespace smc::smcd {

class loopback_device : public device {
 public:
  explicit loopback_device(system::memory_budget& budget) noexcept
      : budget_(budget), pool_(budget) {}

  /// The peer's inbox and doorbell; before that nobody is signalled.
  reason attach_peer(system::descriptor inbox, system::descriptor doorbell,
                     std::size_t max_connections) noexcept {
    return outbox_.attach(std::move(inbox), std::move(doorbell), max_connections, budget_);
  }
  bool has_peer() const noexcept { return outbox_.attached(); }
  const outbox& to_peer() const noexcept { return outbox_; }

  bool mappable() const noexcept override { return true; }
  ring_pool::outcome register_dmb(std::size_t size, std::uint64_t token) noexcept override {
    return pool_.lend(size, token);
  }
  const system::descriptor* file_for_peer(const ring_lease& lease) const noexcept override {
    return pool_.peer_has(lease.from()) ? nullptr : &lease.from().file();
  }
  void set_peer_has(std::uint32_t slab_id) noexcept override { pool_.set_peer_has(slab_id); }
  attachment attach_dmb(const ring_descriptor& which, system::descriptor file) noexcept override;
  void move_data(const ring_memory& to, detail::cursor at,
                 std::span<const std::byte> bytes) noexcept override;
  signal_outcome signal(std::uint32_t entry, bool on_loop_thread) noexcept override;

 private:
  // A peer with more slabs than this wants to exhaust us: each at least doubles until 64 MiB.
  static constexpr std::size_t max_peer_slabs = 4096;

  system::memory_budget& budget_;
  ring_pool pool_;
  outbox outbox_;
  std::mutex mutex_;  // of peer_slabs_
  std::map<std::uint32_t, std::unique_ptr<slab>> peer_slabs_;
};

/// The same without the right to store into the peer's ring: every byte is moved.
class copying_device final : public loopback_device {
 public:
  using loopback_device::loopback_device;
  bool mappable() const noexcept override { return false; }
};

}  // namespace smc::smcd
