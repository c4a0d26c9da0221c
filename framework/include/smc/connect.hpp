#pragma once
// Connecting to the first endpoint of a sequence that answers, as asio::connect and
// asio::async_connect do for sockets.
#include <asio/async_result.hpp>
#include <asio/compose.hpp>
#include <asio/error.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>
#include <smc/stream.hpp>
#include <system_error>
#include <utility>
#include <vector>

namespace smc {

namespace detail {

template <typename Endpoints>
std::vector<asio::ip::tcp::endpoint> endpoint_list(const Endpoints& endpoints) {
  std::vector<asio::ip::tcp::endpoint> list;
  for (const auto& entry : endpoints) list.push_back(entry);
  return list;
}

template <typename Executor>
struct range_connect {
  basic_stream<Executor>& target;
  std::vector<asio::ip::tcp::endpoint> endpoints;
  std::size_t next = 0;
  bool started = false;

  template <typename Self>
  void operator()(Self& self, std::error_code ec = asio::error::not_found) {
    if (started &&
        next == 0) {  // no endpoints: posted, so as not to complete inside the initiating function
      self.complete(asio::error::not_found, {});
      return;
    }
    if (started && (!ec || ec == asio::error::operation_aborted)) {
      self.complete(ec, ec ? asio::ip::tcp::endpoint() : endpoints[next - 1]);
      return;
    }
    if (next == endpoints.size() && started) {
      self.complete(ec, {});
      return;
    }
    started = true;
    if (endpoints.empty()) {
      asio::post(target.get_executor(), std::move(self));
      return;
    }
    std::error_code ignored;
    target.close(ignored);
    const auto to = endpoints[next++];
    target.async_connect(to, std::move(self));
  }
};

}  // namespace detail

/// Tries the endpoints in turn, the stream closed before each. Returns the one that was connected
/// to; with none: not_found; all failed: the last one's error.
template <typename Executor, typename Endpoints>
asio::ip::tcp::endpoint connect(basic_stream<Executor>& target, const Endpoints& endpoints,
                                std::error_code& ec) requires requires {
  endpoints.begin() != endpoints.end();
}
{
  ec = asio::error::not_found;
  for (const asio::ip::tcp::endpoint& to : detail::endpoint_list(endpoints)) {
    std::error_code ignored;
    target.close(ignored);
    target.connect(to, ec);
    if (!ec) return to;
  }
  return {};
}
template <typename Executor, typename Endpoints>
asio::ip::tcp::endpoint connect(basic_stream<Executor>& target,
                                const Endpoints& endpoints) requires requires {
  endpoints.begin() != endpoints.end();
}
{
  std::error_code ec;
  const auto connected = smc::connect(target, endpoints, ec);
  if (ec) throw std::system_error(ec, "connect");
  return connected;
}

/// The same, asynchronously: void(std::error_code, asio::ip::tcp::endpoint). Cancellation
/// (terminal): operation_aborted, the stream closed. The stream stays valid until the handler is
/// called.
template <typename Executor, typename Endpoints,
          ASIO_COMPLETION_TOKEN_FOR(void(std::error_code, asio::ip::tcp::endpoint))
              Token ASIO_DEFAULT_COMPLETION_TOKEN_TYPE(Executor)>
auto async_connect(basic_stream<Executor>& target, const Endpoints& endpoints,
                   Token&& token ASIO_DEFAULT_COMPLETION_TOKEN(Executor)) requires requires {
  endpoints.begin() != endpoints.end();
}
{
  return asio::async_compose<Token, void(std::error_code, asio::ip::tcp::endpoint)>(
      detail::range_connect<Executor>{target, detail::endpoint_list(endpoints)}, token, target);
}

}  // namespace smc
