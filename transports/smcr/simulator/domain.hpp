#pragma once
// Protection domains and shared receive queues of a simulated device.
#include "smcr/device.hpp"
#include "smcr/simulator/receive_list.hpp"

namespace smc::rdma::simulator {

class adapter;

class domain final : public protection_domain {
 public:
  explicit domain(adapter& owner) noexcept : owner_(owner) {}
  domain(const domain&) = delete;
  ~domain() override;

  created<memory_region> register_memory(std::span<std::byte> bytes,
                                         unsigned allowed) noexcept override;
  created<queue_pair> create_queue_pair(const queue_pair_options& wanted) noexcept override;
  created<shared_receive_queue> create_shared_receive_queue(
      std::uint32_t max_receives, std::uint32_t max_parts) noexcept override;

 private:
  adapter& owner_;
};

class shared_receives final : public shared_receive_queue {
 public:
  shared_receives(adapter& owner, const domain& of, std::uint32_t depth, std::uint32_t max_parts)
      : owner_(owner), domain_(of), list_(depth, max_parts) {}
  shared_receives(const shared_receives&) = delete;
  ~shared_receives() override;

  std::error_code post(receive_request& first, receive_request** refused) noexcept override;

  const domain& of() const noexcept { return domain_; }
  receive_list& list() noexcept { return list_; }

 private:
  adapter& owner_;
  const domain& domain_;
  receive_list list_;
};

/// Posts a list one by one; on an error `*refused` is the first that was not taken.
template <typename Request, typename Post>
std::error_code post_each(Request& first, Request** refused, Post&& post) {
  for (Request* r = &first; r != nullptr; r = r->next) {
    if (const std::error_code error = post(*r)) {
      if (refused != nullptr) *refused = r;
      return error;
    }
  }
  return {};
}

}  // namespace smc::rdma::simulator
