#pragma once
// What each asynchronous operation of an acceptor performs, and what its handler gets.
#include <asio/error.hpp>
#include <asio/execution/executor.hpp>
#include <asio/ip/tcp.hpp>
#include <new>
#include <smc/detail/acceptor_api.hpp>
#include <smc/detail/operation_impl.hpp>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>

namespace smc::detail {

template <typename T>
concept context_like = requires(std::remove_reference_t<T>& c) {
  typename std::remove_cvref_t<T>::executor_type;
  { c.get_executor() } -> std::convertible_to<asio::any_io_executor>;
}
&&std::is_base_of_v<asio::execution_context, std::remove_cvref_t<T>>;
template <typename T>
concept executor_like = asio::execution::is_executor<std::remove_cvref_t<T>>::value;
template <typename T>
concept executor_or_context =
    executor_like<T> || context_like<T> || std::is_same_v<std::remove_cvref_t<T>, event_loop>;

// Result types without deduction: clang 14 asks for them of an error code, too, before it looks at
// the constraints.
template <typename T>
requires executor_like<T> std::remove_const_t<T> get_executor_of(T& target) { return target; }
template <typename T>
requires(!executor_like<T>) auto get_executor_of(T& target) -> decltype(target.get_executor()) {
  return target.get_executor();
}
template <typename T>
using executor_of =
    std::decay_t<decltype(get_executor_of(std::declval<std::remove_reference_t<T>&>()))>;

template <typename Stream>
struct accept_operation {
  Stream* into;
  asio::ip::tcp::endpoint* peer_endpoint;
  accepted_ptr accepted;

  bool perform(operation& op, void* target) noexcept { return accept_step(op, target, accepted); }
  std::tuple<std::error_code> result(operation& op) {
    if (!op.error) op.error = adopt_into(*into, std::move(accepted), peer_endpoint);
    return {op.error};
  }
};

template <typename Stream>
struct accept_moved_operation {
  typename Stream::executor_type executor;
  asio::ip::tcp::endpoint* peer_endpoint;
  accepted_ptr accepted;

  bool perform(operation& op, void* target) noexcept { return accept_step(op, target, accepted); }
  std::tuple<std::error_code, Stream> result(operation& op) {
    Stream peer(executor, typename Stream::without_core());
    try {
      peer = Stream(executor);
      if (!op.error) op.error = adopt_into(peer, std::move(accepted), peer_endpoint);
    } catch (const std::bad_alloc&) {
      op.error = asio::error::no_memory;
    }
    return {op.error, std::move(peer)};
  }
};

struct accept_wait_operation {
  bool perform(operation& op, void* target) noexcept { return accept_wait_step(op, target); }
  std::tuple<std::error_code> result(operation& op) const { return {op.error}; }
};

}  // namespace smc::detail
