#pragma once
// The typed part of an operation: handler, executors, allocator, and what it performs (its
// "payload").
#include <asio/any_io_executor.hpp>
#include <asio/associated_allocator.hpp>
#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/dispatch.hpp>
#include <asio/error.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/prefer.hpp>
#include <asio/recycling_allocator.hpp>
#include <asio/require.hpp>
#include <optional>
#include <smc/detail/operation.hpp>
#include <smc/detail/reserved_memory.hpp>
#include <smc/detail/runs_anywhere.hpp>
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
    struct not_started {
      operation* op;
      ~not_started() {
        if (op) finish(*op, false);
      }
    } unless{op};
    if (slot.is_connected()) {
      const std::uint64_t id = host.new_id();
      operation_host::set_id(*op, id);
      // By key, not by pointer: a signal emitted after the operation ended finds nothing.
      auto cancel = [weak = host.weak_from_this(), id](asio::cancellation_type type) {
        constexpr auto honoured = asio::cancellation_type::terminal |
                                  asio::cancellation_type::partial | asio::cancellation_type::total;
        if ((type & honoured) == asio::cancellation_type::none) return;
        if (const auto alive = weak.lock()) alive->cancel(id);
      };
      // As Asio's own: the handler's slot need be able to do no more.
      slot.template emplace<decltype(cancel)>(std::move(cancel));
    }
    unless.op = nullptr;
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
  template <typename Allocator>
  class step_function {
   public:
    step_function(operation_impl& op, const Allocator& allocator) noexcept
        : op_(&op), allocator_(allocator) {}
    step_function(step_function&& other) noexcept
        : op_(std::exchange(other.op_, nullptr)), allocator_(other.allocator_) {}
    step_function(const step_function&) = delete;
    step_function& operator=(const step_function&) = delete;
    ~step_function() {
      if (op_) op_->discard();
    }
    using allocator_type = Allocator;
    allocator_type get_allocator() const noexcept { return allocator_; }
    void operator()() { std::exchange(op_, nullptr)->step(); }

   private:
    operation_impl* op_;
    Allocator allocator_;
  };

  /// Goes on to the handler's executor.
  template <typename On, typename Allocator>
  struct detour {
    using allocator_type = Allocator;
    allocator_type get_allocator() const noexcept { return step.get_allocator(); }
    void operator()() { asio::dispatch(executor, std::move(step)); }
    step_function<Allocator> step;
    On executor;
  };

  // An io_context frees a function's memory before it calls the function, so that the operation can
  // have it in itself: no memory is needed any more once it waits.
  static constexpr std::size_t trip_size = 64;
  using trip_allocator = reserved_allocator<void, trip_size>;
  using tracked_context_executor =
      std::decay_t<decltype(asio::prefer(std::declval<const asio::io_context::executor_type&>(),
                                         asio::execution::outstanding_work.tracked))>;

  /// The executor as an io_context's, if it is one.
  static const tracked_context_executor* of_a_context(
      const tracked_handler_executor& executor) noexcept {
    if constexpr (std::is_same_v<tracked_handler_executor, tracked_context_executor>) {
      return &executor;
    } else if constexpr (std::is_same_v<tracked_handler_executor, asio::any_io_executor>) {
      if (executor.target_type() != typeid(tracked_context_executor)) return nullptr;
      return executor.template target<tracked_context_executor>();
    } else {
      return nullptr;
    }
  }

  template <typename On, typename Allocator>
  static void send(const On& executor, operation_impl& self, const Allocator& allocator,
                   bool post) {
    if (post) {
      if constexpr (asio::can_require_v<On, asio::execution::blocking_t::never_t> &&
                    !runs_anywhere<On>) {
        asio::post(executor, step_function<Allocator>(self, allocator));
      } else {  // calls in place, or may: from the stream's own executor then, as Asio does
        const tracked_io_executor io = self.work_->io;
        asio::post(io, detour<On, Allocator>{step_function<Allocator>(self, allocator), executor});
      }
    } else {
      asio::dispatch(executor, step_function<Allocator>(self, allocator));
    }
  }

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
    if (const auto* context = of_a_context(executor)) {
      send(*context, self, trip_allocator(self.trip_), post);
    } else {
      send(executor, self, get_allocator(self.handler_), post);
    }
  }

  static void finish(operation& op, bool call) {
    auto& self = static_cast<operation_impl&>(op);
    if (self.work_) {  // no local optional: g++ 12 takes an empty one for uninitialised
      [[maybe_unused]] const work keep(std::move(*self.work_));
      end(self, call);
    } else {
      end(self, call);
    }
  }

  static void end(operation_impl& self, bool call) {
    storage memory(get_allocator(self.handler_), &self);
    Handler handler(std::move(self.handler_));
    if (!call) {  // there is no result
      self.~operation_impl();
      memory.free();
      return;
    }
    auto result = self.payload_.result(self);
    self.~operation_impl();
    memory.free();  // before the handler runs: it may start the next operation in the same place
    std::apply(std::move(handler), std::move(result));
  }

  static constexpr functions table{&perform, &schedule, &finish};

  Handler handler_;
  Payload payload_;
  std::optional<work> work_;
  reserved_memory<trip_size> trip_;
};

}  // namespace smc::detail
