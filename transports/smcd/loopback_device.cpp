#include "smcd/loopback_device.hpp"

#include <new>
#include <utility>

namespace smc::smcd {

namespace {

// Each value is read once. The token is what a peer can't guess: it proves that this memory is the
// one meant.
reason check_identity(const ring_identity& found, const ring_descriptor& expected) noexcept {
  constexpr auto relaxed = std::memory_order_relaxed;
  if (found.magic.load(relaxed) != ring_magic) return reason::protocol_error;
  if (found.version.load(relaxed) != layout_version) return reason::version_mismatch;
  if (found.ring_size.load(relaxed) != expected.ring_size ||
      found.generation.load(relaxed) != expected.ring_generation) {
    return reason::protocol_error;
  }
  return found.token.load(relaxed) == expected.token ? reason::none : reason::other_host;
}

}  // namespace

attachment loopback_device::attach_dmb(const ring_descriptor& which,
                                       system::descriptor file) noexcept {
  std::lock_guard lock(mutex_);
  auto found = peer_slabs_.find(which.slab_id);
  if (found == peer_slabs_.end()) {
    if (!file || peer_slabs_.size() >= max_peer_slabs) return {{}, reason::protocol_error};
    auto attached =
        slab::attach(which.slab_id, which.ring_size, which.slab_rings, std::move(file), budget_);
    if (!attached.value) return {{}, attached.why};
    try {
      found = peer_slabs_.emplace(which.slab_id, std::move(attached.value)).first;
    } catch (const std::bad_alloc&) {
      return {{}, reason::no_memory};
    }
  }
  const slab& from = *found->second;
  if (from.ring_size() != which.ring_size || from.rings() != which.slab_rings ||
      which.ring_index >= from.rings()) {
    return {{}, reason::protocol_error};
  }
  const auto ring = from.ring(which.ring_index);
  if (const auto why = check_identity(ring.header->identity, which); why != reason::none) {
    return {{}, why};
  }
  return {ring, reason::none};
}

void loopback_device::move_data(const ring_memory& to, detail::cursor at,
                                std::span<const std::byte> bytes) noexcept {
  to.store(at, bytes.data(), bytes.size());
}

signal_outcome loopback_device::signal(std::uint32_t entry, bool on_loop_thread) noexcept {
  if (!outbox_.attached()) return signal_outcome::quiet;
  switch (outbox_.push(entry, on_loop_thread)) {
    case outbox::outcome::quiet:
      return signal_outcome::quiet;
    case outbox::outcome::rang:
      return signal_outcome::rang;
    case outbox::outcome::full:
      break;
  }
  return signal_outcome::refused;
}

}  // namespace smc::smcd
