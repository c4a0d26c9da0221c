#pragma once
#include <asio/execution/context.hpp>
#include <asio/execution_context.hpp>
#include <asio/query.hpp>
#include <asio/system_context.hpp>
#include <concepts>

namespace smc::detail {

/// An executor that is satisfied with any thread, as that of asio::use_future: it names no context
/// but the system's, whose threads are not to be started for the library's sake.
template <typename Executor>
concept runs_anywhere = !requires(const Executor& e) {
  { asio::query(e, asio::execution::context) } -> std::convertible_to<asio::execution_context&>;
}
|| requires(const Executor& e) {
  { asio::query(e, asio::execution::context) } -> std::same_as<asio::system_context&>;
};

}  // namespace smc::detail
