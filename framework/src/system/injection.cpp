#include "system/injection.hpp"

namespace smc::system {

namespace detail {
std::atomic<bool> injection_active{false};
namespace {
constexpr int any_kind = -1;
std::atomic<int> wanted_kind{any_kind};
std::atomic<std::uint64_t> calls_before{0};
std::atomic<int> error_number{0};
std::atomic<bool> done{false};
std::atomic<interruption_scope::interruption> interrupts{nullptr};
}  // namespace

int injected_failure(call kind) noexcept {
  const int wanted = wanted_kind.load(std::memory_order_relaxed);
  if (wanted != any_kind && wanted != static_cast<int>(kind)) return 0;
  // Wraps below zero after the failing call: no later one fails.
  if (calls_before.fetch_sub(1, std::memory_order_relaxed) != 0) return 0;
  done.store(true, std::memory_order_relaxed);
  if (const auto then = interrupts.load(std::memory_order_relaxed)) then();
  return error_number.load(std::memory_order_relaxed);
}

namespace {
void start(int kind, std::uint64_t nth, int error,
           interruption_scope::interruption then = nullptr) noexcept {
  wanted_kind.store(kind, std::memory_order_relaxed);
  calls_before.store(nth, std::memory_order_relaxed);
  error_number.store(error, std::memory_order_relaxed);
  interrupts.store(then, std::memory_order_relaxed);
  done.store(false, std::memory_order_relaxed);
  injection_active.store(true, std::memory_order_release);
}

void stop() noexcept { injection_active.store(false, std::memory_order_release); }
}  // namespace
}  // namespace detail

failure_scope::failure_scope(call kind, std::uint64_t nth, int error) noexcept : nth_(nth) {
  detail::start(static_cast<int>(kind), nth, error);
}

failure_scope::failure_scope(std::uint64_t nth_of_all, int error) noexcept : nth_(nth_of_all) {
  detail::start(detail::any_kind, nth_of_all, error);
}

failure_scope::~failure_scope() { detail::stop(); }

bool failure_scope::triggered() const noexcept {
  return detail::done.load(std::memory_order_relaxed);
}

std::uint64_t failure_scope::calls() const noexcept {
  return nth_ - detail::calls_before.load(std::memory_order_relaxed);
}

interruption_scope::interruption_scope(std::uint64_t nth, interruption then) noexcept {
  detail::start(detail::any_kind, nth, 0, then);
}

interruption_scope::~interruption_scope() { detail::stop(); }

}  // namespace smc::system
