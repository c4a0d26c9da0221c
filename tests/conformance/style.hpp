#pragma once
// Performs an asynchronous operation in a style. Included where the operations of a subject are
// made.
#include <asio/bind_cancellation_slot.hpp>
#include <asio/co_spawn.hpp>
#include <asio/experimental/as_tuple.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>
#include <chrono>
#include <exception>
#include <future>
#include <tuple>
#include <type_traits>
#include <utility>

#include "conformance/operation.hpp"

namespace smc::test {

/// `initiate(token)` starts the operation; `finish(state, results...)` takes what its handler gets.
template <typename Initiate, typename Finish>
operation begin(style how, const asio::any_io_executor& executor, Initiate initiate,
                Finish finish) {
  using asio::experimental::as_tuple;
  const auto s = std::make_shared<operation::state>();
  const auto slot = s->signal.slot();
  switch (how) {
    case style::callback:
      initiate(asio::bind_cancellation_slot(slot, [s, finish](auto... results) mutable -> void {
        finish(*s, std::move(results)...);
      }));
      s->started = true;
      break;
    case style::coroutine:
      asio::co_spawn(
          executor,
          [s, slot, initiate, finish]() mutable -> asio::awaitable<void> {
            auto waiting =
                initiate(asio::bind_cancellation_slot(slot, as_tuple(asio::use_awaitable)));
            auto results = co_await std::move(waiting);
            std::apply([&](auto&... each) { finish(*s, std::move(each)...); }, results);
          },
          [](std::exception_ptr failure) {
            if (failure) std::rethrow_exception(failure);
          });
      s->started = true;
      break;
    case style::future: {
      const auto error = std::make_shared<std::error_code>();
      auto future = initiate(
          asio::bind_cancellation_slot(slot, asio::redirect_error(asio::use_future, *error)));
      // It may be there already: a future's handler runs on the system's executor, not on the
      // stream's.
      s->started = true;
      // A std::function is copyable, a future is not.
      const auto kept = std::make_shared<decltype(future)>(std::move(future));
      s->look = [raw = s.get(), error, kept, finish]() mutable {
        if (kept->wait_for(std::chrono::seconds(0)) != std::future_status::ready) return;
        if constexpr (std::is_void_v<decltype(kept->get())>) {
          finish(*raw, *error);
        } else {
          finish(*raw, *error, kept->get());
        }
      };
      break;
    }
  }
  return operation(s);
}

/// The results go into the operation.
struct into_state {
  template <typename... Results>
  void operator()(operation::state& s, Results... results) const {
    s.finish(results...);
  }
};

template <typename Initiate>
operation begin(style how, const asio::any_io_executor& executor, Initiate initiate) {
  return begin(how, executor, std::move(initiate), into_state{});
}

}  // namespace smc::test
