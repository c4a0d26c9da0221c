// Operations with completion tokens of a program's own, and with all of Asio's.
#include <asio/bind_allocator.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/bind_executor.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/experimental/append.hpp>
#include <asio/experimental/as_tuple.hpp>
#include <asio/experimental/deferred.hpp>
#include <asio/experimental/prepend.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>
#include <chrono>
#include <exception>
#include <future>
#include <tuple>

#include "compile/archetypes/scene.hpp"
#include "compile/archetypes/token.hpp"

namespace smc::test {
namespace {

using namespace std::chrono_literals;

template <typename Scene>
struct Tokens : testing::Test {};
TYPED_TEST_SUITE(Tokens, scenes_to_try);

template <typename Scene>
void expect_called_once(Scene& s, const record& r) {
  EXPECT_TRUE(s.comes([&r] { return r.called != 0; }));
  EXPECT_EQ(r.called, 1);
  EXPECT_FALSE(r.error) << r.error.message();
}

TYPED_TEST(Tokens, MayStartNothing) {
  TypeParam s;
  const auto later = [&s]<typename Signature>(auto initiate) {
    record r(s.context);
    auto operation = initiate(lazy_token(0));
    s.context.poll();
    EXPECT_EQ(r.called, 0);
    std::move(operation).start(bare_handler<Signature>(r));
    expect_called_once(s, r);
  };
  if constexpr (!TypeParam::reference) connect_and_accept(s, later);
  read_and_write(s, later);
  transfer_without_copy(s, later);
}

TYPED_TEST(Tokens, MayReturnWhatCanOnlyBeMoved) {
  TypeParam s;
  const auto with_receipt = [&s]<typename Signature>(auto initiate) {
    record r(s.context);
    const receipt got = initiate(receipt_token(r));
    EXPECT_EQ(&got.what(), &r);
    expect_called_once(s, r);
  };
  read_and_write(s, with_receipt);
}

TEST(TokensOfOurs, MayHaveADeadlineAround) {
  own_scene s;
  const auto within_an_hour = [&s]<typename Signature>(auto initiate) {
    record r(s.context);
    initiate(smc::with_deadline(1h, member_handler<Signature>(r)));
    expect_called_once(s, r);
    EXPECT_NE(r.executed, 0);
    EXPECT_NE(r.slots_filled, 0);
    EXPECT_NE(r.allocated, 0);
    EXPECT_EQ(r.live, 0);
  };
  connect_and_accept(s, within_an_hour);
  s.connect();
  s.send("ab");
  char in[2];
  within_an_hour.template operator()<error_and_bytes>([&](auto&& token) {
    s.client.async_read_some(asio::buffer(in), std::forward<decltype(token)>(token));
  });
}

TYPED_TEST(Tokens, OfAsioMayBeAnyAroundAnyOther) {
  namespace experimental = asio::experimental;
  TypeParam s;
  s.connect();
  char in[2];
  const auto read = [&](auto&& token) {
    s.send("ab");
    return s.client.async_read_some(asio::buffer(in), std::forward<decltype(token)>(token));
  };
  record r(s.context);
  std::error_code ec = asio::error::eof;
  std::size_t n = 0;
  read(asio::bind_executor(
      s.context.get_executor(),
      asio::bind_allocator(
          minimal_allocator<void>(r),
          asio::bind_cancellation_slot(
              r.signal.slot(), asio::redirect_error(bare_handler<void(std::size_t)>(r), ec)))));
  EXPECT_TRUE(s.comes([&ec] { return !ec; }));
  EXPECT_NE(r.allocated, 0);

  record with_text(s.context);
  read(
      experimental::append(bare_handler<void(std::error_code, std::size_t, const char*)>(with_text),
                           static_cast<const char*>("text")));
  expect_called_once(s, with_text);

  bool called = false;
  read(experimental::prepend([&called](int seven, std::error_code,
                                       std::size_t bytes) { called = seven == 7 && bytes == 2; },
                             7));
  EXPECT_TRUE(s.comes([&called] { return called; }));

  auto deferred = read(experimental::deferred);
  record later(s.context);
  std::move(deferred)(bare_handler<error_and_bytes>(later));
  expect_called_once(s, later);

  std::future<std::size_t> future = read(asio::use_future);
  EXPECT_TRUE(s.comes([&] { return future.wait_for(0s) == std::future_status::ready; }));
  EXPECT_EQ(future.get(), 2u);  // without the system's threads, which would be reported as left

  asio::co_spawn(
      s.executor,
      [&]() -> asio::awaitable<void> {
        std::tie(ec, n) = co_await read(experimental::as_tuple(asio::use_awaitable));
      },
      asio::detached);
  EXPECT_TRUE(s.comes([&n] { return n != 0; }));
  EXPECT_EQ(n, 2u);

  read(asio::detached);
  EXPECT_TRUE(s.comes([&s] { return s.client.available() == 0; }));
}

template <typename Scene>
asio::awaitable<void> without_tokens(Scene& s, int& steps) {
  using default_token = asio::use_awaitable_t<>;
  typename default_token::as_default_on_t<decltype(s.client)> client(std::move(s.client));
  auto acceptor = asio::use_awaitable.as_default_on(std::move(s.acceptor));
  const std::vector<asio::ip::tcp::endpoint> endpoints{acceptor.local_endpoint()};
  asio::ip::tcp::endpoint peer;
  char in[2] = {};

  co_await client.async_connect(endpoints.front());
  co_await acceptor.async_wait(asio::socket_base::wait_read);
  auto server = co_await acceptor.async_accept();
  EXPECT_EQ(co_await async_connect(client, endpoints), endpoints.front());
  server = co_await acceptor.async_accept(peer);
  EXPECT_EQ(co_await async_connect(client, endpoints.begin(), endpoints.end()), endpoints.begin());
  server.close();
  co_await acceptor.async_accept(server);
  ++steps;

  EXPECT_EQ(co_await client.async_write_some(asio::buffer("a", 1)), 1u);
  EXPECT_EQ(co_await client.async_send(asio::buffer("b", 1)), 1u);
  EXPECT_EQ(co_await client.async_send(asio::buffer("c", 1), 0), 1u);
  co_await server.async_wait(asio::socket_base::wait_read);
  EXPECT_EQ(co_await server.async_read_some(asio::buffer(in, 1)), 1u);
  EXPECT_EQ(co_await server.async_receive(asio::buffer(in, 1)), 1u);
  EXPECT_EQ(co_await server.async_receive(asio::buffer(in, 1), 0), 1u);
  EXPECT_EQ(in[0], 'c');
  EXPECT_EQ(co_await asio::async_write(client, asio::buffer("de", 2)), 2u);
  EXPECT_EQ(co_await asio::async_read(server, asio::buffer(in)), 2u);
  if constexpr (!Scene::reference) {
    co_await client.async_prepare(1);
    client.commit(1);
    const asio::const_buffer bytes = co_await server.async_data(1);
    EXPECT_EQ(bytes.size(), 1u);
  }
  ++steps;
}

TYPED_TEST(Tokens, MayBeLeftOutWhereThereIsADefault) {
  TypeParam s;
  int steps = 0;
  bool ended = false;
  asio::co_spawn(s.executor, without_tokens(s, steps), [&ended](std::exception_ptr failure) {
    ended = true;
    if (failure) std::rethrow_exception(failure);
  });
  EXPECT_TRUE(s.comes([&ended] { return ended; }));
  EXPECT_EQ(steps, 2);
}

}  // namespace
}  // namespace smc::test
