#pragma once
// A link group in its place: polled by its context, kept by the rendezvous connection whose end is
// the peer's death.
#include <cstdint>
#include <memory>
#include <smc/error.hpp>
#include <span>

#include "negotiation/handshake.hpp"
#include "negotiation/link.hpp"
#include "smcd/handshake_extension.hpp"
#include "smcd/link_group.hpp"
#include "statistics/registry.hpp"
#include "stream/context_service.hpp"

namespace smc::smcd {

class group_attachment final : public negotiation::link_attachment, public detail::wake_source {
 public:
  struct outcome {
    std::shared_ptr<group_attachment> value;
    reason why = reason::none;
  };
  /// The group `number` of this link; made where there is none, or only a dead one, and `may_make`.
  static outcome find(const negotiation::connection_plan& plan, const void* owner,
                      std::uint32_t number, bool may_make);

  static constexpr std::size_t max_connections = 1024;

  link_group& group() noexcept { return *group_; }

  bool full() const noexcept { return group_->connections() >= max_connections; }

  /// The peer has our inbox and doorbell, and we have its.
  bool introduced() const noexcept { return introduced_; }
  /// Adds our inbox and doorbell to a message.
  void introduce(std::vector<int>& descriptors);
  /// Takes the peer's from one, unless we have them.
  reason meet(std::span<system::descriptor>& descriptors);

  /// Peer's slabs mapped here, and what the peer says of ours.
  std::uint64_t known_slabs() const noexcept { return known_slabs_; }
  void mapped(const ring_descriptor& peer) noexcept;
  void peer_knows(std::uint64_t slabs) noexcept;

  void peer_gone() noexcept override { group_->peer_died(); }
  bool in_use() const noexcept override { return !group_->ended() && group_->connections() != 0; }

  bool poll() noexcept override { return group_->poll(); }
  bool before_sleep() noexcept override { return group_->before_sleep(); }
  void after_sleep() noexcept override { group_->after_sleep(); }
  bool finished() const noexcept override { return group_->ended() && group_->connections() == 0; }

  explicit group_attachment(std::shared_ptr<link_group> group, int doorbell) noexcept
      : group_(std::move(group)), doorbell_(doorbell) {}

 private:
  const std::shared_ptr<link_group> group_;
  const int doorbell_;
  bool introduced_ = false;
  std::uint64_t known_slabs_ = 0;
  detail::link_group_record record_;
};

}  // namespace smc::smcd
