#pragma once
// Connecting to the first endpoint of several that answers, as asio::connect and
// asio::async_connect do for sockets.
//
// The endpoints are those of a sequence (as resolvers give them), or between two iterators. They
// are tried in turn, the stream closed before each. A condition, if given, is asked before each
// attempt, with the error of the one before and the endpoint; where it says false the endpoint is
// left out. Errors: with nothing to try not_found; where all failed the last one's.
#include <asio/async_result.hpp>
#include <asio/compose.hpp>
#include <asio/error.hpp>
#include <asio/ip/tcp.hpp>
#include <smc/detail/range_connect.hpp>
#include <smc/stream.hpp>
#include <system_error>
#include <utility>

namespace smc {

/// Returns the iterator of the endpoint that was connected to, or `end`.
template <typename Executor, detail::endpoint_iterator Iterator,
          detail::connect_condition<decltype(*std::declval<Iterator&>())> Condition>
Iterator connect(basic_stream<Executor>& target, Iterator begin, Iterator end, Condition condition,
                 std::error_code& ec) {
  detail::iterated_endpoints<Iterator> endpoints(std::move(begin), std::move(end));
  ec = {};
  while (endpoints.advance(condition, ec)) {
    std::error_code ignored;
    target.close(ignored);
    target.connect(endpoints.current(), ec);
    if (!ec) return endpoints.found();
  }
  if (!ec) ec = asio::error::not_found;
  return endpoints.none();
}
template <typename Executor, detail::endpoint_iterator Iterator,
          detail::connect_condition<decltype(*std::declval<Iterator&>())> Condition>
Iterator connect(basic_stream<Executor>& target, Iterator begin, Iterator end,
                 Condition condition) {
  std::error_code ec;
  auto connected = smc::connect(target, std::move(begin), std::move(end), std::move(condition), ec);
  if (ec) throw std::system_error(ec, "connect");
  return connected;
}
template <typename Executor, detail::endpoint_iterator Iterator>
Iterator connect(basic_stream<Executor>& target, Iterator begin, Iterator end,
                 std::error_code& ec) {
  return smc::connect(target, std::move(begin), std::move(end), detail::any_endpoint(), ec);
}
template <typename Executor, detail::endpoint_iterator Iterator>
Iterator connect(basic_stream<Executor>& target, Iterator begin, Iterator end) {
  return smc::connect(target, std::move(begin), std::move(end), detail::any_endpoint());
}

/// Returns the endpoint that was connected to.
template <typename Executor, detail::endpoint_sequence Endpoints,
          detail::connect_condition<decltype(*std::declval<const Endpoints&>().begin())> Condition>
asio::ip::tcp::endpoint connect(basic_stream<Executor>& target, const Endpoints& endpoints,
                                Condition condition, std::error_code& ec) {
  const auto connected =
      smc::connect(target, endpoints.begin(), endpoints.end(), std::move(condition), ec);
  if (ec) return {};
  return *connected;
}
template <typename Executor, detail::endpoint_sequence Endpoints,
          detail::connect_condition<decltype(*std::declval<const Endpoints&>().begin())> Condition>
asio::ip::tcp::endpoint connect(basic_stream<Executor>& target, const Endpoints& endpoints,
                                Condition condition) {
  return *smc::connect(target, endpoints.begin(), endpoints.end(), std::move(condition));
}
template <typename Executor, detail::endpoint_sequence Endpoints>
asio::ip::tcp::endpoint connect(basic_stream<Executor>& target, const Endpoints& endpoints,
                                std::error_code& ec) {
  return smc::connect(target, endpoints, detail::any_endpoint(), ec);
}
template <typename Executor, detail::endpoint_sequence Endpoints>
asio::ip::tcp::endpoint connect(basic_stream<Executor>& target, const Endpoints& endpoints) {
  return smc::connect(target, endpoints, detail::any_endpoint());
}

/// The same, asynchronously: void(std::error_code, asio::ip::tcp::endpoint). A sequence is copied.
/// Cancellation (terminal, partial): operation_aborted, the stream closed. The stream stays valid
/// until the handler is called.
template <typename Executor, detail::endpoint_sequence Endpoints,
          detail::connect_condition<decltype(*std::declval<const Endpoints&>().begin())> Condition,
          ASIO_COMPLETION_TOKEN_FOR(void(std::error_code, asio::ip::tcp::endpoint))
              Token ASIO_DEFAULT_COMPLETION_TOKEN_TYPE(Executor)>
auto async_connect(basic_stream<Executor>& target, const Endpoints& endpoints, Condition condition,
                   Token&& token ASIO_DEFAULT_COMPLETION_TOKEN(Executor)) {
  using kept = detail::kept_endpoints<Endpoints>;
  return asio::async_compose<Token, void(std::error_code, asio::ip::tcp::endpoint)>(
      detail::range_connect<basic_stream<Executor>, kept, Condition>(target, kept(endpoints),
                                                                     std::move(condition)),
      token, target);
}
template <typename Executor, detail::endpoint_sequence Endpoints,
          ASIO_COMPLETION_TOKEN_FOR(void(std::error_code, asio::ip::tcp::endpoint))
              Token ASIO_DEFAULT_COMPLETION_TOKEN_TYPE(Executor)>
auto async_connect(basic_stream<Executor>& target, const Endpoints& endpoints,
                   Token&& token ASIO_DEFAULT_COMPLETION_TOKEN(Executor)) {
  return smc::async_connect(target, endpoints, detail::any_endpoint(), std::forward<Token>(token));
}

/// void(std::error_code, Iterator): that of the endpoint, or `end`. What the iterators point to
/// stays valid until the handler is called.
template <typename Executor, detail::endpoint_iterator Iterator,
          detail::connect_condition<decltype(*std::declval<Iterator&>())> Condition,
          ASIO_COMPLETION_TOKEN_FOR(void(std::error_code, Iterator))
              Token ASIO_DEFAULT_COMPLETION_TOKEN_TYPE(Executor)>
auto async_connect(basic_stream<Executor>& target, Iterator begin, Iterator end,
                   Condition condition, Token&& token ASIO_DEFAULT_COMPLETION_TOKEN(Executor)) {
  using iterated = detail::iterated_endpoints<Iterator>;
  return asio::async_compose<Token, void(std::error_code, Iterator)>(
      detail::range_connect<basic_stream<Executor>, iterated, Condition>(
          target, iterated(std::move(begin), std::move(end)), std::move(condition)),
      token, target);
}
template <typename Executor, detail::endpoint_iterator Iterator,
          ASIO_COMPLETION_TOKEN_FOR(void(std::error_code, Iterator))
              Token ASIO_DEFAULT_COMPLETION_TOKEN_TYPE(Executor)>
auto async_connect(basic_stream<Executor>& target, Iterator begin, Iterator end,
                   Token&& token ASIO_DEFAULT_COMPLETION_TOKEN(Executor)) {
  return smc::async_connect(target, std::move(begin), std::move(end), detail::any_endpoint(),
                            std::forward<Token>(token));
}

}  // namespace smc
