#pragma once
// The device seam: RDMA as libibverbs has it, as far as SMC-R needs it (RFC 7609 2.1, 2.2). Two
// implementations: over libibverbs, and the simulator. The protocol can't tell which it has.
//
// Rules:
//  1. Calls are per batch: a list of requests, an array of completions. None is per byte.
//  2. Each posted request completes exactly once if it was signaled or if it failed, requests of a
//     queue pair in their order. An unsignaled one that succeeded is known to be over by the
//     completion of a later one. The room of a request in its queue is free again when such a
//     completion was polled.
//  3. Requests of a queue pair are performed in their order: a SEND is received after the RDMA
//     WRITEs before it were placed (RFC 7609 4.5: what makes a cursor valid).
//  4. When a queue pair goes to error, all its outstanding requests, sends and receives, complete:
//     the one that failed with its status, the others as flushed. Receives on a shared queue stay
//     there. Requests posted in error complete as flushed.
//  5. A completion queue is never to hold more completions than its depth: whoever posts counts.
//     An overrun breaks it and all queue pairs that feed it.
//  6. Objects are destroyed before those that they were created from, queue pairs before their
//     completion queues. Completions of a destroyed queue pair that were not polled may come or
//     not.
//  7. Bytes that the peer sent may be placed until the region is gone or the queue pair has reached
//     error or is destroyed: not before that is memory free for others.
//
// Errors are those of the system: ENOMEM also where the device or RLIMIT_MEMLOCK is exhausted,
// EINVAL for what the device does not support. Nothing throws.
//
// Threading: each object, and the queue pairs that feed one completion queue, by one thread at a
// time. Creating and destroying: any thread over libibverbs; all of a simulated network is used by
// one thread.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <system_error>
#include <vector>

#include "smcr/attributes.hpp"
#include "smcr/work_request.hpp"
#include "system/result.hpp"

namespace smc::rdma {

template <typename T>
using created = system::result<std::unique_ptr<T>>;

/// Registered memory; it is deregistered in the end, after which the keys name nothing.
class memory_region {
 public:
  virtual ~memory_region() = default;

  std::uint32_t lkey() const noexcept { return lkey_; }
  std::uint32_t rkey() const noexcept { return rkey_; }
  std::span<std::byte> bytes() const noexcept { return bytes_; }
  /// What peers call the first byte.
  std::uint64_t address() const noexcept { return reinterpret_cast<std::uintptr_t>(bytes_.data()); }

 protected:
  memory_region(std::span<std::byte> bytes, std::uint32_t lkey, std::uint32_t rkey) noexcept
      : bytes_(bytes), lkey_(lkey), rkey_(rkey) {}

 private:
  std::span<std::byte> bytes_;
  std::uint32_t lkey_;
  std::uint32_t rkey_;
};

namespace access {
inline constexpr unsigned local_read_only = 0;
inline constexpr unsigned local_write = 1;
inline constexpr unsigned remote_write = 2;  ///< demands local_write
}  // namespace access

class completion_queue {
 public:
  virtual ~completion_queue() = default;

  /// Takes the oldest completions. Negative: the queue is broken (rule 5).
  virtual std::ptrdiff_t poll(std::span<completion> into) noexcept = 0;

  /// Makes the next completion that is added ring the descriptor, once; with `solicited_only` only
  /// one of a solicited SEND, or an error. Those that are in the queue already don't ring: poll
  /// again after arming.
  virtual std::error_code arm(bool solicited_only) noexcept = 0;

  /// Readable once the queue rang, until acknowledge().
  virtual int descriptor() noexcept = 0;
  /// Makes the descriptor quiet; it is for the user to arm again.
  virtual void acknowledge() noexcept = 0;

  /// Completions that it can hold, at least what was asked for.
  virtual std::uint32_t depth() const noexcept = 0;
};

/// Receives that several queue pairs of a domain draw from, in the order of the messages' arrival.
class shared_receive_queue {
 public:
  virtual ~shared_receive_queue() = default;

  /// As queue_pair::post_receive().
  virtual std::error_code post(receive_request& first, receive_request** refused) noexcept = 0;
};

enum class queue_pair_state : std::uint8_t {
  reset = 0,
  init,
  ready_to_receive,
  ready_to_send,
  error
};

struct queue_pair_options {
  completion_queue* sends = nullptr;       ///< where sends complete
  completion_queue* receives = nullptr;    ///< may be the same
  shared_receive_queue* shared = nullptr;  ///< receives come from there; max_receives is not used
  std::uint32_t max_sends = 48;
  std::uint32_t max_receives = 48;
  std::uint32_t max_send_parts = 2;
  std::uint32_t max_receive_parts = 1;
  std::uint32_t max_inline = 0;  ///< bytes
};

/// From RESET over INIT to RTR: where the peer is. MTU, peer and numbers come from CLC and LLC;
/// they must be checked before.
struct path {
  mtu path_mtu = mtu::b1024;  ///< the smaller one of both ends
  std::uint32_t remote_qpn = 0;
  std::uint32_t receive_psn = 0;  ///< the peer's first packet
  rdma::gid remote_gid{};
  std::uint32_t own_gid_index = 0;
  std::uint8_t hop_limit = 1;      ///< more than 1 beyond the subnet
  std::uint8_t min_rnr_timer = 5;  ///< code: what a sender waits that found no receive posted
};

/// From RTR to RTS: how to send.
struct sending {
  std::uint32_t send_psn = 0;
  std::uint8_t timeout =
      15;  ///< code: 4.096 µs << timeout until an acknowledgement is missed; 0: never
  std::uint8_t retries = 7;      ///< of a message without acknowledgement
  std::uint8_t rnr_retries = 7;  ///< 7: for ever
};

/// A reliable connection.
class queue_pair {
 public:
  virtual ~queue_pair() = default;

  virtual std::uint32_t number() const noexcept = 0;
  virtual queue_pair_state state() const noexcept = 0;
  /// What was granted: all at least what was asked for.
  virtual const queue_pair_options& options() const noexcept = 0;

  /// RESET to INIT; remote writes are allowed. Receives may be posted from here on.
  virtual std::error_code initialize(std::uint8_t port) noexcept = 0;
  /// INIT to RTR: messages are received from here on.
  virtual std::error_code receive_from(const path& from) noexcept = 0;
  /// RTR to RTS.
  virtual std::error_code send_with(const sending& how) noexcept = 0;
  /// Any state to error (rule 4).
  virtual std::error_code fail() noexcept = 0;

  /// Posts a list. On an error `*refused`, where given, is the first request that was not taken;
  /// those before it were. ENOMEM: the queue is full. EINVAL: the wrong state, or too many parts or
  /// inline bytes. EIO: the device is gone.
  virtual std::error_code post_send(send_request& first, send_request** refused) noexcept = 0;
  virtual std::error_code post_receive(receive_request& first,
                                       receive_request** refused) noexcept = 0;
};

/// Regions and queue pairs that may use each other. A link group has its own, so that no other peer
/// reaches its buffers (RFC 7609 2.1).
class protection_domain {
 public:
  virtual ~protection_domain() = default;

  /// The memory must stay mapped while the region lives. `allowed`: bits of access.
  virtual created<memory_region> register_memory(std::span<std::byte> bytes,
                                                 unsigned allowed) noexcept = 0;
  virtual created<queue_pair> create_queue_pair(const queue_pair_options& wanted) noexcept = 0;
  virtual created<shared_receive_queue> create_shared_receive_queue(
      std::uint32_t max_receives, std::uint32_t max_parts) noexcept = 0;
};

/// An opened device.
class device {
 public:
  virtual ~device() = default;

  virtual const device_attributes& attributes() const noexcept = 0;
  /// As it is now.
  virtual system::result<port_attributes> port(std::uint8_t number) const noexcept = 0;
  /// The port's GID table without its gaps, as it is now.
  virtual system::result<std::vector<gid_entry>> gids(std::uint8_t port) const noexcept = 0;

  virtual created<protection_domain> allocate_domain() noexcept = 0;
  virtual created<completion_queue> create_completion_queue(std::uint32_t depth) noexcept = 0;

  /// The events that have happened since, oldest first; how many were stored.
  virtual std::size_t poll_events(std::span<asynchronous_event> into) noexcept = 0;
  /// Readable while there are some.
  virtual int event_descriptor() noexcept = 0;
};

}  // namespace smc::rdma
