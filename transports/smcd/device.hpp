#pragma once
// The device seam, as the kernel's SMC-D has it (struct smcd_ops of include/net/smc.h): register
// and unregister a buffer, attach a peer's, move data into it, signal. Control lines lie in memory
// that both sides see.
#include <cstddef>
#include <cstdint>
#include <smc/error.hpp>
#include <span>

#include "smcd/ring.hpp"
#include "smcd/ring_pool.hpp"
#include "system/descriptor.hpp"

namespace smc::smcd {

/// What an attach gives: the peer's ring in this process, or why not.
struct attachment {
  ring_memory ring;
  reason why = reason::none;
};

enum class signal_outcome {
  quiet,   ///< the peer is awake and will look
  rang,    ///< the peer slept and was woken
  refused  ///< the peer broke the rules of its inbox
};

/// One device object serves one link group. Threading: any thread, but move_data() of one ring from
/// one at a time.
class device {
 public:
  virtual ~device() = default;

  /// Whether bytes may be stored right into an attached ring. Otherwise they go through a buffer of
  /// the sender and move_data().
  virtual bool mappable() const noexcept = 0;

  /// A buffer for the peer to write into; unregistered when the lease ends.
  virtual ring_pool::outcome register_dmb(std::size_t size, std::uint64_t token) noexcept = 0;
  /// The slab's file, for a peer that does not have it yet; nullptr where it has.
  virtual const system::descriptor* file_for_peer(const ring_lease& lease) const noexcept = 0;
  /// The peer confirmed that it mapped a slab of ours.
  virtual void set_peer_has(std::uint32_t slab_id) noexcept = 0;

  /// Maps the peer's buffer and proves that it is the one meant: magic, version, size, generation
  /// and token. `file` may be empty where this slab came before. Attached slabs stay until the
  /// device goes.
  virtual attachment attach_dmb(const ring_descriptor& which, system::descriptor file) noexcept = 0;

  /// Copies into an attached ring, across its end where need be.
  virtual void move_data(const ring_memory& to, detail::cursor at,
                         std::span<const std::byte> bytes) noexcept = 0;

  /// Puts an entry into the peer's inbox.
  virtual signal_outcome signal(std::uint32_t entry, bool on_loop_thread) noexcept = 0;
};

}  // namespace smc::smcd
