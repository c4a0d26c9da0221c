// The user's own cancellation beside the deadline, and operations that behave unusually.
#include <asio/bind_cancellation_slot.hpp>
#include <asio/bind_executor.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/steady_timer.hpp>
#include <smc/deadline.hpp>

#include "framework/stream/setting.hpp"

namespace smc::test {
namespace {

using asio::cancellation_type;
using asio::use_awaitable;
using DeadlineCancellation = each_setting;

constexpr std::chrono::milliseconds soon{5};
constexpr std::chrono::hours late{1};

TEST_P(DeadlineCancellation, TheUsersSignalStillCancelsWithEachType) {
  connected([](pair& p) -> asio::awaitable<void> {
    for (const auto type :
         {cancellation_type::terminal, cancellation_type::partial, cancellation_type::total}) {
      for (const bool outside : {false, true}) {
        asio::cancellation_signal signal;
        outcome read;
        char byte = 0;
        if (outside) {
          p.client.async_read_some(
              asio::buffer(&byte, 1),
              asio::bind_cancellation_slot(signal.slot(), with_deadline(late, store(read))));
        } else {
          p.client.async_read_some(
              asio::buffer(&byte, 1),
              with_deadline(late, asio::bind_cancellation_slot(signal.slot(), store(read))));
        }
        co_await turns();
        signal.emit(type);
        EXPECT_FALSE(read.called);
        co_await until([&read] { return read.called; });
        EXPECT_EQ(read.error, asio::error::operation_aborted);
        EXPECT_EQ(read.bytes, 0u);
      }
    }
  });
}

TEST_P(DeadlineCancellation, TypesThatTheOperationIgnoresStayIgnored) {
  connected([](pair& p) -> asio::awaitable<void> {
    co_await asio::async_write(p.server, asio::buffer("ab", 2), use_awaitable);
    co_await until([&p] { return p.client.available() == 2; });
    asio::cancellation_signal signal;
    outcome read;
    char bytes[4] = {};
    // A composed read does not support total; the deadline ends it all the same.
    asio::async_read(p.client, asio::buffer(bytes),
                     with_deadline(soon, asio::bind_cancellation_slot(signal.slot(), store(read))));
    signal.emit(cancellation_type::total);
    co_await until([&read] { return read.called; });
    EXPECT_EQ(read.error, asio::error::timed_out);
    EXPECT_EQ(read.bytes, 2u);

    outcome partial;
    asio::async_read(
        p.client, asio::buffer(bytes),
        with_deadline(late, asio::bind_cancellation_slot(signal.slot(), store(partial))));
    signal.emit(cancellation_type::total);
    co_await asio::async_write(p.server, asio::buffer("cd", 2), use_awaitable);
    co_await until([&p] { return p.client.available() == 0; });
    EXPECT_FALSE(partial.called);
    signal.emit(cancellation_type::partial);
    co_await until([&partial] { return partial.called; });
    EXPECT_EQ(partial.error, asio::error::operation_aborted);
    EXPECT_EQ(partial.bytes, 2u);
    EXPECT_EQ(std::string(bytes, 2), "cd");
  });
}

TEST_P(DeadlineCancellation, TheUsersSignalNamesTheEndIfItComesBeforeThePassedDeadline) {
  connected([](pair& p) -> asio::awaitable<void> {
    asio::cancellation_signal signal;
    outcome read;
    char byte = 0;
    // The deadline is over when the user cancels, but its handler can't have run: this is its turn.
    p.client.async_read_some(
        asio::buffer(&byte, 1),
        with_deadline(0s, asio::bind_cancellation_slot(signal.slot(), store(read))));
    signal.emit(cancellation_type::terminal);
    co_await until([&read] { return read.called; });
    EXPECT_EQ(read.error, asio::error::operation_aborted);
    EXPECT_EQ(read.bytes, 0u);
  });
}

TEST_P(DeadlineCancellation, ASignalAfterTheEndFindsNothing) {
  connected([](pair& p) -> asio::awaitable<void> {
    asio::cancellation_signal signal;
    outcome read;
    char byte = 0;
    p.client.async_read_some(
        asio::buffer(&byte, 1),
        with_deadline(soon, asio::bind_cancellation_slot(signal.slot(), store(read))));
    co_await until([&read] { return read.called; });
    EXPECT_EQ(read.error, asio::error::timed_out);
    EXPECT_FALSE(signal.slot().has_handler());
    signal.emit(cancellation_type::terminal);
    co_await asio::async_write(p.server, asio::buffer("x", 1), use_awaitable);
    EXPECT_EQ(co_await read_text(p.client, 1), "x");
  });
}

TEST_P(DeadlineCancellation, ASignalThatOutlivesTheContextKeepsNothing) {
  asio::cancellation_signal signal;
  const auto watched = std::make_shared<int>(0);
  char byte = 0;
  {
    world here(where());
    std::optional<pair> p;
    here.run_and_stop([&]() -> asio::awaitable<void> {
      p.emplace(here.executor(), by());
      co_await p->connect();
      const auto handler = [watched](std::error_code, std::size_t) { ++*watched; };
      p->client.async_read_some(
          asio::buffer(&byte, 1),
          with_deadline(late, asio::bind_cancellation_slot(signal.slot(), handler)));
      co_await turns();
    });
  }
  EXPECT_EQ(watched.use_count(), 1);
  const int calls = *watched;  // of a pool's thread, with the stream's end
  signal.emit(cancellation_type::terminal);
  EXPECT_EQ(*watched, calls);
}

INSTANTIATE_TEST_SUITE_P(Everywhere, DeadlineCancellation, all_settings(), name_of_setting);

// ---- own operations

template <typename Function>
struct own_initiation {
  asio::io_context* context;
  Function function;
  using executor_type = asio::io_context::executor_type;
  executor_type get_executor() const noexcept { return context->get_executor(); }
  template <typename Handler>
  void operator()(Handler&& handler) const {
    function(std::move(handler));
  }
};

/// Starts `function(handler)` as an operation of `context`.
template <typename Function, typename Token>
auto own_operation(asio::io_context& context, Function function, Token&& token) {
  return asio::async_initiate<Token, void(std::error_code, int)>(
      own_initiation<Function>{&context, std::move(function)}, token);
}

TEST(DeadlineOperations, OneThatCanNotBeCancelledHasItsOwnResult) {
  asio::io_context context;
  asio::steady_timer timer(context, 10ms);
  std::error_code error = asio::error::fault;
  int result = 0;
  own_operation(
      context,
      [&](auto handler) {  // the slot is not asked
        auto shared = std::make_shared<decltype(handler)>(std::move(handler));
        timer.async_wait([shared](std::error_code) { std::move (*shared)(std::error_code(), 3); });
      },
      with_deadline(1ms, [&](std::error_code ec, int n) {
        error = ec;
        result = n;
      }));
  context.run();
  EXPECT_FALSE(error) << error.message();
  EXPECT_EQ(result, 3);
}

TEST(DeadlineOperations, OneThatCompletesInsideItsStartDoesNotCallTheHandlerThere) {
  asio::io_context context;
  bool called = false;
  own_operation(
      context, [](auto handler) { std::move(handler)(std::error_code(), 4); },
      with_deadline(late, [&called](std::error_code ec, int n) {
        EXPECT_FALSE(ec);
        EXPECT_EQ(n, 4);
        called = true;
      }));
  EXPECT_FALSE(called);
  context.run();
  EXPECT_TRUE(called);
}

TEST(DeadlineOperations, OneThatCompletesInsideTheCancellationDoesSoOnce) {
  asio::io_context context;
  int calls = 0;
  own_operation(
      context,
      [](auto handler) {
        auto slot = handler.get_cancellation_slot();
        auto shared = std::make_shared<decltype(handler)>(std::move(handler));
        slot.assign([shared](cancellation_type) {
          std::move (*shared)(std::error_code(asio::error::operation_aborted), 5);
        });
      },
      with_deadline(1ms, [&calls](std::error_code ec, int n) {
        EXPECT_EQ(ec, asio::error::timed_out);
        EXPECT_EQ(n, 5);
        ++calls;
      }));
  context.run();
  EXPECT_EQ(calls, 1);
}

TEST(DeadlineOperations, OneThatThrowsInsteadOfStartingLeavesNothing) {
  asio::io_context context;
  asio::cancellation_signal signal;
  const auto watched = std::make_shared<int>(0);
  const auto start = [&] {
    own_operation(
        context, [](auto) { throw std::runtime_error("no"); },
        with_deadline(late, asio::bind_cancellation_slot(
                                signal.slot(), [watched](std::error_code, int) { ++*watched; })));
  };
  EXPECT_THROW(start(), std::runtime_error);
  EXPECT_FALSE(signal.slot().has_handler());
  context.run();  // not until the deadline
  EXPECT_EQ(watched.use_count(), 1);
  EXPECT_EQ(*watched, 0);
}

}  // namespace
}  // namespace smc::test
