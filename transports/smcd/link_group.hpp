#pragma once
// A link group: everything between one loop here and one loop of a peer process. It holds both
// inboxes, the rings that the peer writes into, the peer's slabs, and the table of connections.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <smc/error.hpp>
#include <span>

#include "smcd/connection_slot.hpp"
#include "smcd/inbox.hpp"
#include "smcd/loopback_device.hpp"
#include "smcd/ring_reader.hpp"
#include "smcd/watch_list.hpp"

namespace smc::smcd {

class connection;
class link_group;

/// Whose threads work for the group.
struct affinity {
  /// True: one thread polls (event_loop), arms and disarms, without a lock. False: any thread may,
  /// under the group's lock.
  bool loop_mode = false;
  bool (*on_owner_thread)(const void* key) noexcept = nullptr;  ///< loop mode: is this that thread?
  const void* key = nullptr;

  bool here() const noexcept {
    return loop_mode && (on_owner_thread == nullptr || on_owner_thread(key));
  }
};

struct group_options {
  affinity threads;
  /// Same on both sides; a power of two, at most 65536.
  std::size_t max_connections = 1024;
  /// False: bytes are copied into a send buffer and moved (option map_send_buffer).
  bool map_send_buffer = true;
  /// Eventfd that wakes the own side; not owned; the peer gets a duplicate. -1: none, nobody
  /// sleeps.
  int own_doorbell = -1;
  system::memory_budget* budget = nullptr;  ///< default: the process's
};

/// A ring of ours that is being offered to the peer, and the number of the connection that it is
/// for. Move-only.
///
/// A ring that the peer may already have mapped can't be lent again before the peer says that it is
/// through, so that destroying an offer only marks it aborted, and the peer's refuse(), close or
/// death gives it back; withdraw() is for offers that never left this process.
class ring_offer {
 public:
  ring_offer() noexcept = default;
  ring_offer(ring_offer&& other) noexcept { swap(other); }
  ring_offer& operator=(ring_offer&& other) noexcept {
    ring_offer moved(static_cast<ring_offer&&>(other));
    swap(moved);
    return *this;
  }
  ~ring_offer();

  explicit operator bool() const noexcept { return slot_ != nullptr; }
  const ring_descriptor& descriptor() const noexcept { return descriptor_; }
  /// The slab's file where the peer must get it along, else nullptr. Valid as long as the group.
  const system::descriptor* slab_file() const noexcept { return file_; }
  /// Whether the peer has mapped the ring and shown its token in it: the proof that it shares this
  /// memory.
  bool peer_attached() const noexcept;
  void withdraw() noexcept;

 private:
  friend class link_group;
  void swap(ring_offer& other) noexcept;

  std::shared_ptr<link_group> group_;
  connection_slot* slot_ = nullptr;
  ring_descriptor descriptor_;
  const system::descriptor* file_ = nullptr;
};

/// Threading: in loop mode poll(), before_sleep() and after_sleep() on the owner's thread,
/// open_ring(), connect(), refuse() and peer_died() on any; in shared mode everything on any
/// thread. Fork: in a child the group is dead; every function returns without touching memory.
class link_group : public std::enable_shared_from_this<link_group> {
 public:
  struct outcome {
    std::shared_ptr<link_group> value;
    reason why = reason::none;
  };
  static outcome create(const group_options& options) noexcept;
  ~link_group();
  link_group(const link_group&) = delete;
  link_group& operator=(const link_group&) = delete;

  /// What the peer must get at first contact, with a duplicate of the own doorbell.
  const system::descriptor& inbox_file() const noexcept { return inbox_.file(); }
  /// What the peer sent at first contact. none, protocol_error, version_mismatch, no_memory, …
  reason attach_peer(system::descriptor inbox, system::descriptor doorbell) noexcept;

  struct offer_outcome {
    ring_offer value;
    reason why = reason::none;
  };
  /// A ring for the peer to write into: of the size wanted (rounded up to a size class), smaller
  /// where the memory limit leaves less. memory_limit also where the group has all its connections.
  offer_outcome open_ring(std::size_t size) noexcept;
  /// Makes the connection: our ring is the offered one, theirs the described one, whose slab came
  /// along or is known. On success the offer is used up. other_host: the memory is not the one that
  /// was meant.
  struct connect_outcome {
    std::unique_ptr<connection> value;
    reason why = reason::none;
  };
  connect_outcome connect(ring_offer&& own, const ring_descriptor& peer,
                          system::descriptor slab_file = {}) noexcept;
  /// A handshake that failed after the peer's ring was described to us: the peer may have it back.
  void refuse(const ring_descriptor& peer) noexcept;
  /// The peer confirmed that it mapped this slab of ours; its file needn't be sent again.
  void set_peer_has_slab(std::uint32_t slab_id) noexcept;

  /// Takes a bounded number of entries and tells the waiters. Whether there was anything.
  bool poll() noexcept;
  /// Announces sleep. False: don't, there is work for poll().
  bool before_sleep() noexcept;
  void after_sleep() noexcept;

  /// The peer's process ended. What it published is still delivered, then end of stream or
  /// connection_reset. In loop mode and from another thread, the waiters are told by the next
  /// poll(), for which the own doorbell is rung.
  void peer_died() noexcept;
  /// The peer died, or broke the protocol of the group: there will be nothing new.
  bool ended() const noexcept { return ended_.load(std::memory_order_seq_cst); }
  /// protocol_error where the peer broke the protocol, else link_failed; none while it lives.
  reason why_ended() const noexcept;

  std::size_t connections() const noexcept;
  std::uint64_t wakeups_sent() const noexcept { return device_->to_peer().wakeups_sent(); }
  std::uint64_t wakeups_avoided() const noexcept { return device_->to_peer().wakeups_avoided(); }

 private:
  friend class connection;
  friend class ring_offer;

  struct told {
    detail::waiter* who;
    std::shared_ptr<void> alive;
  };
  class batch;

  explicit link_group(const group_options& options);

  // for connections
  bool stale() const noexcept;
  device& through() noexcept { return *device_; }
  std::unique_lock<std::mutex> lock_waiters() noexcept;
  bool signal(const ring_descriptor& peer, entry_kind kind) noexcept;
  void request_announcement() noexcept;
  void close_slot(connection_slot& slot, const ring_descriptor& peer) noexcept;
  /// Has poll() look at the ring itself; false: it must be armed.
  bool watch(connection_slot& slot, const ring_reader& ring) noexcept {
    return threads_.loop_mode && watched_.add(slot, ring.seen());
  }

  // for offers
  void drop_offer(connection_slot& slot, bool peer_may_know) noexcept;

  std::uint64_t new_token(reason& why) noexcept;
  void end(bool violation) noexcept;
  void handle(std::uint32_t word, batch& waiters, bool locked) noexcept;
  void handle_state(connection_slot& slot, std::uint32_t generation, batch& waiters,
                    bool locked) noexcept;
  void tell(connection_slot& slot, detail::direction d, batch& waiters) noexcept;
  void tell_waiter(connection_slot& slot, detail::direction d, batch& waiters) noexcept;
  void announce(batch& waiters, bool locked) noexcept;
  void release_if_through(connection_slot& slot) noexcept;
  bool poll_lane(batch& waiters, bool locked) noexcept;

  const affinity threads_;
  const int own_doorbell_;
  const std::uint32_t fork_generation_;
  system::memory_budget& budget_;
  std::atomic<bool> ended_{false};
  std::atomic<bool> violated_{false};
  std::atomic<bool> announcement_{false};  // all waiters are to be told
  std::unique_ptr<loopback_device> device_;
  inbox inbox_;
  watch_list watched_;        // in loop mode
  mutable std::mutex mutex_;  // table; in shared mode also waiters and inbox
  slot_table table_;          // before the device goes: slots hold leases
  std::array<std::uint64_t, 32> tokens_{};
  std::size_t tokens_left_ = 0;
};

}  // namespace smc::smcd
