#pragma once
// Deadlines for asynchronous operations: any of them, in one line.
//
//   n = co_await stream.async_read_some(buffer, smc::with_deadline(1s, asio::use_awaitable));
//   asio::async_write(stream, buffers, smc::with_deadline(limit, [](std::error_code, size_t) {}));
#include <algorithm>
#include <chrono>
#include <smc/version.hpp>
#include <type_traits>
#include <utility>

namespace smc {

namespace detail {

/// When an operation's time is over: a time, or a time after its start. Saturates instead of
/// overflowing.
class deadline {
 public:
  using clock = std::chrono::steady_clock;

  template <typename Rep, typename Period>
  static constexpr deadline after(const std::chrono::duration<Rep, Period>& time) noexcept {
    return deadline(saturated(time), true);
  }
  template <typename Duration>
  static constexpr deadline at(const std::chrono::time_point<clock, Duration>& when) noexcept {
    return deadline(saturated(when.time_since_epoch()), false);
  }

  clock::time_point from(clock::time_point start) const noexcept {
    if (!after_start_) return clock::time_point(time_);
    const auto room = clock::time_point::max() - start;
    return time_ >= room ? clock::time_point::max()
                         : start + std::max(time_, clock::duration::zero());
  }

 private:
  constexpr deadline(clock::duration time, bool after_start) noexcept
      : time_(time), after_start_(after_start) {}
  template <typename Rep, typename Period>
  static constexpr clock::duration saturated(
      const std::chrono::duration<Rep, Period>& time) noexcept {
    using seconds = std::chrono::duration<double>;
    if (seconds(time) >= seconds(clock::duration::max())) return clock::duration::max();
    if (seconds(time) <= seconds(clock::duration::min())) return clock::duration::min();
    return std::chrono::duration_cast<clock::duration>(time);
  }

  clock::duration time_;
  bool after_start_;
};

}  // namespace detail

/// A completion token, or handler, with a deadline: what with_deadline() returns.
template <typename Token>
struct deadline_token {
  detail::deadline when;
  Token token;
};

/// `token` with a deadline for the operation that it is given to: an operation that has not
/// completed `time` after its start is cancelled then, and completes with asio::error::timed_out.
/// The time counts from the start of the operation (with asio::experimental::deferred, say, later
/// than this call). Times of zero and less, and deadlines that have passed, cancel promptly; the
/// largest ones never.
///
/// Operations: all whose completion signature begins with std::error_code, those of streams and
/// acceptors, timers and other objects of Asio, asio::async_read, async_write, async_read_until,
/// async_connect and own ones. With std::exception_ptr in its place (asio::co_spawn) an exception
/// that says operation_aborted becomes a std::system_error with timed_out. Others do not compile.
///
/// Tokens: any, also adapted ones. Both with_deadline(1s, redirect_error(token, ec)) and
/// redirect_error(with_deadline(1s, token), ec) do the same; so it is for experimental::as_tuple,
/// bind_executor, bind_allocator and bind_cancellation_slot. Under other adapters with_deadline is
/// to be the outer one. Deadlines nest; the first one counts.
///
/// Result: timed_out stands in the place of operation_aborted only, and only if the deadline came
/// first. Everything else is reported as the operation reported it: whoever completes while the
/// deadline passes, or can't be cancelled, has its own result. All further arguments stay: a read
/// or write that timed out says exactly how many bytes it moved, composed ones included, and can be
/// continued from there.
///
/// Cancellation: at the deadline the operation is offered terminal, partial and total together, and
/// does what it supports. Operations of streams and acceptors, and Asio's of one step, lose nothing
/// by any of them; composed reads and writes stop with their exact count; asio::ssl::stream
/// supports terminal alone and can only be closed afterwards, as can a stream whose connect timed
/// out. What the token's own cancellation slot gets is passed on with its type, as if there were no
/// deadline, and leads to operation_aborted.
///
/// Threads: everything happens on the handler's associated executor, by default that of the
/// operation's object, one step at a time: where the executor is no strand and not an event_loop's,
/// in a strand of the operation's own. So the operation may be started by any thread that may use
/// the object. A signal for the token's slot is emitted where the handler's executor runs, as ever;
/// it may take effect a little later. The timer is one of the object's context.
///
/// Completion: exactly once, never inside the initiating function, when the timer has been put away
/// too. Until then there is one allocation with the handler's associated allocator besides those of
/// the timer and the operation, all freed before the handler is called.
template <typename Rep, typename Period, typename Token>
[[nodiscard]] constexpr deadline_token<std::decay_t<Token>> with_deadline(
    const std::chrono::duration<Rep, Period>& time, Token&& token) {
  return {detail::deadline::after(time), std::forward<Token>(token)};
}

/// The same with a time, e.g. one deadline for several operations.
template <typename Duration, typename Token>
[[nodiscard]] constexpr deadline_token<std::decay_t<Token>> with_deadline(
    const std::chrono::time_point<std::chrono::steady_clock, Duration>& when, Token&& token) {
  return {detail::deadline::at(when), std::forward<Token>(token)};
}

}  // namespace smc

#include <smc/detail/deadline_adapters.hpp>
