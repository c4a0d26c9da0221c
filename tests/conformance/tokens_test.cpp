// Completion tokens of Asio on a stream's own operations.
#include <asio/detached.hpp>
#include <asio/experimental/as_tuple.hpp>
#include <asio/experimental/awaitable_operators.hpp>
#include <asio/experimental/deferred.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_future.hpp>

#include "conformance/fixture.hpp"

namespace smc::test {
namespace {

using namespace asio::experimental::awaitable_operators;
using asio::use_awaitable;
using Tokens = conformance;

TEST_P(Tokens, ACoroutineGetsTheBytesOrTheException) {
  connected([](peers& p) -> asio::awaitable<void> {
    char in[8];
    co_await p.server.with([&](auto& s) -> asio::awaitable<void> {
      co_await send(p.client, "await");
      co_await arrived(p.server, 5);
      const std::size_t n = co_await s.async_read_some(asio::buffer(in), use_awaitable);
      EXPECT_EQ(std::string_view(in, n), "await");
      p.client.close();
      std::error_code ec;
      try {
        co_await s.async_read_some(asio::buffer(in), use_awaitable);
      } catch (const std::system_error& e) {
        ec = e.code();
      }
      EXPECT_EQ(ec, asio::error::eof);
    });
  });
}

TEST_P(Tokens, AnOrOfAReadAndATimerKeepsTheBytesOfTheWinner) {
  connected([](peers& p) -> asio::awaitable<void> {
    char in[8];
    co_await p.server.with([&](auto& s) -> asio::awaitable<void> {
      asio::steady_timer never(p.server.executor(), asio::steady_timer::time_point::max());
      co_await send(p.client, "won");
      auto result = co_await (s.async_read_some(asio::buffer(in), use_awaitable) ||
                              never.async_wait(use_awaitable));
      EXPECT_EQ(result.index(), 0u);
      if (result.index() == 0) {
        EXPECT_EQ(std::string_view(in, std::get<0>(result)), "won");
      }
    });
  });
}

TEST_P(Tokens, AnOrThatTheTimerWinsTakesNothingFromTheStream) {
  connected([](peers& p) -> asio::awaitable<void> {
    char in[8];
    co_await p.server.with([&](auto& s) -> asio::awaitable<void> {
      asio::steady_timer now(p.server.executor(), asio::steady_timer::time_point::min());
      auto result = co_await (s.async_read_some(asio::buffer(in), use_awaitable) ||
                              now.async_wait(use_awaitable));
      EXPECT_EQ(result.index(), 1u);
      co_await send(p.client, "kept");
      EXPECT_EQ(co_await receive(p.server, 4), "kept");
    });
  });
}

TEST_P(Tokens, AnAndOfAReadAndAWriteEndsWithBoth) {
  connected([](peers& p) -> asio::awaitable<void> {
    char in[8];
    co_await p.server.with([&](auto& s) -> asio::awaitable<void> {
      co_await send(p.client, "in");
      co_await arrived(p.server, 2);
      const auto [read, written] =
          co_await (s.async_read_some(asio::buffer(in), use_awaitable) &&
                    s.async_write_some(asio::buffer("out", 3), use_awaitable));
      EXPECT_EQ(read, 2u);
      EXPECT_EQ(written, 3u);
      EXPECT_EQ(co_await receive(p.client, 3), "out");
    });
  });
}

TEST_P(Tokens, ADeferredOperationStartsWhenItIsCalled) {
  connected([](peers& p) -> asio::awaitable<void> {
    char in[8];
    bool called = false;
    co_await send(p.client, "later");
    co_await arrived(p.server, 5);
    co_await p.server.with([&](auto& s) -> asio::awaitable<void> {
      auto later = s.async_read_some(asio::buffer(in), asio::experimental::deferred);
      co_await turns();
      EXPECT_EQ(s.available(), 5u);
      std::move(later)([&called](std::error_code ec, std::size_t n) {
        EXPECT_FALSE(ec) << ec.message();
        EXPECT_EQ(n, 5u);
        called = true;
      });
      co_await until([&called] { return called; });
    });
  });
}

TEST_P(Tokens, ADetachedWriteIsStillWritten) {
  connected([](peers& p) -> asio::awaitable<void> {
    p.client.with([](auto& s) { s.async_write_some(asio::buffer("gone", 4), asio::detached); });
    EXPECT_EQ(co_await receive(p.server, 4), "gone");
  });
}

TEST_P(Tokens, TheErrorComesAsAValueWithTupleOrRedirection) {
  connected([](peers& p) -> asio::awaitable<void> {
    char in[8];
    p.server.close();
    co_await p.server.with([&](auto& s) -> asio::awaitable<void> {
      const auto [error, n] =
          co_await s.async_read_some(asio::buffer(in), asio::experimental::as_tuple(use_awaitable));
      EXPECT_EQ(error, asio::error::bad_descriptor);
      EXPECT_EQ(n, 0u);
      std::error_code ec;
      co_await s.async_wait(asio::socket_base::wait_write, asio::redirect_error(use_awaitable, ec));
      EXPECT_EQ(ec, asio::error::bad_descriptor);
    });
  });
}

TEST_P(Tokens, AStreamMayHaveADefaultToken) {
  connected([](peers& p) -> asio::awaitable<void> {
    co_await send(p.client, "default");
    co_await arrived(p.server, 7);
    co_await p.server.with([]<typename Socket>(Socket& s) -> asio::awaitable<void> {
      typename asio::use_awaitable_t<>::as_default_on_t<Socket> own(std::move(s));
      char in[8];
      EXPECT_EQ(co_await own.async_read_some(asio::buffer(in)), 7u);
      co_await own.async_wait(asio::socket_base::wait_write);
      EXPECT_EQ(co_await own.async_write_some(asio::buffer("ok", 2)), 2u);
    });
    EXPECT_EQ(co_await receive(p.client, 2), "ok");
  });
}

TEST_P(Tokens, SendAndReceiveAreWriteAndRead) {
  connected([](peers& p) -> asio::awaitable<void> {
    char in[8];
    co_await p.client.with([](auto& s) -> asio::awaitable<void> {
      EXPECT_EQ(co_await s.async_send(asio::buffer("sent", 4), use_awaitable), 4u);
    });
    co_await arrived(p.server, 4);
    co_await p.server.with([&in](auto& s) -> asio::awaitable<void> {
      EXPECT_EQ(co_await s.async_receive(asio::buffer(in), use_awaitable), 4u);
    });
    EXPECT_EQ(std::string_view(in, 4), "sent");
  });
}

INSTANTIATE_TEST_SUITE_P(Everywhere, Tokens, in_all_places(), name_of_combination);

}  // namespace
}  // namespace smc::test
