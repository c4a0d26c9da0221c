#pragma once
// Where a stream is tested: each transport on each kind of execution context.
#include <gtest/gtest.h>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/buffer.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/read.hpp>
#include <asio/strand.hpp>
#include <asio/this_coro.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <smc/smc.hpp>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "support/memory_transport.hpp"

namespace smc::test {

using namespace std::chrono_literals;

/// `reference`: no stream of ours but a bare asio::ip::tcp::socket (tests/conformance).
enum class carrier { tcp, smc_d_mapped, smc_d_copying, memory, reference };
enum class place { event_loop, io_context, threads_and_strand, pool_and_strand, loop_and_strand };

inline constexpr std::size_t test_ring = std::size_t{64} << 10;
/// What takes longer hangs: far more than the slowest test needs on a machine with other work, and
/// less than the watchdog allows.
inline constexpr std::chrono::seconds patience{120};

inline transport_kind expected(carrier c) {
  if (c == carrier::tcp || c == carrier::reference) return transport_kind::tcp;
  return c == carrier::memory ? transport_kind::other : transport_kind::smc_d;
}

inline config settings_for(carrier c) {
  if (c == carrier::memory) use_memory_transport();
  config settings;
  settings.ring_size = test_ring;
  settings.handshake_timeout = patience;
  settings.transports = {transport_kind::tcp};
  if (expected(c) != transport_kind::tcp)
    settings.transports.insert(settings.transports.begin(), expected(c));
  settings.map_send_buffer = c != carrier::smc_d_copying;
  return settings;
}

/// An execution context with its threads.
class world {
 public:
  explicit world(place where) {
    switch (where) {
      case place::event_loop:
      case place::loop_and_strand:
        loop_ = std::make_unique<event_loop>();
        executor_ = loop_->get_executor();
        if (where == place::loop_and_strand) executor_ = asio::make_strand(loop_->get_executor());
        break;
      case place::io_context:
      case place::threads_and_strand:
        context_ = std::make_unique<asio::io_context>();
        executor_ = context_->get_executor();
        if (where == place::threads_and_strand) {
          executor_ = asio::make_strand(context_->get_executor());
          threads_ = 3;
        }
        break;
      case place::pool_and_strand:
        pool_ = std::make_unique<asio::thread_pool>(3);
        executor_ = asio::make_strand(pool_->get_executor());
        break;
    }
  }

  const asio::any_io_executor& executor() const { return executor_; }

  /// Runs a coroutine, and the context until it has nothing left to do.
  template <typename Coroutine>
  void run(Coroutine coroutine) {
    spawn(std::move(coroutine), [] {});
    EXPECT_TRUE(!loop_ || loop_->stopped()) << "something keeps the loop running";
    EXPECT_TRUE(!context_ || context_->stopped()) << "something keeps the context running";
  }

  /// Runs a coroutine, and stops the context behind it, whatever is pending.
  template <typename Coroutine>
  void run_and_stop(Coroutine coroutine) {
    spawn(std::move(coroutine), [this] {
      if (loop_) loop_->stop();
      if (context_) context_->stop();
    });
  }

  /// Ends the context with what is pending in it.
  void destroy() {
    executor_ = {};
    loop_.reset();
    context_.reset();
    if (pool_) pool_->stop();
    pool_.reset();
  }

 private:
  template <typename Coroutine>
  void spawn(Coroutine coroutine, std::function<void()> after) {
    std::promise<void> promise;
    auto result = promise.get_future();
    asio::co_spawn(executor_, std::move(coroutine),
                   [&promise, after = std::move(after)](std::exception_ptr failure) {
                     after();
                     if (failure) {
                       promise.set_exception(failure);
                     } else {
                       promise.set_value();
                     }
                   });
    if (loop_) {
      loop_->restart();
      loop_->run_for(patience);
    } else if (context_) {
      context_->restart();
      std::vector<std::thread> others;
      for (int i = 1; i < threads_; ++i)
        others.emplace_back([this] { context_->run_for(patience); });
      context_->run_for(patience);
      for (auto& thread : others) thread.join();
    }
    if (result.wait_for(pool_ ? patience : 0s) == std::future_status::ready) {
      result.get();
    } else {
      destroy();  // before what the coroutine refers to
      FAIL() << "the test's coroutine does not end";
    }
  }

  std::unique_ptr<event_loop> loop_;
  std::unique_ptr<asio::io_context> context_;
  std::unique_ptr<asio::thread_pool> pool_;
  asio::any_io_executor executor_;
  int threads_ = 1;
};

/// What a handler was told.
struct outcome {
  bool called = false;
  std::error_code error;
  std::size_t bytes = 0;
};

inline auto store(outcome& into) {
  return [&into](std::error_code error, std::size_t bytes = 0) {
    EXPECT_FALSE(into.called) << "called twice";
    into = {true, error, bytes};
  };
}

/// `port`: as processes share it.
inline asio::ip::tcp::endpoint at_port(std::uint32_t port) {
  return {asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(port)};
}
inline asio::ip::tcp::endpoint any_port() { return at_port(0); }

/// Lets others run.
inline asio::awaitable<void> turns(int count = 20) {
  const auto executor = co_await asio::this_coro::executor;
  for (int i = 0; i < count; ++i) co_await asio::post(executor, asio::use_awaitable);
}

/// Lets others run until `condition` holds; throws when it never does.
inline asio::awaitable<void> until(std::function<bool()> condition) {
  const auto executor = co_await asio::this_coro::executor;
  const auto limit = std::chrono::steady_clock::now() + patience / 2;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > limit) throw std::runtime_error("waited in vain");
    co_await asio::post(executor, asio::use_awaitable);
  }
}

/// Two connected streams.
struct pair {
  pair(const asio::any_io_executor& executor, carrier c)
      : kind(expected(c)),
        listener(executor, any_port(), settings_for(c)),
        client(executor, settings_for(c)),
        server(executor, settings_for(c)) {}

  asio::awaitable<void> connect() {
    outcome accepted;
    listener.async_accept(server, store(accepted));
    co_await client.async_connect(listener.local_endpoint(), asio::use_awaitable);
    co_await until([&accepted] { return accepted.called; });
    EXPECT_FALSE(accepted.error) << accepted.error.message();
    EXPECT_EQ(client.transport(), kind) << client.fallback_reason().message();
    EXPECT_EQ(server.transport(), kind) << server.fallback_reason().message();
  }

  transport_kind kind;
  acceptor listener;
  stream client;
  stream server;
};

inline char pattern(std::size_t position) {
  return static_cast<char>((position * 31 + (position >> 8) * 7 + (position >> 16)) & 0xff);
}

inline std::string pattern_text(std::size_t from, std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = pattern(from + i);
  return text;
}

inline asio::awaitable<std::string> read_text(stream& from, std::size_t size) {
  std::string text(size, '\0');
  co_await asio::async_read(from, asio::buffer(text), asio::use_awaitable);
  co_return text;
}

class each_setting : public testing::TestWithParam<std::tuple<carrier, place>> {
 protected:
  carrier by() const { return std::get<0>(GetParam()); }
  place where() const { return std::get<1>(GetParam()); }
  config settings() const { return settings_for(by()); }

  /// Runs a test's coroutine with a connected pair.
  void connected(std::function<asio::awaitable<void>(pair&)> test) {
    world here(where());
    here.run([&]() -> asio::awaitable<void> {
      pair streams(here.executor(), by());
      co_await streams.connect();
      co_await test(streams);
    });
  }
};

inline std::string name_of(carrier by) {
  static constexpr const char* carriers[] = {"tcp", "smc_d_mapped", "smc_d_copying", "memory",
                                             "reference"};
  return carriers[static_cast<int>(by)];
}

inline std::string name_of_carrier(const testing::TestParamInfo<carrier>& info) {
  return name_of(info.param);
}

inline std::string name_of(carrier by, place where) {
  static constexpr const char* places[] = {"event_loop", "io_context", "threads_and_strand",
                                           "pool_and_strand", "loop_and_strand"};
  return name_of(by) + "_on_" + places[static_cast<int>(where)];
}

inline std::string name_of_setting(const testing::TestParamInfo<std::tuple<carrier, place>>& info) {
  return name_of(std::get<0>(info.param), std::get<1>(info.param));
}

inline auto all_carriers() {
  return testing::Values(carrier::tcp, carrier::smc_d_mapped, carrier::smc_d_copying,
                         carrier::memory);
}

inline auto all_places() {
  return testing::Values(place::event_loop, place::io_context, place::threads_and_strand,
                         place::pool_and_strand, place::loop_and_strand);
}

inline auto all_settings() { return testing::Combine(all_carriers(), all_places()); }

}  // namespace smc::test
