#pragma once
// The library's own waits for a descriptor: each owner has one at a time, and the memory for it
// from the beginning. (A child of fork() may allocate, while the parent's is still to be dropped.)
#include <array>
#include <asio/bind_allocator.hpp>
#include <asio/cancellation_signal.hpp>
#include <smc/detail/reserved_memory.hpp>
#include <utility>

namespace smc::detail {

using wait_memory = reserved_memory<512>;

/// The handler, which then waits in `memory`; that outlives it.
template <typename Handler>
auto waiting_in(wait_memory& memory, Handler&& handler) {
  return asio::bind_allocator(reserved_allocator<void, 512>(memory),
                              std::forward<Handler>(handler));
}

/// Has the signal keep memory for what Asio puts into its slot.
inline void reserve_slot(asio::cancellation_signal& signal) {
  struct room {
    std::array<void*, 8> as_much;
    void operator()(asio::cancellation_type) const noexcept {}
  };
  (void)signal.slot().emplace<room>();
}

}  // namespace smc::detail
