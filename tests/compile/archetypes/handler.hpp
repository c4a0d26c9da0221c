#pragma once
// Handlers that can do what Asio asks of a handler, and nothing else.
#include <asio/associated_allocator.hpp>
#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/cancellation_signal.hpp>
#include <cstddef>
#include <memory>
#include <system_error>
#include <utility>

#include "compile/archetypes/executor.hpp"

namespace smc::test {

/// What became of a handler that was given to an operation.
struct record {
  explicit record(asio::io_context& c) : context(c) {}

  void completed(std::size_t) { ++called; }
  template <typename... Results>
  void completed(const std::error_code& e, const Results&...) {
    ++called;
    error = e;
  }

  asio::io_context& context;
  asio::cancellation_signal signal;
  int called = 0;
  int executed = 0;      // by the handler's executor
  int slots_filled = 0;  // through the handler's slot
  int allocated = 0;     // with the handler's allocator
  int live = 0;
  std::error_code error;
};

/// Allocates, frees, is copied and compared.
template <typename T>
class minimal_allocator {
 public:
  using value_type = T;
  explicit minimal_allocator(record& r) noexcept : record_(&r) {}
  template <typename Other>
  minimal_allocator(const minimal_allocator<Other>& other) noexcept : record_(other.record_) {}

  T* allocate(std::size_t n) {
    T* const memory = std::allocator<T>().allocate(n);
    ++record_->allocated;
    ++record_->live;
    return memory;
  }
  void deallocate(T* memory, std::size_t n) noexcept {
    --record_->live;
    std::allocator<T>().deallocate(memory, n);
  }
  template <typename Other>
  bool operator==(const minimal_allocator<Other>& other) const noexcept {
    return record_ == other.record_;
  }

 private:
  template <typename>
  friend class minimal_allocator;
  record* record_;
};

/// Takes what Asio's operations put into a slot.
class minimal_slot {
 public:
  explicit minimal_slot(record& r) noexcept : record_(&r) {}

  template <typename Function, typename... Args>
  Function& emplace(Args&&... args) {
    ++record_->slots_filled;
    return record_->signal.slot().emplace<Function>(std::forward<Args>(args)...);
  }
  void clear() { record_->signal.slot().clear(); }
  bool is_connected() const noexcept { return true; }

 private:
  record* record_;
};

/// A handler of exactly this signature: moved and called; no other arguments, no copy, no address
/// to be taken, no comma.
template <typename Signature>
class bare_handler;
template <typename... Args>
class bare_handler<void(Args...)> {
 public:
  explicit bare_handler(record& r) noexcept : record_(&r) {}
  bare_handler(bare_handler&& other) noexcept : record_(std::exchange(other.record_, nullptr)) {}
  bare_handler& operator=(const bare_handler&) = delete;

  // Asio's concept of a handler asks for the first form, its own operations use the second.
  void operator()(Args... args) && { record_->completed(args...); }
  void operator()(Args... args) & { record_->completed(args...); }
  template <typename... Wrong>
  void operator()(Wrong&&...) = delete;

  void operator&() const = delete;
  template <typename T>
  friend void operator,(const bare_handler&, T&&) = delete;
  template <typename T>
  friend void operator,(T&&, const bare_handler&) = delete;

 protected:
  record& what() const noexcept { return *record_; }

 private:
  record* record_;
};

/// Names its executor, allocator and slot as members do.
template <typename Signature>
class member_handler : public bare_handler<Signature> {
 public:
  using bare_handler<Signature>::bare_handler;

  using executor_type = handler_executor;
  executor_type get_executor() const noexcept {
    return executor_type(this->what().context, this->what().executed);
  }
  using allocator_type = minimal_allocator<void>;
  allocator_type get_allocator() const noexcept { return allocator_type(this->what()); }
  using cancellation_slot_type = minimal_slot;
  cancellation_slot_type get_cancellation_slot() const noexcept {
    return minimal_slot(this->what());
  }
};

/// The same by specialising Asio's traits, below.
template <typename Signature>
class foreign_handler : public bare_handler<Signature> {
 public:
  using bare_handler<Signature>::bare_handler;
  static record& of(const foreign_handler& handler) noexcept { return handler.what(); }
};

/// Names nothing, and is called once and for all.
template <typename Signature>
class rvalue_handler;
template <typename... Args>
class rvalue_handler<void(Args...)> {
 public:
  explicit rvalue_handler(record& r) noexcept : record_(&r) {}
  rvalue_handler(rvalue_handler&&) noexcept = default;
  void operator()(Args... args) && { record_->completed(args...); }
  void operator()(Args... args) & = delete;

 private:
  record* record_;
};

}  // namespace smc::test

namespace asio {

template <typename Signature, typename Executor>
struct associated_executor<smc::test::foreign_handler<Signature>, Executor> {
  using type = smc::test::handler_executor;
  static type get(const smc::test::foreign_handler<Signature>& handler,
                  const Executor& = Executor()) noexcept {
    smc::test::record& r = handler.of(handler);
    return type(r.context, r.executed);
  }
};
template <typename Signature, typename Allocator>
struct associated_allocator<smc::test::foreign_handler<Signature>, Allocator> {
  using type = smc::test::minimal_allocator<void>;
  static type get(const smc::test::foreign_handler<Signature>& handler,
                  const Allocator& = Allocator()) noexcept {
    return type(handler.of(handler));
  }
};
template <typename Signature, typename Slot>
struct associated_cancellation_slot<smc::test::foreign_handler<Signature>, Slot> {
  using type = smc::test::minimal_slot;
  static type get(const smc::test::foreign_handler<Signature>& handler,
                  const Slot& = Slot()) noexcept {
    return type(handler.of(handler));
  }
};

}  // namespace asio
