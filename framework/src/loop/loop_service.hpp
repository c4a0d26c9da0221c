#pragma once
#include <asio/execution_context.hpp>

namespace smc::detail {

class loop_core;

/// Tells whether a context is an event_loop's. Every context that is asked gets one, so that asking
/// and making never race; only event_loop's knows a loop.
class loop_service final : public asio::execution_context::service {
 public:
  static asio::execution_context::id id;

  explicit loop_service(asio::execution_context& context, loop_core* loop = nullptr)
      : service(context), loop_(loop) {}

  loop_core* loop() const noexcept { return loop_; }

 private:
  void shutdown() noexcept override {}

  loop_core* const loop_;
};

}  // namespace smc::detail
