#pragma once
// The executor of event_loop.
#include <asio/execution.hpp>
#include <asio/io_context.hpp>
#include <asio/recycling_allocator.hpp>
#include <memory>
#include <smc/detail/loop_core.hpp>
#include <type_traits>
#include <utility>

namespace smc::detail {

// A function in the ready queue, in memory of the executor's allocator.
template <typename F, typename Allocator>
class queued_function : public ready_node {
  template <typename A>
  struct memory_of {
    using type = typename std::allocator_traits<A>::template rebind_alloc<queued_function>;
    static type get(const A& a) { return type(a); }
  };
  template <typename T>
  struct memory_of<std::allocator<T>> {  // as Asio does: the loop's thread recycles
    using type = asio::recycling_allocator<queued_function>;
    static type get(const std::allocator<T>&) { return type(); }
  };
  using memory = typename memory_of<Allocator>::type;
  using memory_traits = std::allocator_traits<memory>;
  using pointer = typename memory_traits::pointer;

 public:
  template <typename G>
  static queued_function* create(G&& f, const Allocator& allocator) {
    memory m = memory_of<Allocator>::get(allocator);
    const pointer place = memory_traits::allocate(m, 1);
    try {
      return ::new (static_cast<void*>(std::to_address(place)))
          queued_function(std::forward<G>(f), allocator);
    } catch (...) {
      memory_traits::deallocate(m, place, 1);
      throw;
    }
  }

 private:
  template <typename G>
  queued_function(G&& f, const Allocator& allocator)
      : f_(std::forward<G>(f)), allocator_(allocator) {
    invoke = &queued_function::run_or_destroy;
  }

  static void run_or_destroy(ready_node* node, action what) {
    auto* const self = static_cast<queued_function*>(node);
    memory m = memory_of<Allocator>::get(self->allocator_);
    F f(std::move(self->f_));
    // Freed before the call, so that the handler's next operation finds the memory.
    const pointer place = std::pointer_traits<pointer>::pointer_to(*self);
    self->~queued_function();
    memory_traits::deallocate(m, place, 1);
    if (what == action::run) f();
  }

  F f_;
  [[no_unique_address]] Allocator allocator_;
};

inline constexpr unsigned loop_executor_never_blocks = 1;
inline constexpr unsigned loop_executor_tracks_work = 2;
inline constexpr unsigned loop_executor_continues = 4;

/// Runs functions on an event_loop.
///
/// Properties: blocking.possibly (default) and never, relationship.fork (default) and continuation,
/// outstanding_work.untracked (default) and tracked, allocator; mapping is thread; context is the
/// loop's asio::io_context. All in the type, so that it is as wide as one pointer (and the
/// allocator, where it has state).
///
/// Thread-safe, as asio::io_context::executor_type. The loop must outlive all uses but destruction
/// of untracked copies.
template <unsigned Bits = 0, typename Allocator = std::allocator<void>>
class loop_executor {
  static constexpr bool never_blocks = (Bits & loop_executor_never_blocks) != 0;
  static constexpr bool tracks_work = (Bits & loop_executor_tracks_work) != 0;
  static constexpr bool continues = (Bits & loop_executor_continues) != 0;

  template <unsigned OtherBits, typename OtherAllocator = Allocator>
  using other = loop_executor<OtherBits, OtherAllocator>;
  using possibly = asio::execution::blocking_t::possibly_t;
  using never = asio::execution::blocking_t::never_t;
  using fork = asio::execution::relationship_t::fork_t;
  using continuation = asio::execution::relationship_t::continuation_t;
  using tracked = asio::execution::outstanding_work_t::tracked_t;
  using untracked = asio::execution::outstanding_work_t::untracked_t;

 public:
  explicit loop_executor(loop_core& core) noexcept : core_(&core) { start_work(); }
  loop_executor(loop_core& core, const Allocator& allocator) noexcept
      : core_(&core), allocator_(allocator) {
    start_work();
  }
  loop_executor(const loop_executor& from) noexcept
      : core_(from.core_), allocator_(from.allocator_) {
    start_work();
  }
  loop_executor(loop_executor&& from) noexcept
      : core_(from.core_), allocator_(std::move(from.allocator_)) {
    if constexpr (tracks_work) from.core_ = nullptr;  // its unit is ours now
  }
  loop_executor& operator=(const loop_executor& from) noexcept {
    loop_executor copy(from);
    swap(copy);
    return *this;
  }
  loop_executor& operator=(loop_executor&& from) noexcept {
    loop_executor taken(std::move(from));
    swap(taken);
    return *this;
  }
  ~loop_executor() {
    if constexpr (tracks_work) {
      if (core_) core_->work_finished();
    }
  }

  other<Bits & ~loop_executor_never_blocks> require(possibly) const noexcept {
    return {*core_, allocator_};
  }
  other<Bits | loop_executor_never_blocks> require(never) const noexcept {
    return {*core_, allocator_};
  }
  other<Bits & ~loop_executor_continues> require(fork) const noexcept {
    return {*core_, allocator_};
  }
  other<Bits | loop_executor_continues> require(continuation) const noexcept {
    return {*core_, allocator_};
  }
  other<Bits | loop_executor_tracks_work> require(tracked) const noexcept {
    return {*core_, allocator_};
  }
  other<Bits & ~loop_executor_tracks_work> require(untracked) const noexcept {
    return {*core_, allocator_};
  }
  template <typename A>
  other<Bits, A> require(asio::execution::allocator_t<A> a) const noexcept {
    return {*core_, a.value()};
  }
  other<Bits, std::allocator<void>> require(asio::execution::allocator_t<void>) const noexcept {
    return {*core_, {}};
  }

  asio::io_context& query(asio::execution::context_t) const noexcept { return core_->context(); }
  static constexpr asio::execution::mapping_t query(asio::execution::mapping_t) noexcept {
    return asio::execution::mapping.thread;
  }
  static constexpr asio::execution::blocking_t query(asio::execution::blocking_t) noexcept {
    if constexpr (never_blocks) return asio::execution::blocking.never;
    return asio::execution::blocking.possibly;
  }
  static constexpr asio::execution::relationship_t query(asio::execution::relationship_t) noexcept {
    if constexpr (continues) return asio::execution::relationship.continuation;
    return asio::execution::relationship.fork;
  }
  static constexpr asio::execution::outstanding_work_t query(
      asio::execution::outstanding_work_t) noexcept {
    if constexpr (tracks_work) return asio::execution::outstanding_work.tracked;
    return asio::execution::outstanding_work.untracked;
  }
  template <typename A>
  Allocator query(asio::execution::allocator_t<A>) const noexcept {
    return allocator_;
  }

  /// Whether the calling thread runs the loop.
  bool running_in_this_thread() const noexcept { return core_->runs_here(); }
  /// For the library: handlers of operations on this loop need no dispatch.
  loop_core* core() const noexcept { return core_; }

  /// Runs f on the loop's thread: in place where blocking and the loop's order allow, else queued.
  /// What f throws leaves the loop's run(). Throws where the copy or the allocation does.
  template <typename F>
  void execute(F&& f) const {
    using function = std::decay_t<F>;
    if constexpr (!never_blocks) {
      if (core_->may_run_inline()) {
        function here(std::forward<F>(f));
        core_->run_inline(here);
        return;
      }
    }
    auto* const node = queued_function<function, Allocator>::create(std::forward<F>(f), allocator_);
    core_->work_started();
    core_->push(node);
  }

  friend bool operator==(const loop_executor& a, const loop_executor& b) noexcept {
    return a.core_ == b.core_ && a.allocator_ == b.allocator_;
  }
  friend bool operator!=(const loop_executor& a, const loop_executor& b) noexcept {
    return !(a == b);
  }

 private:
  void start_work() noexcept {
    if constexpr (tracks_work) {
      if (core_) core_->work_started();
    }
  }
  void swap(loop_executor& with) noexcept {
    std::swap(core_, with.core_);
    std::swap(allocator_, with.allocator_);
  }

  loop_core* core_;
  [[no_unique_address]] Allocator allocator_{};
};

static_assert(sizeof(loop_executor<>) == sizeof(void*));

}  // namespace smc::detail
