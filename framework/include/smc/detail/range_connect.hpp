#pragma once
// Which endpoints smc::connect() and smc::async_connect() try, and the asynchronous trying.
#include <asio/cancellation_state.hpp>
#include <asio/error.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>
#include <concepts>
#include <cstddef>
#include <system_error>
#include <utility>

namespace smc::detail {

template <typename T>
concept endpoint_sequence = requires(const T& t) {
  { *t.begin() } -> std::convertible_to<asio::ip::tcp::endpoint>;
  t.begin() != t.end();
};
template <typename T>
concept endpoint_iterator = !endpoint_sequence<T> && requires(T & t) {
  { *t } -> std::convertible_to<asio::ip::tcp::endpoint>;
  ++t;
};
/// Asked before each attempt with the last one's error and the endpoint, as it stands in the range:
/// whether to try it.
template <typename T, typename Endpoint>
concept connect_condition = requires(T& condition, const std::error_code& last, Endpoint&& next) {
  { condition(last, std::forward<Endpoint>(next)) } -> std::convertible_to<bool>;
};

struct any_endpoint {
  template <typename Endpoint>
  constexpr bool operator()(const std::error_code&, const Endpoint&) const noexcept {
    return true;
  }
};

/// The endpoints between two iterators. What a connect ends with is one of them, or the end.
template <typename Iterator>
class iterated_endpoints {
 public:
  iterated_endpoints(Iterator begin, Iterator end)
      : current_(end), next_(std::move(begin)), end_(std::move(end)) {}
  template <typename Condition>
  bool advance(Condition& condition, const std::error_code& last) {
    for (; next_ != end_; ++next_) {
      if (condition(last, *next_)) {
        current_ = next_;
        ++next_;
        return true;
      }
    }
    return false;
  }
  asio::ip::tcp::endpoint current() const { return *current_; }
  Iterator found() const { return current_; }
  Iterator none() const { return end_; }

 private:
  Iterator current_, next_, end_;
};

/// A sequence of its own, which moves with the operation: counted, for want of iterators that stay
/// valid then.
template <typename Endpoints>
class kept_endpoints {
 public:
  explicit kept_endpoints(const Endpoints& endpoints) : endpoints_(endpoints) {}
  template <typename Condition>
  bool advance(Condition& condition, const std::error_code& last) {
    for (auto i = at(tried_); i != std::as_const(endpoints_).end(); ++i) {
      ++tried_;
      if (condition(last, *i)) return true;
    }
    return false;
  }
  asio::ip::tcp::endpoint current() const { return *at(tried_ - 1); }
  asio::ip::tcp::endpoint found() const { return current(); }
  asio::ip::tcp::endpoint none() const { return {}; }

 private:
  auto at(std::size_t n) const {
    auto i = endpoints_.begin();
    for (; n != 0; --n) ++i;
    return i;
  }

  Endpoints endpoints_;
  std::size_t tried_ = 0;
};

template <typename Stream, typename Endpoints, typename Condition>
class range_connect {
 public:
  range_connect(Stream& target, Endpoints endpoints, Condition condition)
      : target_(target), endpoints_(std::move(endpoints)), condition_(std::move(condition)) {}

  template <typename Self>
  void operator()(Self& self, std::error_code ec = {}) {
    if (state_ == state::nothing_to_try) {
      self.complete(asio::error::not_found, endpoints_.none());
      return;
    }
    if (state_ == state::trying && !ec) {
      self.complete(ec, endpoints_.found());
      return;
    }
    if (ec == asio::error::operation_aborted || !endpoints_.advance(condition_, ec)) {
      end(self, ec);
      return;
    }
    if (state_ == state::fresh) {  // as Asio's: async_compose passes terminal requests alone
      self.reset_cancellation_state(asio::enable_partial_cancellation());
    }
    state_ = state::trying;
    std::error_code ignored;
    target_.close(ignored);
    const auto to = endpoints_.current();
    target_.async_connect(to, std::move(self));
  }

 private:
  enum class state { fresh, trying, nothing_to_try };

  template <typename Self>
  void end(Self& self, const std::error_code& ec) {
    if (state_ == state::trying) {
      self.complete(ec, endpoints_.none());
      return;
    }
    state_ = state::nothing_to_try;  // posted, so as not to complete in the initiating function
    auto executor = target_.get_executor();
    asio::post(executor, std::move(self));
  }

  Stream& target_;
  Endpoints endpoints_;
  Condition condition_;
  state state_ = state::fresh;
};

}  // namespace smc::detail
