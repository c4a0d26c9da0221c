#include "smcd/link_group.hpp"

#include <bit>
#include <new>
#include <utility>

#include "smc/close_state.hpp"
#include "smc/size_class.hpp"
#include "smcd/connection.hpp"
#include "system/events.hpp"
#include "system/fork.hpp"

namespace smc::smcd {

using detail::direction;

link_group::link_group(const group_options& options)
    : threads_(options.threads),
      own_doorbell_(options.own_doorbell),
      fork_generation_(system::fork_generation()),
      budget_(options.budget != nullptr ? *options.budget : system::memory_budget::process()),
      table_(options.max_connections) {
  if (options.map_send_buffer) {
    device_ = std::make_unique<loopback_device>(budget_);
  } else {
    device_ = std::make_unique<copying_device>(budget_);
  }
}

link_group::~link_group() = default;

link_group::outcome link_group::create(const group_options& options) noexcept {
  const auto most = std::size_t{1} << entry::number_bits;
  if (!std::has_single_bit(options.max_connections) || options.max_connections > most) {
    return {nullptr, reason::no_memory};
  }
  try {
    std::shared_ptr<link_group> made(new link_group(options));
    const auto why = made->inbox_.create(inbox_capacity(options.max_connections), made->budget_);
    if (why != reason::none) return {nullptr, why};
    return {std::move(made), reason::none};
  } catch (const std::bad_alloc&) {
    return {nullptr, reason::no_memory};
  }
}

bool link_group::stale() const noexcept { return fork_generation_ != system::fork_generation(); }

reason link_group::attach_peer(system::descriptor inbox, system::descriptor doorbell) noexcept {
  if (stale()) return reason::after_fork;
  return device_->attach_peer(std::move(inbox), std::move(doorbell), table_.capacity());
}

// --- rings and connections ---

std::uint64_t link_group::new_token(reason& why) noexcept {
  if (tokens_left_ == 0) {
    if (system::fill_random(std::as_writable_bytes(std::span(tokens_)))) {
      why = reason::not_permitted;
      return 0;
    }
    tokens_left_ = tokens_.size();
  }
  return tokens_[--tokens_left_];
}

link_group::offer_outcome link_group::open_ring(std::size_t size) noexcept {
  if (stale()) return {{}, reason::after_fork};
  if (ended()) return {{}, reason::link_failed};
  // Where only blocking calls are made, nobody else takes the entries that give rings and numbers
  // back.
  if (!threads_.loop_mode) poll();
  std::lock_guard lock(mutex_);
  auto* slot = table_.acquire();
  if (slot == nullptr) return {{}, reason::memory_limit};
  reason why = reason::none;
  const auto token = new_token(why);
  auto ring_size = detail::ring_size_for(size);
  for (; why == reason::none; ring_size /= 2) {
    auto lent = device_->register_dmb(ring_size, token);
    if (lent.why == reason::none) {
      slot->own = std::move(lent.value);
      break;
    }
    // Under pressure connections get smaller rings before they get none.
    const bool smaller_may_do = lent.why == reason::memory_limit || lent.why == reason::no_memory;
    if (!smaller_may_do || ring_size == detail::min_ring_size) why = lent.why;
  }
  if (why != reason::none) {
    table_.release(*slot);
    return {{}, why};
  }
  const auto ring = slot->own.memory();
  slot->in = ring.header;
  slot->state.store(connection_slot::use::offered, std::memory_order_relaxed);

  ring_offer offer;
  offer.group_ = shared_from_this();
  offer.slot_ = slot;
  offer.file_ = device_->file_for_peer(slot->own);
  auto& d = offer.descriptor_;
  d.slab_id = slot->own.from().id();
  d.slab_rings = static_cast<std::uint32_t>(slot->own.from().rings());
  d.ring_index = slot->own.index();
  d.ring_generation = ring.header->identity.generation.load(std::memory_order_relaxed);
  d.ring_size = ring.size;
  d.token = token;
  d.connection_number = slot->number;
  d.connection_generation = slot->generation.load(std::memory_order_relaxed);
  return {std::move(offer), reason::none};
}

link_group::connect_outcome link_group::connect(ring_offer&& own, const ring_descriptor& peer,
                                                system::descriptor slab_file) noexcept {
  if (stale()) return {nullptr, reason::after_fork};
  if (ended()) return {nullptr, reason::link_failed};
  if (!own || own.group_.get() != this || peer.connection_number >> entry::number_bits != 0) {
    return {nullptr, reason::protocol_error};
  }
  const auto attached = device_->attach_dmb(peer, std::move(slab_file));
  if (attached.why != reason::none) return {nullptr, attached.why};
  auto& slot = *own.slot_;
  std::unique_ptr<connection> made(new (std::nothrow) connection(
      own.group_, slot, slot.own.memory(), attached.ring, own.descriptor_.token, peer));
  if (!made) return {nullptr, reason::no_memory};
  made->closed_ = true;  // until it is one
  if (!made->reserve_send_buffer()) return {nullptr, reason::no_memory};
  made->closed_ = false;
  {
    std::lock_guard lock(mutex_);
    slot.out = attached.ring.header;
    slot.state.store(connection_slot::use::open, std::memory_order_relaxed);
  }
  attached.ring.header->producer.attached.store(peer.token, std::memory_order_release);
  own.slot_ = nullptr;
  own = ring_offer();
  return {std::move(made), reason::none};
}

void link_group::refuse(const ring_descriptor& peer) noexcept {
  if (!stale() && peer.connection_number >> entry::number_bits == 0) {
    signal(peer, entry_kind::state);
  }
}

void link_group::set_peer_has_slab(std::uint32_t slab_id) noexcept {
  if (!stale()) device_->set_peer_has(slab_id);
}

void link_group::close_slot(connection_slot& slot, const ring_descriptor& peer) noexcept {
  std::lock_guard lock(mutex_);
  for (auto& waiter : slot.waiters) waiter.store(nullptr, std::memory_order_relaxed);
  watched_.remove(slot);
  slot.state.store(connection_slot::use::closing, std::memory_order_relaxed);
  signal(peer, entry_kind::state);
  release_if_through(slot);
}

void link_group::drop_offer(connection_slot& slot, bool peer_may_know) noexcept {
  if (stale()) return;
  std::lock_guard lock(mutex_);
  if (!peer_may_know) {
    table_.release(slot);
    return;
  }
  using namespace detail::close_flag;
  slot.in->consumer.flags.store(closed | aborted, std::memory_order_seq_cst);
  slot.state.store(connection_slot::use::closing, std::memory_order_relaxed);
  release_if_through(slot);
}

// The ring may be lent again when the peer writes no more (it has closed, or the group is over) and
// no entry of this connection is on its way: an entry that came after the number was given to
// another connection would be one too many.
void link_group::release_if_through(connection_slot& slot) noexcept {
  if (slot.state.load(std::memory_order_relaxed) != connection_slot::use::closing) return;
  const bool through = ended() || (slot.peer_ended && !slot.entry_on_its_way(direction::read) &&
                                   !slot.entry_on_its_way(direction::write));
  if (through) table_.release(slot);
}

std::size_t link_group::connections() const noexcept {
  if (stale()) return 0;
  std::lock_guard lock(mutex_);
  return table_.in_use();
}

// --- offers ---

ring_offer::~ring_offer() {
  if (slot_ != nullptr) group_->drop_offer(*slot_, true);
}

void ring_offer::withdraw() noexcept {
  if (slot_ != nullptr) group_->drop_offer(*slot_, false);
  slot_ = nullptr;
  group_.reset();
}

bool ring_offer::peer_attached() const noexcept {
  return slot_ != nullptr && !group_->stale() &&
         slot_->in->producer.attached.load(std::memory_order_acquire) == descriptor_.token;
}

void ring_offer::swap(ring_offer& other) noexcept {
  std::swap(group_, other.group_);
  std::swap(slot_, other.slot_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(file_, other.file_);
}

}  // namespace smc::smcd
