#pragma once
// Receives that were posted, of one queue pair or shared.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "smcr/device.hpp"

namespace smc::rdma::simulator {

class receive_list {
 public:
  struct receive {
    std::uint64_t id = 0;
    std::vector<memory_part> parts;
    std::uint64_t count = 0;  ///< receives taken, this one included
  };

  receive_list(std::uint32_t depth, std::uint32_t max_parts) noexcept
      : depth_(depth), max_parts_(max_parts) {}

  /// ENOMEM: full. EINVAL: too many parts.
  std::error_code post(const receive_request& r) {
    if (r.part_count < 0 || static_cast<std::uint32_t>(r.part_count) > max_parts_) {
      return system::error_of(EINVAL);
    }
    if (taken_ + posted_.size() - freed_ >= depth_) return system::error_of(ENOMEM);
    posted_.push_back({r.id, {r.parts, r.parts + r.part_count}, 0});
    return {};
  }

  bool empty() const noexcept { return posted_.empty(); }

  /// Requires that it is not empty.
  receive take() {
    receive r = std::move(posted_.front());
    posted_.pop_front();
    r.count = ++taken_;
    return r;
  }

  /// The first so many are over and polled: their room is free.
  void released(std::uint64_t count) noexcept { freed_ = std::max(freed_, count); }

  void clear() noexcept { posted_.clear(); }

 private:
  std::uint32_t depth_;
  std::uint32_t max_parts_;
  std::deque<receive> posted_;
  std::uint64_t taken_ = 0;
  std::uint64_t freed_ = 0;
};

}  // namespace smc::rdma::simulator
