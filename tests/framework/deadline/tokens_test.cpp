// with_deadline among Asio's tokens and adapters, over Asio's own objects too.
#include <asio/bind_allocator.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/bind_executor.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/compose.hpp>
#include <asio/connect.hpp>
#include <asio/detached.hpp>
#include <asio/experimental/as_tuple.hpp>
#include <asio/experimental/awaitable_operators.hpp>
#include <asio/experimental/deferred.hpp>
#include <asio/redirect_error.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_future.hpp>
#include <smc/deadline.hpp>

#include "framework/stream/setting.hpp"

namespace smc::test {
namespace {

using tcp = asio::ip::tcp;
using asio::use_awaitable;
using asio::experimental::as_tuple;
using clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds soon{2};
constexpr std::chrono::hours late{1};

/// A context, and an operation on it that never ends by itself.
class DeadlineTokens : public testing::Test {
 protected:
  template <typename Token>
  auto never(Token&& token) {
    return timer_.async_wait(std::forward<Token>(token));
  }

  asio::io_context context_;
  asio::steady_timer timer_{context_, clock::time_point::max()};
};

TEST(DeadlineTime, CountsFromTheStartOrIsAPointAndSaturates) {
  using detail::deadline;
  const auto now = clock::now();
  EXPECT_EQ(deadline::after(3ms).from(now), now + 3ms);
  EXPECT_EQ(deadline::after(3ms).from(now + 1s), now + 1s + 3ms);
  EXPECT_EQ(deadline::after(-1h).from(now), now);
  EXPECT_EQ(deadline::at(now + 5ms).from(now + 1h), now + 5ms);
  EXPECT_EQ(deadline::after(std::chrono::hours::max()).from(now), clock::time_point::max());
  EXPECT_EQ(deadline::after(clock::duration::max()).from(now), clock::time_point::max());
  EXPECT_EQ(deadline::after(std::chrono::hours::min()).from(now), now);
  EXPECT_EQ(deadline::at(clock::time_point::max()).from(now), clock::time_point::max());
  EXPECT_EQ(deadline::after(std::chrono::duration<double>(0.5)).from(now), now + 500ms);
}

TEST_F(DeadlineTokens, ErrorsAreRedirectedInsideAndOutside) {
  asio::co_spawn(
      context_,
      [&]() -> asio::awaitable<void> {
        std::error_code inside, outside;
        co_await never(with_deadline(soon, asio::redirect_error(use_awaitable, inside)));
        co_await never(asio::redirect_error(with_deadline(soon, use_awaitable), outside));
        EXPECT_EQ(inside, asio::error::timed_out);
        EXPECT_EQ(outside, asio::error::timed_out);
      },
      [](std::exception_ptr e) { EXPECT_FALSE(e); });
  context_.run();
}

TEST_F(DeadlineTokens, TuplesComeFromInsideAndOutside) {
  asio::co_spawn(
      context_,
      [&]() -> asio::awaitable<void> {
        auto [inside] = co_await never(with_deadline(soon, as_tuple(use_awaitable)));
        auto [outside] = co_await never(as_tuple(with_deadline(soon, use_awaitable)));
        EXPECT_EQ(inside, asio::error::timed_out);
        EXPECT_EQ(outside, asio::error::timed_out);
      },
      [](std::exception_ptr e) { EXPECT_FALSE(e); });
  context_.run();
}

TEST_F(DeadlineTokens, AnAwaitedOneThrowsTimedOut) {
  std::error_code thrown;
  asio::co_spawn(
      context_,
      [&]() -> asio::awaitable<void> {
        try {
          co_await never(with_deadline(soon, use_awaitable));
        } catch (const std::system_error& e) {
          thrown = e.code();
        }
      },
      asio::detached);
  context_.run();
  EXPECT_EQ(thrown, asio::error::timed_out);
}

TEST_F(DeadlineTokens, ExecutorsMayBeBoundInsideAndOutside) {
  const auto strand = asio::make_strand(context_);
  int calls = 0;
  const auto handler = [&](std::error_code ec) {
    EXPECT_EQ(ec, asio::error::timed_out);
    EXPECT_TRUE(strand.running_in_this_thread());
    ++calls;
  };
  never(with_deadline(soon, asio::bind_executor(strand, handler)));
  never(asio::bind_executor(strand, with_deadline(soon, handler)));
  never(asio::bind_executor(asio::any_io_executor(strand), with_deadline(soon, handler)));
  const auto inner = asio::bind_executor(asio::make_strand(context_), handler);
  never(asio::bind_executor(strand, with_deadline(soon, inner)));  // the outer one, as ever
  context_.run();
  EXPECT_EQ(calls, 4);
}

TEST_F(DeadlineTokens, HandlersOfTwoContextsMeetOnTheirOwn) {
  asio::io_context other;
  std::thread::id ran_in;
  const auto handler = [&](std::error_code ec) {
    EXPECT_EQ(ec, asio::error::timed_out);
    ran_in = std::this_thread::get_id();
  };
  never(with_deadline(soon, asio::bind_executor(other.get_executor(), handler)));
  std::thread thread([this] { context_.run(); });
  other.run();  // has work: the handler is its own
  thread.join();
  EXPECT_EQ(ran_in, std::this_thread::get_id());
}

TEST_F(DeadlineTokens, AFutureHoldsTimedOutOrTheResult) {
  auto late_one = never(with_deadline(soon, asio::use_future));
  asio::steady_timer short_timer(context_, soon);
  auto done = short_timer.async_wait(with_deadline(late, asio::use_future));
  auto packaged =
      never(with_deadline(soon, asio::use_future([](std::error_code ec) { return ec; })));
  context_.run();
  try {
    late_one.get();
    ADD_FAILURE() << "no exception";
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code(), asio::error::timed_out);
  }
  EXPECT_NO_THROW(done.get());
  EXPECT_EQ(packaged.get(), asio::error::timed_out);
}

TEST_F(DeadlineTokens, ADeferredOperationStartsItsDeadlineWhenItIsStarted) {
  auto operation = never(with_deadline(soon, asio::experimental::deferred));
  context_.run();  // nothing to do yet
  context_.restart();
  outcome ended;
  std::move(operation)(store(ended));
  EXPECT_FALSE(ended.called);
  context_.run();
  EXPECT_EQ(ended.error, asio::error::timed_out);
  outcome of_deferred;
  never(asio::experimental::deferred)(with_deadline(soon, store(of_deferred)));
  context_.restart();
  context_.run();
  EXPECT_EQ(of_deferred.error, asio::error::timed_out);
}

TEST_F(DeadlineTokens, ADetachedOperationEndsAndLetsTheContextEnd) {
  never(with_deadline(soon, asio::detached));
  EXPECT_GT(context_.run(), 0u);
  EXPECT_EQ(timer_.cancel(), 0u) << "nothing waits any more";
}

TEST_F(DeadlineTokens, HandlersMayBeMoveOnly) {
  std::error_code error;
  never(with_deadline(soon, [&error, owned = std::make_unique<int>(7)](std::error_code ec) {
    error = ec;
    EXPECT_EQ(*owned, 7);
  }));
  context_.run();
  EXPECT_EQ(error, asio::error::timed_out);
}

TEST_F(DeadlineTokens, NestedOnesEndWithTheFirst) {
  outcome inner_first, outer_first;
  never(with_deadline(late, with_deadline(soon, store(inner_first))));
  never(with_deadline(soon, with_deadline(late, store(outer_first))));
  context_.run();
  EXPECT_EQ(inner_first.error, asio::error::timed_out);
  EXPECT_EQ(outer_first.error, asio::error::timed_out);
}

TEST_F(DeadlineTokens, TheLargestNeverFire) {
  asio::steady_timer short_timer(context_, soon);
  outcome a, b, c;
  short_timer.async_wait(with_deadline(clock::duration::max(), store(a)));
  short_timer.async_wait(with_deadline(std::chrono::hours::max(), store(b)));
  short_timer.async_wait(with_deadline(clock::time_point::max(), store(c)));
  context_.run();
  for (const outcome& each : {a, b, c}) {
    EXPECT_TRUE(each.called);
    EXPECT_FALSE(each.error) << each.error.message();
  }
}

TEST_F(DeadlineTokens, AsiosSocketsReadAcceptAndConnect) {
  asio::co_spawn(
      context_,
      [&]() -> asio::awaitable<void> {
        tcp::acceptor listener(context_, any_port());
        auto [accept_ec, nobody] =
            co_await listener.async_accept(with_deadline(soon, as_tuple(use_awaitable)));
        EXPECT_EQ(accept_ec, asio::error::timed_out);
        tcp::socket client(context_);
        const std::vector<tcp::endpoint> range(1, listener.local_endpoint());
        co_await asio::async_connect(client, range, with_deadline(late, use_awaitable));
        tcp::socket server = co_await listener.async_accept(with_deadline(late, use_awaitable));
        co_await asio::async_write(server, asio::buffer("ab", 2),
                                   with_deadline(late, use_awaitable));
        char bytes[4];
        co_await client.async_wait(tcp::socket::wait_read, use_awaitable);
        auto [ec, n] = co_await asio::async_read(client, asio::buffer(bytes),
                                                 with_deadline(soon, as_tuple(use_awaitable)));
        EXPECT_EQ(ec, asio::error::timed_out);
        EXPECT_EQ(n, 2u);
      },
      [](std::exception_ptr e) { EXPECT_FALSE(e); });
  context_.run();
}

TEST_F(DeadlineTokens, SignalSetsTimeOut) {
  asio::signal_set signals(context_, SIGUSR2);
  std::error_code error;
  signals.async_wait(with_deadline(soon, [&error](std::error_code ec, int) { error = ec; }));
  context_.run();
  EXPECT_EQ(error, asio::error::timed_out);
}

/// An own operation, which leaves async_compose's filter as it is.
template <typename Token>
auto wait_twice(asio::steady_timer& timer, Token&& token) {
  return asio::async_compose<Token, void(std::error_code, int)>(
      [&timer, round = 0](auto& self, std::error_code ec = {}) mutable {
        if (ec || round == 2) {
          self.complete(ec, round);
        } else {
          ++round;
          timer.async_wait(std::move(self));
        }
      },
      token, timer);
}

TEST_F(DeadlineTokens, OwnComposedOperationsKeepTheirFurtherResults) {
  asio::steady_timer quick(context_, soon);
  int in_time = 0, reached = 0;
  wait_twice(quick, with_deadline(late, [&](std::error_code ec, int n) {
               EXPECT_FALSE(ec);
               in_time = n;
             }));
  wait_twice(timer_, with_deadline(soon, [&](std::error_code ec, int n) {
               EXPECT_EQ(ec, asio::error::timed_out);
               reached = n;
             }));
  context_.run();
  EXPECT_EQ(in_time, 2);
  EXPECT_EQ(reached, 1);
}

TEST_F(DeadlineTokens, ACoroutineEndsWithTimedOut) {
  using namespace asio::experimental::awaitable_operators;
  const auto forever = [this]() -> asio::awaitable<int> {
    co_await never(use_awaitable);
    co_return 1;
  };
  int ended = 0;
  const auto expect_timed_out = [&ended](std::exception_ptr e, auto...) {
    ++ended;
    try {
      if (e) std::rethrow_exception(e);
      ADD_FAILURE() << "no exception";
    } catch (const std::system_error& s) {
      EXPECT_EQ(s.code(), asio::error::timed_out);
    }
  };
  asio::co_spawn(context_, forever(), with_deadline(soon, expect_timed_out));
  asio::co_spawn(context_, forever() || forever(), with_deadline(soon, expect_timed_out));
  context_.run();
  EXPECT_EQ(ended, 2);
}

TEST_F(DeadlineTokens, ACoroutineThatEndsByItselfHasItsOwnResult) {
  const auto run = [this](auto coroutine) {
    std::exception_ptr failure;
    int result = 0;
    asio::co_spawn(context_, coroutine, with_deadline(soon, [&](std::exception_ptr e, int value) {
                     failure = e;
                     result = value;
                   }));
    context_.restart();
    context_.run();
    if (failure) std::rethrow_exception(failure);
    return result;
  };
  EXPECT_EQ(run([]() -> asio::awaitable<int> { co_return 5; }), 5);
  EXPECT_EQ(run([this]() -> asio::awaitable<int> {
              std::error_code ec;
              co_await never(asio::redirect_error(use_awaitable, ec));
              co_return ec == asio::error::operation_aborted ? 6 : 0;
            }),
            6);
  EXPECT_THROW(run([this]() -> asio::awaitable<int> {
                 std::error_code ec;
                 co_await never(asio::redirect_error(use_awaitable, ec));
                 throw std::logic_error("own");
               }),
               std::logic_error);
}

}  // namespace
}  // namespace smc::test
