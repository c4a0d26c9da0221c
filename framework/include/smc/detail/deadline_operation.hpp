#pragma once
// One operation under a deadline: its handler, a timer, and the signal that cancels it.
//
// Three parties hold it, the initiating function, the operation and the timer, and each request of
// the user's to cancel that is on its way. Whoever leaves last calls the handler. All but the
// initiating function run on one executor (turn_executor_of), so that the signal, which is not safe
// to use from several threads, needs no lock; what happens there before the initiating function is
// done with the signal waits until it is.
#include <asio/any_io_executor.hpp>
#include <asio/associated_allocator.hpp>
#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/basic_waitable_timer.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/dispatch.hpp>
#include <asio/error.hpp>
#include <asio/io_context.hpp>
#include <asio/multiple_exceptions.hpp>
#include <asio/post.hpp>
#include <asio/recycling_allocator.hpp>
#include <asio/strand.hpp>
#include <asio/thread_pool.hpp>
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <smc/detail/runs_anywhere.hpp>
#include <smc/event_loop.hpp>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>

namespace smc::detail {

// ---- one step at a time

/// `executor`, if it is known to run one function at a time, or else a strand over it.
template <typename Executor>
asio::strand<Executor> in_turn(const Executor& executor) {
  return asio::strand<Executor>(executor);
}
template <typename Executor>
asio::strand<Executor> in_turn(const asio::strand<Executor>& executor) {
  return executor;
}
inline event_loop::executor_type in_turn(const event_loop::executor_type& executor) {
  return executor;
}
inline asio::any_io_executor in_turn(const asio::any_io_executor& executor) {
  const auto& type = executor.target_type();
  const bool one_at_a_time = type == typeid(event_loop::executor_type) ||
                             type == typeid(asio::strand<asio::any_io_executor>) ||
                             type == typeid(asio::strand<event_loop::executor_type>) ||
                             type == typeid(asio::strand<asio::io_context::executor_type>) ||
                             type == typeid(asio::strand<asio::thread_pool::executor_type>);
  return one_at_a_time ? executor : asio::any_io_executor(asio::make_strand(executor));
}
template <typename Executor>
using turn_executor_of = decltype(in_turn(std::declval<const Executor&>()));

// ---- results

inline bool is_aborted(const std::error_code& error) noexcept {
  return error == asio::error::operation_aborted;
}
inline bool is_aborted(const std::exception_ptr& error) noexcept {
  if (!error) return false;
  try {
    std::rethrow_exception(error);
  } catch (const std::system_error& e) {
    return is_aborted(e.code());
  } catch (const asio::multiple_exceptions& e) {  // a || b, both cancelled
    return is_aborted(e.first_exception());
  } catch (...) {
    return false;
  }
}

inline void set_timed_out(std::error_code& error) noexcept { error = asio::error::timed_out; }
inline void set_timed_out(std::exception_ptr& error) {
  error = std::make_exception_ptr(std::system_error(std::error_code(asio::error::timed_out)));
}

// ---- the operation

/// `IoExecutor`: where the timer lives, and the handler's default. `Results`: the handler's
/// arguments, decayed.
template <typename Handler, typename IoExecutor, typename... Results>
class deadline_operation {
 public:
  using handler_executor = asio::associated_executor_t<Handler, IoExecutor>;
  static constexpr bool anywhere = runs_anywhere<handler_executor>;
  using turn_executor =
      turn_executor_of<std::conditional_t<anywhere, IoExecutor, handler_executor>>;
  using default_allocator = asio::recycling_allocator<void>;
  using allocator_type = asio::associated_allocator_t<Handler, default_allocator>;
  using clock = std::chrono::steady_clock;

  deadline_operation(Handler&& handler, const IoExecutor& io)
      : turn_(in_turn(base_of(handler, io))), timer_(io), handler_(std::move(handler)) {}
  deadline_operation(const deadline_operation&) = delete;
  deadline_operation& operator=(const deadline_operation&) = delete;

  template <typename Initiation, typename... Init>
  static void start(Initiation&& initiation, const IoExecutor& io, clock::time_point when,
                    Handler&& handler, Init&&... init) {
    const auto allocator = asio::get_associated_allocator(handler, default_allocator());
    auto op = std::allocate_shared<deadline_operation>(allocator, std::move(handler), io);
    auto slot = asio::get_associated_cancellation_slot(op->handler_);
    // Not an owner, so that a signal that outlives the operation keeps nothing alive.
    if (slot.is_connected()) slot.template emplace<forwarder>(forwarder{op});
    op->timer_.expires_at(when);
    op->timer_.async_wait(timer_handler{op});
    try {
      std::forward<Initiation>(initiation)(operation_handler{op}, std::forward<Init>(init)...);
    } catch (...) {
      if (slot.is_connected()) slot.clear();
      op->timer_.cancel();  // nothing was started: the timer's handler destroys the user's
      throw;
    }
    leave_initiation(std::move(op));
  }

 private:
  using pointer = std::shared_ptr<deadline_operation>;

  // Through these the parties hold the operation. They run, as the operation's own steps, in turn_.
  struct party {
    using executor_type = turn_executor;
    using allocator_type = deadline_operation::allocator_type;
    explicit party(pointer p)
        : op(std::move(p)),
          allocator(asio::get_associated_allocator(op->handler_, default_allocator())) {}
    executor_type get_executor() const noexcept { return op->turn_; }
    allocator_type get_allocator() const noexcept { return allocator; }
    pointer op;
    allocator_type allocator;  // Asio's work_dispatcher asks for it after it moved `op` away
  };
  struct operation_handler : party {
    using party::party;
    using cancellation_slot_type = asio::cancellation_slot;
    cancellation_slot_type get_cancellation_slot() const noexcept {
      return party::op->signal_.slot();
    }
    template <typename... R>
    void operator()(R&&... results) {
      completed(std::move(party::op), std::forward<R>(results)...);
    }
  };
  struct timer_handler : party {
    using party::party;
    void operator()(const std::error_code& error) { timer_ended(std::move(party::op), error); }
  };
  template <typename F>
  struct step : party {
    step(pointer&& p, F f) : party(std::move(p)), function(std::move(f)) {}
    F function;
    void operator()() { function(std::move(party::op)); }
  };
  struct forwarder {
    std::weak_ptr<deadline_operation> op;
    void operator()(asio::cancellation_type type) const {
      if (auto alive = op.lock(); alive && alive->join()) {
        const auto executor = alive->turn_;
        auto pass_on = [type](pointer&& self) {
          if ((type & asio::cancellation_type::terminal) != asio::cancellation_type::none) {
            self->ended_by_user_ = true;
          }
          self->cancel(type);
          leave(std::move(self));
        };
        asio::dispatch(executor, step<decltype(pass_on)>(std::move(alive), pass_on));
      }
    }
  };

  /// One party more, unless all have left.
  bool join() noexcept {
    unsigned parties = parties_.load(std::memory_order_relaxed);
    while (parties != 0 &&
           !parties_.compare_exchange_weak(parties, parties + 1, std::memory_order_acq_rel)) {
    }
    return parties != 0;
  }

  enum initiation_state : unsigned { initiated = 1, step_waits = 2 };

  static decltype(auto) base_of(const Handler& handler, const IoExecutor& io) noexcept {
    if constexpr (anywhere) {
      return IoExecutor(io);
    } else {
      return asio::get_associated_executor(handler, io);
    }
  }

  template <typename F>
  static void post(pointer&& op, F f) {
    const auto executor = op->turn_;
    asio::post(executor, step<F>(std::move(op), std::move(f)));
  }

  /// In the initiating thread, which may be a foreign one.
  static void leave_initiation(pointer&& op) {
    if (op->initiation_.fetch_or(initiated, std::memory_order_acq_rel) & step_waits) {
      post(std::move(op), [](pointer&& self) {
        self->emit();
        leave(std::move(self));
      });
    } else if (op->parties_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      post(std::move(op), [](pointer&& self) { complete(std::move(self)); });
    }
  }

  template <typename... R>
  static void completed(pointer&& op, R&&... results) {
    op->results_.emplace(std::forward<R>(results)...);
    if (op->initiation_.load(std::memory_order_acquire) & initiated) {
      operation_ended(std::move(op));
    } else {  // maybe inside the initiating function, which may not be in turn
      post(std::move(op), [](pointer&& self) { operation_ended(std::move(self)); });
    }
  }

  // From here on: in turn.

  static void operation_ended(pointer&& op) {
    op->ended_ = true;
    auto& error = std::get<0>(*op->results_);
    if (op->timed_out_ && is_aborted(error)) set_timed_out(error);
    // What the operation left there might own the handler, and with it this object.
    if (!op->emitting_) op->signal_.slot().clear();
    op->timer_.cancel();
    leave(std::move(op));
  }

  static void timer_ended(pointer&& op, const std::error_code& error) {
    if (!op->ended_ && !error) {
      op->timed_out_ = !op->ended_by_user_;
      op->cancel(asio::cancellation_type::terminal | asio::cancellation_type::partial |
                 asio::cancellation_type::total);
    }
    leave(std::move(op));
  }

  void cancel(asio::cancellation_type type) {
    wanted_ = wanted_ | type;
    if (initiation_.fetch_or(step_waits, std::memory_order_acq_rel) & initiated) emit();
  }

  void emit() {
    const auto type = std::exchange(wanted_, asio::cancellation_type::none);
    if (ended_ || type == asio::cancellation_type::none) return;
    const bool outermost = !std::exchange(emitting_, true);
    signal_.emit(type);
    if (!outermost) return;
    emitting_ = false;
    if (ended_) signal_.slot().clear();
  }

  static void leave(pointer&& op) {
    if (op->parties_.fetch_sub(1, std::memory_order_acq_rel) == 1) complete(std::move(op));
  }

  static void complete(pointer&& op) {
    const auto slot = asio::get_associated_cancellation_slot(op->handler_);
    if (slot.is_connected()) std::decay_t<decltype(slot)>(slot).clear();
    Handler handler(std::move(op->handler_));
    std::tuple<Results...> results(std::move(*op->results_));
    if constexpr (anywhere) {
      const auto executor = asio::get_associated_executor(handler, op->timer_.get_executor());
      op.reset();
      asio::dispatch(executor,
                     [handler = std::move(handler), results = std::move(results)]() mutable {
                       std::apply(std::move(handler), std::move(results));
                     });
    } else {
      op.reset();  // before the handler runs: it may start the next operation in the same place
      std::apply(std::move(handler), std::move(results));
    }
  }

  const turn_executor turn_;
  asio::basic_waitable_timer<clock, asio::wait_traits<clock>, IoExecutor> timer_;
  asio::cancellation_signal signal_;
  std::optional<std::tuple<Results...>> results_;
  std::atomic<unsigned> initiation_{0};
  std::atomic<unsigned> parties_{3};
  asio::cancellation_type wanted_ = asio::cancellation_type::none;  // not emitted yet
  bool emitting_ = false;
  bool ended_ = false;
  bool timed_out_ = false;      // the deadline came first
  bool ended_by_user_ = false;  // by a terminal request, which no operation ignores
  Handler handler_;
};

}  // namespace smc::detail
