// What comes at the moment when its receiver goes to sleep (boostorg/asio #320, chriskohlhoff/asio
// #452, arangodb/arangodb #10740, eclipse-ecal/ecal #1914).
#include <asio/detached.hpp>
#include <asio/redirect_error.hpp>

#include "setting.hpp"
#include "support/other_process.hpp"

namespace smc::test {
namespace {

using asio::use_awaitable;

enum class sleeper { loop_that_spins, loop_that_never_spins, io_context };

constexpr std::size_t word = 8;
constexpr std::size_t more_than_a_ring = test_ring * 3 / 2;
/// Each such round has its writer wait for space.
bool is_large(std::size_t round) { return round % 8 == 7; }

/// Up to 200 us, awake: whoever waits for us meets its sleep at a random phase.
class random_pause {
 public:
  explicit random_pause(unsigned seed) : random_(seed) {}
  void operator()() {
    const auto until = std::chrono::steady_clock::now() +
                       std::chrono::microseconds(std::uniform_int_distribution<>(0, 200)(random_));
    while (std::chrono::steady_clock::now() < until) {
    }
  }

 private:
  std::mt19937 random_;
};

event_loop_options never_spinning() {
  event_loop_options options;
  options.spin = spin_policy::never;
  return options;
}

void run_on(sleeper kind, const std::function<void(const asio::any_io_executor&)>& start) {
  if (kind == sleeper::io_context) {
    asio::io_context context;
    start(context.get_executor());
    context.run();
  } else {
    event_loop loop(kind == sleeper::loop_that_spins ? event_loop_options{} : never_spinning());
    start(loop.get_executor());
    loop.run();
  }
}

struct what {
  carrier by;
  sleeper kind;
};
int number_of(what w) { return static_cast<int>(w.by) * 10 + static_cast<int>(w.kind); }
what of_number(int n) { return {static_cast<carrier>(n / 10), static_cast<sleeper>(n % 10)}; }

// In a class: g++ 12 takes the frames of free coroutines for wrongly deleted.
struct conversation {
  /// Answers each round with a word, until the end of the stream.
  static asio::awaitable<void> answer(stream from) {
    random_pause pause(1);
    std::string text(more_than_a_ring, '\0');
    for (std::size_t round = 0;; ++round) {
      std::error_code error;
      if (is_large(round)) pause();  // the ring is full by then
      co_await asio::async_read(from, asio::buffer(text, is_large(round) ? text.size() : word),
                                asio::redirect_error(use_awaitable, error));
      if (error) co_return;
      pause();
      co_await asio::async_write(from, asio::buffer(text, word), use_awaitable);
    }
  }

  static asio::awaitable<void> serve(acceptor& listener) {
    for (;;) {
      asio::co_spawn(listener.get_executor(), answer(co_await listener.async_accept(use_awaitable)),
                     asio::detached);
    }
  }

  static asio::awaitable<void> ask(stream& to, std::size_t rounds, random_pause& pause) {
    const std::string text(more_than_a_ring, 'x');
    std::string reply(word, '\0');
    for (std::size_t round = 0; round < rounds; ++round) {
      pause();
      co_await asio::async_write(to, asio::buffer(text, is_large(round) ? text.size() : word),
                                 use_awaitable);
      co_await asio::async_read(to, asio::buffer(reply), use_awaitable);
    }
  }
};

void answering_process(shared_facts& facts, const role_argument& how) {
  const what w = of_number(how.number);
  std::optional<acceptor> listener;
  run_on(w.kind, [&](const asio::any_io_executor& executor) {
    listener.emplace(executor, any_port(), settings_for(w.by));
    facts.port = listener->local_endpoint().port();
    asio::co_spawn(executor, conversation::serve(*listener), asio::detached);
  });
}

class FieldSleep : public testing::TestWithParam<std::tuple<carrier, sleeper>> {
 protected:
  what tested() const { return {std::get<0>(GetParam()), std::get<1>(GetParam())}; }

  /// Runs `client` against a process of the same kind. A wake-up that is lost hangs it.
  void against_a_process(std::function<asio::awaitable<void>(stream&, std::uint32_t)> client) {
    other_process server(answering_process, {0, number_of(tested())});
    while (server.facts().port == 0) std::this_thread::yield();
    std::exception_ptr failed;
    bool done = false;
    run_on(tested().kind, [&](const asio::any_io_executor& executor) {
      asio::co_spawn(
          executor,
          [&]() -> asio::awaitable<void> {
            stream us(co_await asio::this_coro::executor, settings_for(tested().by));
            co_await client(us, server.facts().port);
            done = true;
          },
          [&](std::exception_ptr e) { failed = e; });
    });
    if (failed) std::rethrow_exception(failed);
    EXPECT_TRUE(done);
  }
};

TEST_P(FieldSleep, BytesAndSpaceThatComeJustThenWakeTheirReceiver) {
  random_pause pause(2);
  against_a_process([&](stream& us, std::uint32_t port) -> asio::awaitable<void> {
    co_await us.async_connect(at_port(port), use_awaitable);
    EXPECT_EQ(us.transport(), expected(tested().by)) << us.fallback_reason().message();
    co_await conversation::ask(us, repeated(3000), pause);
  });
}

TEST_P(FieldSleep, ConnectionsThatComeJustThenAreServed) {
  random_pause pause(3);
  against_a_process([&](stream& us, std::uint32_t port) -> asio::awaitable<void> {
    for (std::size_t i = 0, n = repeated(300); i < n; ++i) {
      pause();
      co_await us.async_connect(at_port(port), use_awaitable);
      EXPECT_EQ(us.transport(), expected(tested().by)) << us.fallback_reason().message();
      co_await conversation::ask(us, 1, pause);
      us.close();
    }
  });
}

std::string name_of_sleeper(const testing::TestParamInfo<std::tuple<carrier, sleeper>>& info) {
  static constexpr const char* sleepers[] = {"loop_that_spins", "loop_that_never_spins",
                                             "io_context"};
  return name_of(std::get<0>(info.param)) + "_on_" +
         sleepers[static_cast<int>(std::get<1>(info.param))];
}

INSTANTIATE_TEST_SUITE_P(
    Everywhere, FieldSleep,
    testing::Combine(testing::Values(carrier::tcp, carrier::smc_d_mapped, carrier::smc_d_copying),
                     testing::Values(sleeper::loop_that_spins, sleeper::loop_that_never_spins,
                                     sleeper::io_context)),
    name_of_sleeper);

}  // namespace
}  // namespace smc::test
