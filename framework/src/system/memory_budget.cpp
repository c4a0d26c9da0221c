#include "system/memory_budget.hpp"

#include <new>
#include <utility>

#include "system/fork.hpp"

namespace smc::system {

namespace {

std::uint64_t share_of(std::uint64_t total) noexcept {
  return total == no_memory_limit ? no_memory_limit : total / 8;
}

bool take(std::atomic<std::uint64_t>& in_use, std::uint64_t amount, std::uint64_t limit) noexcept {
  auto now = in_use.load(std::memory_order_relaxed);
  do {
    if (now > limit || amount > limit - now) return false;
  } while (!in_use.compare_exchange_weak(now, now + amount, std::memory_order_relaxed));
  return true;
}

memory_budget* process_budget = nullptr;

void forget_in_child() noexcept {
  if (process_budget != nullptr) process_budget->forget_after_fork();
}

}  // namespace

memory_budget::memory_budget()
    : asks_control_group_(true),
      default_limit_(share_of(read_memory_limits().total())),
      mapping_limit_(read_mapping_limit() / 2),
      limit_(default_limit_) {}

memory_budget::memory_budget(std::uint64_t limit, std::size_t mapping_limit) noexcept
    : asks_control_group_(false),
      default_limit_(limit),
      mapping_limit_(mapping_limit),
      limit_(limit) {}

memory_budget& memory_budget::process() {
  // Never destroyed: rings may outlive every static object.
  static memory_budget& budget = []() -> memory_budget& {
    process_budget = new memory_budget;
    register_child_handler(&forget_in_child);
    return *process_budget;
  }();
  return budget;
}

void memory_budget::set_limit(std::uint64_t bytes) noexcept {
  limit_.store(bytes == 0 ? default_limit_ : bytes, std::memory_order_relaxed);
}

reason memory_budget::take_memory(std::uint64_t bytes) noexcept {
  if (!take(memory_, bytes, limit())) return reason::memory_limit;
  if (!asks_control_group_) return reason::none;
  try {
    const auto free = read_memory_limits().group_free;
    if (free == no_memory_limit || (free > group_reserve && bytes <= free - group_reserve)) {
      return reason::none;
    }
  } catch (const std::bad_alloc&) {
    // Then there is no memory for rings either.
  }
  give_back_memory(bytes);
  return reason::no_memory;
}

void memory_budget::give_back_memory(std::uint64_t bytes) noexcept {
  memory_.fetch_sub(bytes, std::memory_order_relaxed);
}

reason memory_budget::take_mappings(std::size_t count) noexcept {
  return take(mappings_, count, mapping_limit_) ? reason::none : reason::mapping_limit;
}

void memory_budget::give_back_mappings(std::size_t count) noexcept {
  mappings_.fetch_sub(count, std::memory_order_relaxed);
}

void memory_budget::forget_after_fork() noexcept {
  memory_.store(0, std::memory_order_relaxed);
  mappings_.store(0, std::memory_order_relaxed);
}

budget_share::~budget_share() {
  if (budget_ == nullptr || generation_ != fork_generation()) return;
  budget_->give_back_memory(bytes_);
  budget_->give_back_mappings(mappings_);
}

reason budget_share::take(memory_budget& budget, std::uint64_t bytes,
                          std::size_t mappings) noexcept {
  if (const auto why = budget.take_mappings(mappings); why != reason::none) return why;
  if (bytes != 0) {
    if (const auto why = budget.take_memory(bytes); why != reason::none) {
      budget.give_back_mappings(mappings);
      return why;
    }
  }
  budget_ = &budget;
  bytes_ += bytes;
  mappings_ += mappings;
  generation_ = fork_generation();
  return reason::none;
}

void budget_share::swap(budget_share& other) noexcept {
  std::swap(budget_, other.budget_);
  std::swap(bytes_, other.bytes_);
  std::swap(mappings_, other.mappings_);
  std::swap(generation_, other.generation_);
}

}  // namespace smc::system
