// Exceptions out of handlers (cppalliance/capy #259, ipkn/crow #205, chriskohlhoff/asio #1110,
// boostorg/cobalt #227).
#include <asio/detached.hpp>

#include "setting.hpp"

namespace smc::test {
namespace {

constexpr std::size_t crowd = 100, thrower = 37;

struct thrown_by_a_handler {};

class FieldExceptions : public testing::TestWithParam<std::tuple<carrier, bool>> {
 protected:
  /// Runs the context until it returns or throws. Whether it threw.
  bool run() {
    try {
      on_loop() ? loop_.run() : context_.run();
    } catch (const thrown_by_a_handler&) {
      return true;
    }
    return false;
  }
  bool on_loop() const { return std::get<1>(GetParam()); }
  carrier by() const { return std::get<0>(GetParam()); }
  asio::any_io_executor executor() {
    if (on_loop()) return loop_.get_executor();
    return context_.get_executor();
  }
  void restart() { on_loop() ? loop_.restart() : context_.restart(); }

  /// Connected pairs; a byte waits for each client.
  void connect() {
    asio::co_spawn(
        executor(),
        [&]() -> asio::awaitable<void> {
          for (std::size_t i = 0; i < crowd; ++i) {
            pairs_.push_back(std::make_unique<pair>(executor(), by()));
            co_await pairs_.back()->connect();
          }
        },
        [](std::exception_ptr failure) {
          if (failure) std::rethrow_exception(failure);
        });
    ASSERT_FALSE(run());
    restart();
    for (auto& each : pairs_) asio::write(each->server, asio::buffer("x", 1));
  }

  event_loop loop_;
  asio::io_context context_;
  std::vector<std::unique_ptr<pair>> pairs_;
};

TEST_P(FieldExceptions, OneOfManyReadyHandlersThatThrowsLeavesTheOthersForTheNextRun) {
  connect();
  std::vector<int> called(crowd);
  std::vector<char> bytes(crowd);
  for (std::size_t i = 0; i < crowd; ++i) {
    pairs_[i]->client.async_read_some(asio::buffer(&bytes[i], 1),
                                      [&called, i](std::error_code error, std::size_t n) {
                                        EXPECT_FALSE(error);
                                        EXPECT_EQ(n, 1u);
                                        ++called[i];
                                        if (i == thrower) throw thrown_by_a_handler();
                                      });
  }
  EXPECT_TRUE(run());
  EXPECT_FALSE(run()) << "without a restart";
  EXPECT_EQ(called, std::vector<int>(crowd, 1));
  restart();
  // Everything works as before.
  std::size_t echoed = 0;
  for (auto& each : pairs_) {
    asio::co_spawn(
        executor(),
        [&each, &echoed]() -> asio::awaitable<void> {
          for (int i = 0; i < 10; ++i) {
            co_await asio::async_write(each->client, asio::buffer("word", 4), asio::use_awaitable);
            echoed += co_await read_text(each->server, 4) == "word";
          }
        },
        asio::detached);
  }
  EXPECT_FALSE(run());
  EXPECT_EQ(echoed, 10 * crowd);
}

TEST_P(FieldExceptions, OneOutOfACoroutineLeavesTheOthersForTheNextRun) {
  connect();
  std::vector<int> resumed(crowd);
  for (std::size_t i = 0; i < crowd; ++i) {
    asio::co_spawn(
        executor(),
        [this, &resumed, i]() -> asio::awaitable<void> {
          EXPECT_EQ(co_await read_text(pairs_[i]->client, 1), "x");
          ++resumed[i];
          if (i == thrower) throw thrown_by_a_handler();
        },
        [](std::exception_ptr failure) {
          if (failure) std::rethrow_exception(failure);
        });
  }
  EXPECT_TRUE(run());
  EXPECT_FALSE(run());
  EXPECT_EQ(resumed, std::vector<int>(crowd, 1));
}

using FieldExceptionsOfThreads = FieldExceptions;

TEST_P(FieldExceptionsOfThreads, OneInOneThreadOfTwoLeavesTheOtherRunning) {
  connect();
  std::atomic<std::size_t> called{0}, threw{0};
  std::vector<char> bytes(crowd);
  for (std::size_t i = 0; i < crowd; ++i) {
    pairs_[i]->client.async_read_some(asio::buffer(&bytes[i], 1),
                                      [&, i](std::error_code, std::size_t) {
                                        ++called;
                                        if (i == thrower) throw thrown_by_a_handler();
                                      });
  }
  const auto running = [&] { threw += run(); };
  std::thread one(running), two(running);
  one.join();
  two.join();
  EXPECT_EQ(threw, 1u);
  EXPECT_EQ(called, crowd);
}

std::string name_of_tested(const testing::TestParamInfo<std::tuple<carrier, bool>>& tested) {
  const bool on_loop = std::get<1>(tested.param);
  return name_of(std::get<0>(tested.param), on_loop ? place::event_loop : place::io_context);
}

INSTANTIATE_TEST_SUITE_P(Everywhere, FieldExceptions,
                         testing::Combine(all_carriers(), testing::Bool()), name_of_tested);
// An event_loop has one thread.
INSTANTIATE_TEST_SUITE_P(Everywhere, FieldExceptionsOfThreads,
                         testing::Combine(all_carriers(), testing::Values(false)), name_of_tested);

}  // namespace
}  // namespace smc::test
