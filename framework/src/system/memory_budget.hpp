#pragma once
// How much of the process goes into rings: bytes and mappings, accounted before they are taken.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <smc/error.hpp>

#include "system/memory_limits.hpp"

namespace smc::system {

/// Accounts for the memory and the mappings of all rings of the process.
///
/// Guarantees: what take_*() granted is within the limits at that moment, also when several threads
/// ask at once. Threading: any thread. Fork: a child starts with an empty account, since it has
/// none of the memory; shares of an older generation give nothing back.
class memory_budget {
 public:
  /// What stays free in a control group, beyond what is asked for: the rest of the process must
  /// live too.
  static constexpr std::uint64_t group_reserve = 16u << 20;

  /// Reads the environment's limits; the limit for rings is 1/8 of the memory there is.
  memory_budget();
  /// For tests: limits as given; the control group is not looked at.
  memory_budget(std::uint64_t limit, std::size_t mapping_limit) noexcept;
  memory_budget(const memory_budget&) = delete;
  memory_budget& operator=(const memory_budget&) = delete;

  /// The process's own.
  static memory_budget& process();

  /// `buffer_memory_limit` of the configuration, bytes; 0 restores the default. What is in use
  /// stays in use.
  void set_limit(std::uint64_t bytes) noexcept;
  std::uint64_t limit() const noexcept { return limit_.load(std::memory_order_relaxed); }

  /// Takes bytes that are about to be reserved. none, memory_limit, or no_memory (the control group
  /// is too full).
  reason take_memory(std::uint64_t bytes) noexcept;
  void give_back_memory(std::uint64_t bytes) noexcept;
  std::uint64_t memory_in_use() const noexcept { return memory_.load(std::memory_order_relaxed); }

  /// Takes mappings: rings may have half of what the process may have. none or mapping_limit.
  reason take_mappings(std::size_t count) noexcept;
  void give_back_mappings(std::size_t count) noexcept;
  std::size_t mappings_in_use() const noexcept {
    return static_cast<std::size_t>(mappings_.load(std::memory_order_relaxed));
  }

  /// Whatever was in use belongs to the parent. Async-signal-safe.
  void forget_after_fork() noexcept;

 private:
  const bool asks_control_group_;
  const std::uint64_t default_limit_;
  const std::uint64_t mapping_limit_;
  std::atomic<std::uint64_t> limit_;
  std::atomic<std::uint64_t> memory_{0};
  std::atomic<std::uint64_t> mappings_{0};
};

/// Part of a budget, given back when it goes. Move-only.
class budget_share {
 public:
  budget_share() noexcept = default;
  budget_share(budget_share&& other) noexcept { swap(other); }
  budget_share& operator=(budget_share&& other) noexcept {
    budget_share moved(static_cast<budget_share&&>(other));
    swap(moved);
    return *this;
  }
  ~budget_share();

  /// Takes more from `budget` (always the same one). On failure nothing of this call is taken.
  reason take(memory_budget& budget, std::uint64_t bytes, std::size_t mappings) noexcept;

 private:
  void swap(budget_share& other) noexcept;

  memory_budget* budget_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::size_t mappings_ = 0;
  std::uint32_t generation_ = 0;
};

}  // namespace smc::system
