#pragma once
// Registered memory of a simulated device: keys, bounds, rights.
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>

#include "smcr/device.hpp"

namespace smc::rdma::simulator {

class domain;
class memory_table;

class region final : public memory_region {
 public:
  region(memory_table& table, const domain& owner, std::span<std::byte> bytes, unsigned allowed,
         std::uint32_t lkey, std::uint32_t rkey) noexcept
      : memory_region(bytes, lkey, rkey), table_(table), owner_(owner), allowed_(allowed) {}
  region(const region&) = delete;
  ~region() override;

  const domain& owner() const noexcept { return owner_; }

  /// The bytes at an address of the region; nullptr where some lie outside.
  std::byte* at(std::uint64_t address, std::uint64_t length) const noexcept {
    const std::uint64_t begin = this->address();
    if (address < begin || address - begin > bytes().size() ||
        length > bytes().size() - (address - begin)) {
      return nullptr;
    }
    return bytes().data() + (address - begin);
  }
  bool allows(unsigned rights) const noexcept { return (allowed_ & rights) == rights; }

 private:
  memory_table& table_;
  const domain& owner_;
  unsigned allowed_;
};

/// All regions of a device. Keys do not come again, so that a stale one is noticed.
class memory_table {
 public:
  /// `salt` makes keys differ from device to device.
  memory_table(std::uint32_t salt, std::uint64_t max_locked) noexcept
      : salt_(salt & 0xffU), max_locked_(max_locked) {}

  /// ENOMEM beyond the limits, EINVAL for an empty region or rights that do not go together.
  created<memory_region> add(const domain& owner, std::span<std::byte> bytes, unsigned allowed,
                             const device_attributes& limits);

  /// Local bytes, or nullptr: unknown key, other domain, out of bounds, missing rights.
  std::byte* local(const domain& user, const memory_part& part, unsigned rights) const noexcept;
  /// What a peer means that reached a queue pair of `user`; the same errors.
  std::byte* remote(const domain& user, std::uint32_t rkey, std::uint64_t address,
                    std::uint64_t length) const noexcept;

  std::size_t size() const noexcept { return by_lkey_.size(); }
  std::size_t count_of(const domain& owner) const noexcept;
  std::uint64_t locked() const noexcept { return locked_; }
  std::uint64_t ever_registered() const noexcept { return next_ - 1; }

 private:
  friend class region;
  void remove(const region& r) noexcept;

  std::uint32_t salt_;
  std::uint64_t max_locked_;
  std::uint64_t locked_ = 0;
  std::uint32_t next_ = 1;
  std::unordered_map<std::uint32_t, const region*> by_lkey_;
  std::unordered_map<std::uint32_t, const region*> by_rkey_;
};

}  // namespace smc::rdma::simulator
