#pragma once
// How with_deadline() joins Asio's completion tokens.
#include <asio/async_result.hpp>
#include <asio/bind_allocator.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/bind_executor.hpp>
#include <asio/experimental/as_tuple.hpp>
#include <asio/redirect_error.hpp>
#include <smc/deadline.hpp>
#include <smc/detail/deadline_operation.hpp>

namespace smc::detail {

// ---- the operation's start

/// An operation that says where its handlers run by default, as Asio's do.
template <typename Initiation>
concept initiation_with_executor = requires(const Initiation& i) {
  typename Initiation::executor_type;
  { i.get_executor() } -> std::convertible_to<typename Initiation::executor_type>;
};

template <typename Initiation>
struct initiation_executor {};
template <initiation_with_executor Initiation>
struct initiation_executor<Initiation> {
  using executor_type = typename Initiation::executor_type;
};

template <typename Initiation>
inline constexpr bool is_archetype = false;
template <typename... Signatures>
inline constexpr bool is_archetype<asio::detail::initiation_archetype<Signatures...>> = true;
template <typename Initiation, typename... Results>
class deadline_initiation;
template <typename Initiation, typename... Results>
inline constexpr bool is_archetype<deadline_initiation<Initiation, Results...>> =
    is_archetype<Initiation>;

/// Starts an operation under its deadline; the handler is that of the token inside.
template <typename Initiation, typename... Results>
class deadline_initiation : public initiation_executor<Initiation> {
 public:
  template <typename I>
  deadline_initiation(I&& initiation, deadline when)
      : initiation_(std::forward<I>(initiation)), when_(when) {}

  auto get_executor() const noexcept requires initiation_with_executor<Initiation> {
    return initiation_.get_executor();
  }

  template <typename Handler, typename... Init>
  void operator()(Handler&& handler, Init&&... init) && {
    start(std::move(initiation_), std::forward<Handler>(handler), std::forward<Init>(init)...);
  }
  template <typename Handler, typename... Init>
  void operator()(Handler&& handler, Init&&... init) const& {
    start(Initiation(initiation_), std::forward<Handler>(handler), std::forward<Init>(init)...);
  }

 private:
  struct none {};  // in the place of an executor

  template <typename Handler, typename... Init>
  void start(Initiation&& initiation, Handler&& handler, Init&&... init) const {
    std::decay_t<Handler> own(std::forward<Handler>(handler));
    if constexpr (initiation_with_executor<Initiation>) {
      const typename Initiation::executor_type io = initiation.get_executor();
      start_on(io, std::move(initiation), std::move(own), std::forward<Init>(init)...);
    } else if constexpr (!is_archetype<Initiation>) {  // which only looks whether this compiles
      using executor = asio::associated_executor_t<std::decay_t<Handler>, none>;
      static_assert(!runs_anywhere<executor>,
                    "with_deadline: neither this operation nor its handler names an executor, so "
                    "there is nowhere to run the timer. Bind one to the handler "
                    "(asio::bind_executor), or make with_deadline the outer adapter.");
      const executor io = asio::get_associated_executor(own);
      start_on(io, std::move(initiation), std::move(own), std::forward<Init>(init)...);
    }
  }

  template <typename IoExecutor, typename Handler, typename... Init>
  void start_on(const IoExecutor& io, Initiation&& initiation, Handler&& handler,
                Init&&... init) const {
    deadline_operation<Handler, IoExecutor, Results...>::start(
        std::move(initiation), io, when_.from(deadline::clock::now()), std::move(handler),
        std::forward<Init>(init)...);
  }

  Initiation initiation_;
  deadline when_;
};

// ---- adapters around it

// An adapter's handler stands nearer to the operation than those of the tokens inside: without
// their error code, say, or with another cancellation slot. So the deadline is moved outside.

/// The token inside an adapter, and the same adapter around another one.
template <typename Outer>
struct adapter;

template <typename Token, typename Executor>
struct adapter<asio::executor_binder<Token, Executor>> {
  static Token& inside(asio::executor_binder<Token, Executor>& a) { return a.get(); }
  static auto around(auto& a, auto inner) {
    return asio::bind_executor(a.get_executor(), std::move(inner));
  }
};
template <typename Token, typename Allocator>
struct adapter<asio::allocator_binder<Token, Allocator>> {
  static Token& inside(asio::allocator_binder<Token, Allocator>& a) { return a.get(); }
  static auto around(auto& a, auto inner) {
    return asio::bind_allocator(a.get_allocator(), std::move(inner));
  }
};
template <typename Token, typename Slot>
struct adapter<asio::cancellation_slot_binder<Token, Slot>> {
  static Token& inside(asio::cancellation_slot_binder<Token, Slot>& a) { return a.get(); }
  static auto around(auto& a, auto inner) {
    return asio::bind_cancellation_slot(a.get_cancellation_slot(), std::move(inner));
  }
};
template <typename Token>
struct adapter<asio::redirect_error_t<Token>> {
  static Token& inside(asio::redirect_error_t<Token>& a) { return a.token_; }
  static auto around(auto& a, auto inner) { return asio::redirect_error(std::move(inner), a.ec_); }
};
template <typename Token>
struct adapter<asio::experimental::as_tuple_t<Token>> {
  static Token& inside(asio::experimental::as_tuple_t<Token>& a) { return a.token_; }
  static auto around(auto&, auto inner) { return asio::experimental::as_tuple(std::move(inner)); }
};

/// A token with a deadline somewhere inside: when, and the token without it.
template <typename Token>
struct hoisted;

template <typename Token>
concept holds_deadline = requires(Token& t) {
  hoisted<Token>::when(t);
};

template <typename Token>
struct hoisted<deadline_token<Token>> {
  static deadline when(const deadline_token<Token>& t) noexcept { return t.when; }
  static Token without(deadline_token<Token>& t) { return std::move(t.token); }
};

template <typename Outer>
requires holds_deadline<
    std::remove_reference_t<decltype(adapter<Outer>::inside(std::declval<Outer&>()))>>
struct hoisted<Outer> {
  using inner =
      hoisted<std::remove_reference_t<decltype(adapter<Outer>::inside(std::declval<Outer&>()))>>;
  static deadline when(Outer& t) noexcept { return inner::when(adapter<Outer>::inside(t)); }
  static auto without(Outer& t) {
    return adapter<Outer>::around(t, inner::without(adapter<Outer>::inside(t)));
  }
};

template <typename Outer, typename Signature>
struct hoisted_result {
  using inner = decltype(hoisted<Outer>::without(std::declval<Outer&>()));

  template <typename Initiation, typename RawToken, typename... Init>
  requires asio::completion_token_for<deadline_token<inner>, Signature>
  static auto initiate(Initiation&& initiation, RawToken&& token, Init&&... init) {
    Outer own(std::forward<RawToken>(token));
    deadline_token<inner> around{hoisted<Outer>::when(own), hoisted<Outer>::without(own)};
    return asio::async_initiate<deadline_token<inner>, Signature>(
        std::forward<Initiation>(initiation), around, std::forward<Init>(init)...);
  }
};

}  // namespace smc::detail

namespace asio {

template <typename Token, typename Return, typename First, typename... Rest>
class async_result<smc::deadline_token<Token>, Return(First, Rest...)> {
  static_assert(std::is_same_v<std::decay_t<First>, std::error_code> ||
                    std::is_same_v<std::decay_t<First>, std::exception_ptr>,
                "with_deadline: an operation whose handler does not begin with std::error_code or "
                "std::exception_ptr can't say that it timed out");

 public:
  // Constrained, so that overloads with other signatures, which Asio's acceptors have, drop out.
  template <typename Initiation, typename RawToken, typename... Init>
  requires completion_token_for<Token, Return(First, Rest...)>
  static auto initiate(Initiation&& initiation, RawToken&& token, Init&&... init) {
    using wrapped = smc::detail::deadline_initiation<std::decay_t<Initiation>, std::decay_t<First>,
                                                     std::decay_t<Rest>...>;
    const smc::detail::deadline when = token.when;
    Token inner(std::forward<RawToken>(token).token);
    return async_initiate<Token, Return(First, Rest...)>(
        wrapped(std::forward<Initiation>(initiation), when), inner, std::forward<Init>(init)...);
  }
};

template <typename Token, typename Executor, typename Signature>
requires smc::detail::holds_deadline<Token>
class async_result<executor_binder<Token, Executor>, Signature>
    : public smc::detail::hoisted_result<executor_binder<Token, Executor>, Signature> {
};

template <typename Token, typename Allocator, typename Signature>
requires smc::detail::holds_deadline<Token>
class async_result<allocator_binder<Token, Allocator>, Signature>
    : public smc::detail::hoisted_result<allocator_binder<Token, Allocator>, Signature> {
};

template <typename Token, typename Slot, typename Signature>
requires smc::detail::holds_deadline<Token>
class async_result<cancellation_slot_binder<Token, Slot>, Signature>
    : public smc::detail::hoisted_result<cancellation_slot_binder<Token, Slot>, Signature> {
};

template <typename Token, typename Signature>
requires smc::detail::holds_deadline<Token>
struct async_result<redirect_error_t<Token>, Signature>
    : smc::detail::hoisted_result<redirect_error_t<Token>, Signature> {
};

template <typename Token, typename... Signatures>
requires smc::detail::holds_deadline<Token>
struct async_result<experimental::as_tuple_t<Token>, Signatures...>
    : smc::detail::hoisted_result<experimental::as_tuple_t<Token>, Signatures...> {
};

}  // namespace asio
