#pragma once
// Executors that have what Asio asks of one, and nothing else: no tracked work, no allocator, no
// relationship, no running_in_this_thread().
#include <asio/execution.hpp>
#include <asio/io_context.hpp>
#include <utility>

namespace smc::test {

/// Of sockets, timers and strands.
class minimal_executor {
 public:
  explicit minimal_executor(asio::io_context& context) noexcept : context_(&context) {}

  template <typename Function>
  void execute(Function&& f) const {
    asio::execution::execute(
        asio::require(context_->get_executor(), asio::execution::blocking.never),
        std::forward<Function>(f));
  }
  asio::execution_context& query(asio::execution::context_t) const noexcept { return *context_; }
  static constexpr asio::execution::blocking_t query(asio::execution::blocking_t) noexcept {
    return asio::execution::blocking.never;
  }
  friend bool operator==(const minimal_executor& a, const minimal_executor& b) noexcept {
    return a.context_ == b.context_;
  }
  friend bool operator!=(const minimal_executor& a, const minimal_executor& b) noexcept {
    return !(a == b);
  }

 private:
  asio::io_context* context_;
};

/// Only of handlers: it need not say of which context it is, nor whether it calls in place.
class handler_executor {
 public:
  handler_executor(asio::io_context& context, int& executed) noexcept
      : context_(&context), executed_(&executed) {}

  template <typename Function>
  void execute(Function&& f) const {
    ++*executed_;
    asio::execution::execute(
        asio::require(context_->get_executor(), asio::execution::blocking.never),
        std::forward<Function>(f));
  }
  friend bool operator==(const handler_executor& a, const handler_executor& b) noexcept {
    return a.context_ == b.context_;
  }
  friend bool operator!=(const handler_executor& a, const handler_executor& b) noexcept {
    return !(a == b);
  }

 private:
  asio::io_context* context_;
  int* executed_;
};

}  // namespace smc::test
