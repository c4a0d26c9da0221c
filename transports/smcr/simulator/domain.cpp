#include "smcr/simulator/domain.hpp"

#include <new>

#include "smcr/simulator/adapter.hpp"
#include "smcr/simulator/completion_queue.hpp"
#include "smcr/simulator/queue_pair.hpp"

namespace smc::rdma::simulator {

domain::~domain() { owner_.destroyed(*this); }

created<memory_region> domain::register_memory(std::span<std::byte> bytes,
                                               unsigned allowed) noexcept try {
  if (const auto error = owner_.allow(call::register_memory)) return error;
  return owner_.memory().add(*this, bytes, allowed, owner_.attributes());
} catch (const std::bad_alloc&) {
  return system::error_of(ENOMEM);
}

created<queue_pair> domain::create_queue_pair(const queue_pair_options& wanted) noexcept try {
  if (const auto error = owner_.allow(call::create_queue_pair)) return error;
  const device_attributes& limits = owner_.attributes();
  const auto* shared = static_cast<const shared_receives*>(wanted.shared);
  if (!owner_.owns(wanted.sends) || !owner_.owns(wanted.receives) ||
      (shared != nullptr && &shared->of() != this) || wanted.max_sends > limits.max_requests ||
      wanted.max_receives > limits.max_requests || wanted.max_send_parts > limits.max_parts ||
      wanted.max_receive_parts > limits.max_parts ||
      wanted.max_inline > owner_.options().max_inline) {
    return system::error_of(EINVAL);
  }
  if (owner_.pairs().size() >= limits.max_queue_pairs) return system::error_of(ENOMEM);
  return std::unique_ptr<queue_pair>(
      std::make_unique<pair>(owner_, *this, wanted, owner_.next_qpn()));
} catch (const std::bad_alloc&) {
  return system::error_of(ENOMEM);
}

created<shared_receive_queue> domain::create_shared_receive_queue(std::uint32_t max_receives,
                                                                  std::uint32_t max_parts) noexcept
    try {
  if (const auto error = owner_.allow(call::create_shared_receive_queue)) return error;
  const device_attributes& limits = owner_.attributes();
  if (max_receives == 0 || max_receives > limits.max_shared_receives ||
      max_parts > limits.max_parts) {
    return system::error_of(EINVAL);
  }
  if (owner_.live().shared_receive_queues >= limits.max_shared_receive_queues) {
    return system::error_of(ENOMEM);
  }
  auto made = std::make_unique<shared_receives>(owner_, *this, max_receives, max_parts);
  owner_.made(*made);
  return std::unique_ptr<shared_receive_queue>(std::move(made));
} catch (const std::bad_alloc&) {
  return system::error_of(ENOMEM);
}

shared_receives::~shared_receives() { owner_.destroyed(*this); }

std::error_code shared_receives::post(receive_request& first, receive_request** refused) noexcept
    try {
  if (const auto error = owner_.allow(call::post_receive)) {
    if (refused != nullptr) *refused = &first;
    return error;
  }
  return post_each(first, refused, [&](const receive_request& r) { return list_.post(r); });
} catch (const std::bad_alloc&) {
  return system::error_of(ENOMEM);
}

}  // namespace smc::rdma::simulator
