#pragma once
// The typed part of an operation: handler, executors, allocator, and what it performs (its
// "payload").
#include <asio/any_io_executor.hpp>
#include <asio/associated_allocator.hpp>
#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/dispatch.hpp>
#include <asio/error.hpp>
#include <asio/post.hpp>
#include <asio/prefer.hpp>
#include <asio/recycling_allocator.hpp>
#include <optional>
#include <smc/detail/operation.hpp>
#include <smc/event_loop.hpp>
#include <tuple>
#include <typeinfo>
#include <utility>

namespace smc::detail {

/// Whether handlers of `executor` run in the turn of `loop` itself, so that no dispatch is needed.
template <typename Executor>
bool is_executor_of(const Executor& executor, const loop_core* loop) noexcept {
  if constexpr (std::is_same_v<Executor, event_loop::executor_type>) {
    return loop && executor.core() == loop;
  } else if constexpr (std::is_same_v<Executor, asio::any_io_executor>) {
    // target<T>() does not look at the type (Asio 1.22.1): what a strand keeps in front would pass
    // for the loop itself.
    if (!loop || executor.target_type() != typeid(event_loop::executor_type)) return false;
    return executor.template target<event_loop::executor_type>()->core() == loop;
  } else {
    return false;
  }
}

/// `Payload`: `bool perform(operation&, void* target) noexcept` and `auto result(operation&)`, a
/// tuple of the handler's arguments.
template <typename Payload, typename Handler, typename IoExecutor>
class operation_impl final : public operation {
 public:
  using handler_executor = asio::associated_executor_t<Handler, IoExecutor>;
  using allocator_type = asio::associated_allocator_t<Handler, asio::recycling_allocator<void>>;

  /// Allocates the operation with the handler's allocator and starts it on `host`.
  static void start(operation_host& host, unsigned char queue, const IoExecutor& io,
                    Handler&& handler, Payload&& payload) {
    auto slot = asio::get_associated_cancellation_slot(handler);
    storage memory(get_allocator(handler));
    auto* op = new (memory.get())
        operation_impl(queue, host.loop(), io, std::move(handler), std::move(payload));
    memory.release();
    if (slot.is_connected()) {
      const std::uint64_t id = host.new_id();
      operation_host::set_id(*op, id);
      // By key, not by pointer: a signal emitted after the operation ended finds nothing.
      slot.assign([weak = host.weak_from_this(), id](asio::cancellation_type type) {
        constexpr auto honoured = asio::cancellation_type::terminal |
                                  asio::cancellation_type::partial | asio::cancellation_type::total;
        if ((type & honoured) == asio::cancellation_type::none) return;
        if (const auto alive = weak.lock()) alive->cancel(id);
      });
    }
    host.start(*op, op->direct_);
  }

 private:
  using tracked_handler_executor = std::decay_t<decltype(asio::prefer(
      std::declval<const handler_executor&>(), asio::execution::outstanding_work.tracked))>;
  using tracked_io_executor = std::decay_t<decltype(asio::prefer(
      std::declval<const IoExecutor&>(), asio::execution::outstanding_work.tracked))>;
  struct work {  // of a handler that is dispatched: both executors stay busy until it was called
    tracked_handler_executor handler;
    tracked_io_executor io;
  };

  /// What travels through the handler's executor. Destroyed unused, it destroys the operation.
  class step_function {
   public:
    explicit step_function(operation_impl& op) noexcept
        : op_(&op), allocator_(get_allocator(op.handler_)) {}
    step_function(step_function&& other) noexcept
        : op_(std::exchange(other.op_, nullptr)), allocator_(other.allocator_) {}
    step_function(const step_function&) = delete;
    step_function& operator=(const step_function&) = delete;
    ~step_function() {
      if (op_) op_->discard();
    }
    using allocator_type = operation_impl::allocator_type;
    allocator_type get_allocator() const noexcept { return allocator_; }
    void operator()() { std::exchange(op_, nullptr)->step(); }

   private:
    static allocator_type get_allocator(const Handler& handler) {
      return operation_impl::get_allocator(handler);
    }
    operation_impl* op_;
    allocator_type allocator_;
  };

  static allocator_type get_allocator(const Handler& handler) {
    return asio::get_associated_allocator(handler, asio::recycling_allocator<void>());
  }

  class storage {  // raw memory for one operation, freed unless released
   public:
    explicit storage(const allocator_type& allocator)
        : allocator_(allocator), memory_(traits::allocate(allocator_, 1)) {}
    storage(const allocator_type& allocator, operation_impl* op)
        : allocator_(allocator), memory_(op) {}
    ~storage() { free(); }
    storage(const storage&) = delete;
    storage& operator=(const storage&) = delete;
    operation_impl* get() const noexcept { return memory_; }
    void release() noexcept { memory_ = nullptr; }
    void free() noexcept {
      if (memory_) traits::deallocate(allocator_, std::exchange(memory_, nullptr), 1);
    }

   private:
    using traits =
        typename std::allocator_traits<allocator_type>::template rebind_traits<operation_impl>;
    typename traits::allocator_type allocator_;
    operation_impl* memory_;
  };

  operation_impl(unsigned char queue, loop_core* loop, const IoExecutor& io, Handler&& handler,
                 Payload&& payload)
      : operation(&table, queue), handler_(std::move(handler)), payload_(std::move(payload)) {
    const auto executor = asio::get_associated_executor(handler_, io);
    direct_ = is_executor_of(executor, loop);
    if (!direct_) {
      work_.emplace(work{asio::prefer(executor, asio::execution::outstanding_work.tracked),
                         asio::prefer(io, asio::execution::outstanding_work.tracked)});
    }
  }

  static bool perform(operation& op, void* target) noexcept {
    auto& self = static_cast<operation_impl&>(op);
    return self.payload_.perform(self, target);
  }

  static void schedule(operation& op, bool post) {
    auto& self = static_cast<operation_impl&>(op);
    // A copy: the operation, and the executor in it, may be gone before dispatch() returns.
    const tracked_handler_executor executor = self.work_->handler;
    if (post) {
      asio::post(executor, step_function(self));
    } else {
      asio::dispatch(executor, step_function(self));
    }
  }

  static void finish(operation& op, bool call) {
    auto& self = static_cast<operation_impl&>(op);
    storage memory(get_allocator(self.handler_), &self);
    Handler handler(std::move(self.handler_));
    std::optional<work> keep(std::move(self.work_));
    auto result = self.payload_.result(self);
    self.~operation_impl();
    memory.free();  // before the handler runs: it may start the next operation in the same place
    if (call) std::apply(std::move(handler), std::move(result));
  }

  static constexpr functions table{&perform, &schedule, &finish};

  Handler handler_;
  Payload payload_;
  std::optional<work> work_;
};

}  // namespace smc::detail
