#include "smcd/transport.hpp"

#include <sys/random.h>

#include <algorithm>
#include <cstring>
#include <smc/config.hpp>

#include "smc/size_class.hpp"
#include "smcd/connection.hpp"
#include "smcd/group_attachment.hpp"
#include "smcd/handshake_extension.hpp"
#include "system/fork.hpp"
#include "system/memory_budget.hpp"

namespace smc::smcd {

namespace {

using negotiation::connection_plan;
using negotiation::offer;
using negotiation::received_offer;

/// Identifies this process as a device: random, another one in each child of fork().
clc::smcd_gid process_gid() {
  struct identity {
    clc::smcd_gid gid;
    std::uint32_t generation = 0;
  };
  static std::atomic<const identity*> current{nullptr};
  const identity* known = current.load(std::memory_order_acquire);
  if (known && known->generation == system::fork_generation()) return known->gid;
  auto* fresh = new identity;  // few, and read by other threads: kept
  fresh->generation = system::fork_generation();
  std::uint64_t random[2] = {};
  while (random[0] == 0 || random[1] == 0) {
    if (::getrandom(random, sizeof random, 0) < 0) random[0] = random[1] = 0;
  }
  fresh->gid = {random[0], random[1], clc::smcd_gid::loopback_chid};
  if (current.compare_exchange_strong(known, fresh, std::memory_order_acq_rel)) return fresh->gid;
  delete fresh;
  return known->gid;
}

constexpr std::uint32_t most_groups = 64;  // on one link, for one context

std::size_t wish(const connection_plan& plan, std::uint64_t of_peer) {
  const auto own = plan.receive_size != 0 ? plan.receive_size : plan.ring_size;
  const auto larger = std::max<std::uint64_t>(own, of_peer);
  return static_cast<std::size_t>(std::min<std::uint64_t>(larger, detail::max_ring_size));
}

class smcd_handshake final : public negotiation::handshake {
 public:
  smcd_handshake(const connection_plan& plan, const void* owner) : plan_(plan), owner_(owner) {}

  reason answer(const received_offer& proposal, offer& accept) override {
    const auto proposed = decode_proposal(proposal.extension);
    if (!proposed) return reason::version_mismatch;
    // The two sides must mean the same group: one for each context of ours and each way of sending.
    const std::uint32_t number = plan_.service.number() * 4 +
                                 (proposed->maps_send_buffer ? 2u : 0u) +
                                 (plan_.settings.map_send_buffer ? 1u : 0u);
    const std::size_t size = wish(plan_, proposed->send_size);
    // A group that has all its connections is followed by a further one.
    for (std::uint32_t further = 0; further < most_groups; ++further) {
      if (const reason why = find_group(number + (further << 24), true); why != reason::none)
        return why;
      if (!group_->full()) return open_ring(size, !group_->introduced(), accept);
    }
    return reason::memory_limit;
  }

  reason confirm(const received_offer& accept, offer& confirm) override {
    const auto peer = decode_ring(accept.extension);
    if (!peer || !accept.smcd) return reason::protocol_error;
    if (const reason why = find_group(peer->group, peer->introduces); why != reason::none)
      return why;
    std::span<system::descriptor> descriptors = accept.descriptors;
    if (peer->introduces) {
      if (const reason why = group_->meet(descriptors); why != reason::none) return why;
    }
    group_->peer_knows(peer->known_slabs);
    const std::size_t size = wish(plan_, peer->send_size);
    if (const reason why = open_ring(size, peer->introduces, confirm); why != reason::none)
      return why;
    return connect(*peer, *accept.smcd, descriptors);
  }

  reason establish(const received_offer& confirm) override {
    const auto peer = decode_ring(confirm.extension);
    if (!peer || !confirm.smcd || peer->group != number_) return reason::protocol_error;
    std::span<system::descriptor> descriptors = confirm.descriptors;
    if (peer->introduces) {
      if (const reason why = group_->meet(descriptors); why != reason::none) return why;
    } else if (!group_->introduced()) {
      return reason::protocol_error;
    }
    group_->peer_knows(peer->known_slabs);
    if (const reason why = connect(*peer, *confirm.smcd, descriptors); why != reason::none)
      return why;
    // The client wrote our token into the header that it mapped: it has this memory, not other
    // memory.
    if (connection_->peer_attached()) return reason::none;
    connection_->abort();  // it has confirmed: a reset, not an end of stream, tells it that nothing
                           // was served
    return reason::other_host;
  }

  std::unique_ptr<detail::connection> take() override { return std::move(connection_); }

 private:
  reason find_group(std::uint32_t number, bool may_make) {
    auto found = group_attachment::find(plan_, owner_, number, may_make);
    group_ = std::move(found.value);
    number_ = number;
    return found.why;
  }

  reason open_ring(std::size_t size, bool introduce, offer& out) {
    auto opened = group_->group().open_ring(size);
    if (opened.why != reason::none) return opened.why;
    offer_ = std::move(opened.value);
    const ring_descriptor& ring = offer_.descriptor();
    ring_extension e;
    e.group = number_;
    e.introduces = introduce;
    e.with_slab = offer_.slab_file() != nullptr;
    e.send_size = plan_.send_size;
    e.known_slabs = group_->known_slabs();
    e.ring = ring;
    if (introduce) group_->introduce(out.descriptors);
    if (e.with_slab) out.descriptors.push_back(offer_.slab_file()->get());
    out.extension = encode(e);
    out.smcd.emplace();
    out.smcd->gid = process_gid();
    out.smcd->token = ring.token;
    out.smcd->size_code = clc::size_code_of(ring.ring_size);
    out.smcd->link_id = number_;
    out.smcd->first_contact = introduce;
    return reason::none;
  }

  reason connect(const ring_extension& peer, const clc::smcd_endpoint& clc,
                 std::span<system::descriptor> descriptors) {
    if (clc.token != peer.ring.token || descriptors.size() != (peer.with_slab ? 1u : 0u)) {
      return reason::protocol_error;
    }
    system::descriptor slab;
    if (peer.with_slab) slab = std::move(descriptors.front());
    auto made = group_->group().connect(std::move(offer_), peer.ring, std::move(slab));
    if (made.why != reason::none) {
      group_->group().refuse(peer.ring);
      return made.why;
    }
    group_->mapped(peer.ring);
    connection_ = std::move(made.value);
    return reason::none;
  }

  const connection_plan plan_;
  const void* const owner_;
  std::shared_ptr<group_attachment> group_;
  std::uint32_t number_ = 0;
  ring_offer offer_;
  std::unique_ptr<connection> connection_;
};

class smcd_transport final : public negotiation::transport {
 public:
  transport_kind kind() const noexcept override { return transport_kind::smc_d; }
  std::string_view name() const noexcept override { return "smc-d"; }
  reason probe(const config&) override { return reason::none; }

  void propose(const connection_plan& plan, clc::proposal& clc,
               std::vector<negotiation::part>& parts) override {
    clc.v2x->smcd.emplace();
    clc.v2x->smcd->gids.push_back(process_gid());
    parts.push_back(
        {std::string(name()), encode(proposal_extension{plan.settings.map_send_buffer,
                                                        plan.send_size, plan.receive_size})});
  }

  std::unique_ptr<negotiation::handshake> begin(const connection_plan& plan) override {
    system::memory_budget::process().set_limit(plan.settings.buffer_memory_limit);
    return std::make_unique<smcd_handshake>(plan, this);
  }
};

}  // namespace

std::unique_ptr<negotiation::transport> make_transport() {
  return std::make_unique<smcd_transport>();
}

}  // namespace smc::smcd
