#pragma once
// Completion tokens of a program's own, whose async_result has initiate() and nothing else.
#include <asio/async_result.hpp>
#include <tuple>
#include <type_traits>
#include <utility>

#include "compile/archetypes/handler.hpp"

namespace smc::test {

/// The initiating function starts nothing; the operation that it returns does, given a handler.
struct lazy_token {
  explicit lazy_token(int) {}
  lazy_token(lazy_token&&) = default;
};

template <typename Initiation, typename... Args>
class lazy_operation {
 public:
  template <typename I, typename... A>
  explicit lazy_operation(std::piecewise_construct_t, I&& initiation, A&&... args)
      : initiation_(std::forward<I>(initiation)), args_(std::forward<A>(args)...) {}
  lazy_operation(lazy_operation&&) = default;
  template <typename Handler>
  void start(Handler&& handler) && {
    std::apply(
        [&](Args&... args) {
          std::move(initiation_)(std::forward<Handler>(handler), std::move(args)...);
        },
        args_);
  }

 private:
  Initiation initiation_;
  std::tuple<Args...> args_;
};

/// The initiating function returns this by value: it can be moved and asked.
class receipt {
 public:
  explicit receipt(record& r) : record_(&r) {}
  receipt(receipt&&) = default;
  const record& what() const noexcept { return *record_; }

 private:
  record* record_;
};
class receipt_token {
 public:
  explicit receipt_token(record& r) : record_(&r) {}
  receipt_token(receipt_token&&) = default;
  record& what() const noexcept { return *record_; }

 private:
  record* record_;
};

}  // namespace smc::test

template <typename Signature>
class asio::async_result<smc::test::lazy_token, Signature> {
 public:
  template <typename Initiation, typename... Args>
  static auto initiate(Initiation&& initiation, smc::test::lazy_token, Args&&... args) {
    return smc::test::lazy_operation<std::decay_t<Initiation>, std::decay_t<Args>...>(
        std::piecewise_construct, std::forward<Initiation>(initiation),
        std::forward<Args>(args)...);
  }
};

template <typename Signature>
class asio::async_result<smc::test::receipt_token, Signature> {
 public:
  template <typename Initiation, typename... Args>
  static smc::test::receipt initiate(Initiation&& initiation, smc::test::receipt_token token,
                                     Args&&... args) {
    std::forward<Initiation>(initiation)(smc::test::bare_handler<Signature>(token.what()),
                                         std::forward<Args>(args)...);
    return smc::test::receipt(token.what());
  }
};
