#pragma once
// The only file of the library that relies on asio::detail. What it takes from there is not
// documented and may change with any version of Asio: each version must be tried (the loop's tests
// and its equivalence with io_context) before it is let in here.
#include <asio/version.hpp>

#if ASIO_VERSION != 102201
#error \
    "asio-smc's event loop was tested with Asio 1.22.1 only; see framework/src/loop/asio_internals.hpp"
#endif

#include <asio/detail/scheduler.hpp>
#include <asio/detail/scheduler_operation.hpp>
#include <asio/detail/thread_context.hpp>
#include <asio/detail/thread_info_base.hpp>
#include <asio/io_context.hpp>
#include <cstddef>
#include <system_error>
#include <type_traits>

namespace smc::detail {

static_assert(std::is_same_v<asio::detail::io_context_impl, asio::detail::scheduler>);

/// Lets Asio recycle the memory of handlers and coroutine frames on a thread that is not in
/// io_context::run(). The recycled blocks live as long as this object, so they survive from one
/// poll() to the next.
class handler_memory : private asio::detail::thread_context {
 public:
  /// Recycles through `memory` on this thread until destroyed. One thread at a time.
  class scope {
   public:
    explicit scope(handler_memory& memory) : context_(&memory, memory.blocks_) {}

   private:
    thread_call_stack::context context_;
  };

 private:
  asio::detail::thread_info_base blocks_;
};

/// The inner context's count of work, by hand.
class inner_work {
 public:
  explicit inner_work(asio::io_context& context)
      : scheduler_(asio::use_service<asio::detail::io_context_impl>(context)) {}
  void start() noexcept { scheduler_.work_started(); }
  /// Stops the context with the last unit.
  void finish() noexcept { scheduler_.work_finished(); }

 private:
  asio::detail::scheduler& scheduler_;
};

/// An entry of the inner context's queue that only makes it come back: no allocation, no unit of
/// work. Must not be posted again before it ran.
class wake_operation : public asio::detail::scheduler_operation {
 public:
  using function = void (*)(void* owner) noexcept;

  /// `woken(owner)` is called on the thread that runs the context.
  wake_operation(asio::io_context& context, function woken, void* owner)
      : scheduler_operation(&wake_operation::complete),
        scheduler_(asio::use_service<asio::detail::io_context_impl>(context)),
        woken_(woken),
        owner_(owner) {}
  void post() noexcept { scheduler_.post_deferred_completion(this); }

 private:
  static void complete(void* scheduler, scheduler_operation* base, const std::error_code&,
                       std::size_t) {
    if (!scheduler) return;  // the context goes
    auto* const self = static_cast<wake_operation*>(base);
    // The scheduler is about to give back a unit that was never taken.
    self->scheduler_.compensating_work_started();
    self->woken_(self->owner_);
  }

  asio::detail::scheduler& scheduler_;
  function woken_;
  void* owner_;
};

}  // namespace smc::detail
