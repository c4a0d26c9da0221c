#include "smcd/group_attachment.hpp"

#include <asio/error.hpp>
#include <new>
#include <smc/config.hpp>

#include "system/segment.hpp"

namespace smc::smcd {

group_attachment::outcome group_attachment::find(const negotiation::connection_plan& plan,
                                                 const void* owner, std::uint32_t number,
                                                 bool may_make) {
  if (const auto found = plan.link.attachment(owner, number)) {
    auto known = std::static_pointer_cast<group_attachment>(found);
    if (!known->group().ended()) return {std::move(known), reason::none};
  }
  if (!may_make) return {nullptr, reason::protocol_error};
  int doorbell = -1;
  if (const auto error = plan.service.doorbell(doorbell)) {
    return {nullptr, system::setup_reason(error)};
  }
  detail::loop_core* const loop = plan.service.loop();
  group_options options;
  options.threads.loop_mode = loop != nullptr && !plan.foreign_context;
  options.threads.on_owner_thread = [](const void* key) noexcept {
    return static_cast<const detail::loop_core*>(key)->on_this_thread();
  };
  options.threads.key = loop;
  options.max_connections = max_connections;
  options.map_send_buffer = plan.settings.map_send_buffer;
  options.own_doorbell = doorbell;
  auto made = link_group::create(options);
  if (!made.value) return {nullptr, made.why};
  const auto group = made.value;
  try {
    auto attachment = std::make_shared<group_attachment>(std::move(made.value), doorbell);
    plan.service.add_source(attachment);
    plan.link.attach(owner, number, attachment);
    return {std::move(attachment), reason::none};
  } catch (const std::bad_alloc&) {
    group->peer_died();  // else it would be polled for ever
    return {nullptr, reason::no_memory};
  }
}

void group_attachment::introduce(std::vector<int>& descriptors) {
  descriptors.push_back(group_->inbox_file().get());
  descriptors.push_back(doorbell_);
}

reason group_attachment::meet(std::span<system::descriptor>& descriptors) {
  if (descriptors.size() < 2) return reason::protocol_error;
  if (!introduced_) {
    if (const reason why =
            group_->attach_peer(std::move(descriptors[0]), std::move(descriptors[1]));
        why != reason::none) {
      return why;
    }
    introduced_ = true;
  }
  descriptors = descriptors.subspan(2);
  return reason::none;
}

void group_attachment::mapped(const ring_descriptor& peer) noexcept {
  if (peer.slab_id < 64) known_slabs_ |= std::uint64_t{1} << peer.slab_id;
}

void group_attachment::peer_knows(std::uint64_t slabs) noexcept {
  for (std::uint32_t id = 0; slabs != 0; ++id, slabs >>= 1) {
    if ((slabs & 1) != 0) group_->set_peer_has_slab(id);
  }
}

}  // namespace smc::smcd
