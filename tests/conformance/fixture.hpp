#pragma once
// The suite's parameters: what carries the bytes, where handlers run, and in which style operations
// are performed.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <tuple>

#include "conformance/subject.hpp"

namespace smc::test {

using combination = std::tuple<carrier, place, style>;

class conformance : public testing::TestWithParam<combination> {
 protected:
  carrier by() const { return std::get<0>(GetParam()); }
  place where() const { return std::get<1>(GetParam()); }
  style how() const { return std::get<2>(GetParam()); }
  bool is_reference() const { return by() == carrier::reference; }

  subject make(const asio::any_io_executor& executor) const {
    return subject(executor, by(), how());
  }

  /// Runs a test's coroutine with peers that are connected.
  void connected(std::function<asio::awaitable<void>(peers&)> test) {
    unconnected([test](peers& p) -> asio::awaitable<void> {
      co_await p.connect();
      co_await test(p);
    });
  }
  /// Runs a test's coroutine with peers that are not.
  void unconnected(std::function<asio::awaitable<void>(peers&)> test) {
    world here(where());
    here.run([&]() -> asio::awaitable<void> {
      peers p(here.executor(), by(), how());
      co_await test(p);
    });
  }
};

/// Peers in a context that nobody runs: for calls in the calling thread.
class conformance_of_calls : public conformance {
 protected:
  conformance_of_calls() : here(where()), p(here.executor(), by(), how()) {}

  void connect() {
    EXPECT_EQ(p.client.connect_now(p.at.endpoint()), std::error_code());
    EXPECT_EQ(p.at.accept_now(p.server), std::error_code());
    if (is_reference()) return;
    EXPECT_EQ(p.client.own().transport(), expected(by()));
    EXPECT_EQ(p.server.own().transport(), expected(by()));
  }
  subject make() const { return conformance::make(here.executor()); }

  world here;
  peers p;
};

/// What a throwing call throws; no error: nothing.
template <typename Call>
std::error_code thrown_by(Call&& call) {
  try {
    call();
  } catch (const std::system_error& e) {
    return e.code();
  }
  return {};
}

inline std::string name_of_combination(const testing::TestParamInfo<combination>& info) {
  static constexpr const char* styles[] = {"", "_in_coroutines", "_by_futures"};
  return name_of(std::get<0>(info.param), std::get<1>(info.param)) +
         styles[static_cast<int>(std::get<2>(info.param))];
}

inline auto reference_and_all_carriers() {
  return testing::Values(carrier::reference, carrier::tcp, carrier::smc_d_mapped,
                         carrier::smc_d_copying, carrier::memory);
}

/// For behaviours of asynchronous operations.
inline auto in_all_styles() {
  return testing::Combine(reference_and_all_carriers(), all_places(),
                          testing::Values(style::callback, style::coroutine, style::future));
}
inline auto ours_in_all_styles() {
  return testing::Combine(all_carriers(), all_places(),
                          testing::Values(style::callback, style::coroutine, style::future));
}
/// Where operations are cancelled: signals are not thread-safe, and the handler of a future runs on
/// other threads.
inline auto in_styles_of_one_thread() {
  return testing::Combine(reference_and_all_carriers(), all_places(),
                          testing::Values(style::callback, style::coroutine));
}
/// For those that are only ours.
inline auto ours_in_styles_of_one_thread() {
  return testing::Combine(all_carriers(), all_places(),
                          testing::Values(style::callback, style::coroutine));
}
/// Where the style is the test's own.
inline auto in_all_places() {
  return testing::Combine(reference_and_all_carriers(), all_places(),
                          testing::Values(style::callback));
}
inline auto ours_in_all_places() {
  return testing::Combine(all_carriers(), all_places(), testing::Values(style::callback));
}
/// For what takes no executor: calls in the calling thread, settings, objects.
inline auto in_both_contexts() {
  return testing::Combine(reference_and_all_carriers(),
                          testing::Values(place::event_loop, place::io_context),
                          testing::Values(style::callback));
}

}  // namespace smc::test
