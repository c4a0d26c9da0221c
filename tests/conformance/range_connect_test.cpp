// Connecting to a range of endpoints: asio::connect for sockets, smc::connect for streams.
#include <array>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/connect.hpp>
#include <asio/ip/basic_resolver_results.hpp>

#include "conformance/fixture.hpp"

namespace smc::test {
namespace {

using endpoints = std::vector<tcp::endpoint>;

template <typename Endpoints, typename Token>
void async_connect_to(tcp::socket& s, const Endpoints& range, Token&& token) {
  asio::async_connect(s, range, std::forward<Token>(token));
}
template <typename Endpoints, typename Token>
void async_connect_to(stream& s, const Endpoints& range, Token&& token) {
  smc::async_connect(s, range, std::forward<Token>(token));
}
tcp::endpoint connect_to(tcp::socket& s, const endpoints& range, std::error_code& ec) {
  return asio::connect(s, range, ec);
}
tcp::endpoint connect_to(stream& s, const endpoints& range, std::error_code& ec) {
  return smc::connect(s, range, ec);
}

class RangeConnect : public conformance {
 protected:
  /// An endpoint that nobody listens at, as long as this lives.
  struct refusing {
    explicit refusing(const asio::any_io_executor& executor) : bound(executor, any_port()) {}
    tcp::endpoint endpoint() { return bound.local_endpoint(); }
    tcp::socket bound;
  };
  struct result {
    bool called = false;
    std::error_code error;
    tcp::endpoint to;
  };

  template <typename Endpoints>
  static asio::awaitable<result> connect(subject& from, const Endpoints& range) {
    result r;
    from.with([&](auto& s) {
      async_connect_to(s, range, [&r](std::error_code ec, const tcp::endpoint& to) {
        r = {true, ec ? ec : std::error_code(), to};
      });
    });
    EXPECT_FALSE(r.called) << "inside the initiating function";
    co_await until([&r] { return r.called; });
    co_return r;
  }
};

TEST_P(RangeConnect, TheFirstThatAnswersIsConnectedTo) {
  unconnected([](peers& p) -> asio::awaitable<void> {
    refusing nobody(p.client.executor());
    const endpoints range{nobody.endpoint(), nobody.endpoint(), p.at.endpoint(), nobody.endpoint()};
    auto accepted = p.at.accept(p.server);
    const auto r = co_await connect(p.client, range);
    EXPECT_EQ(r.error, std::error_code());
    EXPECT_EQ(r.to, p.at.endpoint());
    EXPECT_EQ(co_await accepted.end(), std::error_code());
    co_await send(p.client, "range");
    EXPECT_EQ(co_await receive(p.server, 5), "range");
  });
}

TEST_P(RangeConnect, AnEmptyRangeIsNotFound) {
  unconnected([](peers& p) -> asio::awaitable<void> {
    const auto r = co_await connect(p.client, endpoints{});
    EXPECT_EQ(r.error, asio::error::not_found);
    EXPECT_EQ(r.to, tcp::endpoint());
  });
}

TEST_P(RangeConnect, WhereAllRefuseTheLastErrorIsTold) {
  unconnected([](peers& p) -> asio::awaitable<void> {
    refusing nobody(p.client.executor());
    const endpoints range(2, nobody.endpoint());
    const auto r = co_await connect(p.client, range);
    EXPECT_EQ(r.error, asio::error::connection_refused);
    EXPECT_EQ(r.to, tcp::endpoint());
  });
}

TEST_P(RangeConnect, AStreamThatWasConnectedIsConnectedAnew) {
  connected([](peers& p) -> asio::awaitable<void> {
    subject other(p.client.executor(), p.by, p.client.how());
    auto accepted = p.at.accept(other);
    const endpoints range(1, p.at.endpoint());
    const auto r = co_await connect(p.client, range);
    EXPECT_EQ(r.error, std::error_code());
    EXPECT_EQ(co_await accepted.end(), std::error_code());
    EXPECT_EQ(co_await read_end(p.server), asio::error::eof);
    co_await send(p.client, "anew");
    EXPECT_EQ(co_await receive(other, 4), "anew");
  });
}

TEST_P(RangeConnect, ResultsOfAResolverAreARange) {
  unconnected([](peers& p) -> asio::awaitable<void> {
    const auto results = tcp::resolver::results_type::create(p.at.endpoint(), "here", "there");
    auto accepted = p.at.accept(p.server);
    const auto r = co_await connect(p.client, results);
    EXPECT_EQ(r.error, std::error_code());
    EXPECT_EQ(co_await accepted.end(), std::error_code());
  });
}

TEST_P(RangeConnect, ARangeNeedNotOutliveTheCall) {
  unconnected([](peers& p) -> asio::awaitable<void> {
    refusing nobody(p.client.executor());
    auto range = std::make_unique<endpoints>(endpoints{nobody.endpoint(), p.at.endpoint()});
    auto accepted = p.at.accept(p.server);
    result r;
    p.client.with([&](auto& s) {
      async_connect_to(s, *range, [&r](std::error_code ec, const tcp::endpoint& to) {
        r = {true, ec ? ec : std::error_code(), to};
      });
    });
    range.reset();
    co_await until([&r] { return r.called; });
    EXPECT_EQ(r.error, std::error_code());
    EXPECT_EQ(co_await accepted.end(), std::error_code());
  });
}

TEST_P(RangeConnect, InTheCallingThreadTheSameIsTold) {
  connected([](peers& p) -> asio::awaitable<void> {
    refusing nobody(p.client.executor());
    subject other(p.client.executor(), p.by, p.client.how());
    subject accepted(p.client.executor(), p.by, p.client.how());
    std::error_code ec;
    other.with([&](auto& s) {
      EXPECT_EQ(connect_to(s, {nobody.endpoint()}, ec), tcp::endpoint());
      EXPECT_EQ(ec, asio::error::connection_refused);
      EXPECT_EQ(connect_to(s, {}, ec), tcp::endpoint());
      EXPECT_EQ(ec, asio::error::not_found);
      EXPECT_EQ(connect_to(s, {nobody.endpoint(), p.at.endpoint()}, ec), p.at.endpoint());
      EXPECT_FALSE(ec) << ec.message();
    });
    EXPECT_EQ(p.at.accept_now(accepted), std::error_code());
    co_return;
  });
}

INSTANTIATE_TEST_SUITE_P(Everywhere, RangeConnect, in_all_places(), name_of_combination);

}  // namespace
}  // namespace smc::test
