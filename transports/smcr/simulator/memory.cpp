#include "smcr/simulator/memory.hpp"

#include <algorithm>

namespace smc::rdma::simulator {

region::~region() { table_.remove(*this); }

created<memory_region> memory_table::add(const domain& owner, std::span<std::byte> bytes,
                                         unsigned allowed, const device_attributes& limits) {
  if (bytes.empty() || bytes.size() > limits.max_region_size) return system::error_of(EINVAL);
  // Verbs' rule: who may write from afar may also write here.
  if ((allowed & access::remote_write) != 0 && (allowed & access::local_write) == 0) {
    return system::error_of(EINVAL);
  }
  if (by_lkey_.size() >= limits.max_regions || bytes.size() > max_locked_ - locked_) {
    return system::error_of(ENOMEM);
  }
  const std::uint32_t rkey = next_ << 8 | salt_;
  // Another number than the rkey, so that taking one for the other is noticed.
  const std::uint32_t lkey = next_ << 8 | (salt_ ^ 0x55U);
  ++next_;
  auto r = std::make_unique<region>(*this, owner, bytes, allowed, lkey, rkey);
  by_lkey_.emplace(lkey, r.get());
  by_rkey_.emplace(rkey, r.get());
  locked_ += bytes.size();
  return std::unique_ptr<memory_region>(std::move(r));
}

void memory_table::remove(const region& r) noexcept {
  by_lkey_.erase(r.lkey());
  by_rkey_.erase(r.rkey());
  locked_ -= r.bytes().size();
}

std::byte* memory_table::local(const domain& user, const memory_part& part,
                               unsigned rights) const noexcept {
  const auto found = by_lkey_.find(part.lkey);
  if (found == by_lkey_.end() || &found->second->owner() != &user ||
      !found->second->allows(rights)) {
    return nullptr;
  }
  return found->second->at(part.address, part.length);
}

std::byte* memory_table::remote(const domain& user, std::uint32_t rkey, std::uint64_t address,
                                std::uint64_t length) const noexcept {
  const auto found = by_rkey_.find(rkey);
  if (found == by_rkey_.end() || &found->second->owner() != &user ||
      !found->second->allows(access::remote_write)) {
    return nullptr;
  }
  return found->second->at(address, length);
}

std::size_t memory_table::count_of(const domain& owner) const noexcept {
  return static_cast<std::size_t>(
      std::count_if(by_lkey_.begin(), by_lkey_.end(),
                    [&](const auto& entry) { return &entry.second->owner() == &owner; }));
}

}  // namespace smc::rdma::simulator
