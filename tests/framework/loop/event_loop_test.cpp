#include <gtest/gtest.h>

#include <asio.hpp>
#include <csignal>
#include <functional>
#include <latch>
#include <memory>
#include <smc/event_loop.hpp>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

using namespace std::chrono_literals;

TEST(EventLoop, RunsPostedHandlersInOrderAndCountsThem) {
  smc::event_loop loop;
  std::string order;
  for (char c : {'a', 'b', 'c'}) asio::post(loop, [&, c] { order += c; });
  EXPECT_EQ(loop.run(), 3u);
  EXPECT_EQ(order, "abc");
  EXPECT_TRUE(loop.stopped());
}

TEST(EventLoop, WithoutWorkRunReturnsAndTheLoopIsStopped) {
  smc::event_loop loop;
  EXPECT_FALSE(loop.stopped());
  EXPECT_EQ(loop.run(), 0u);
  EXPECT_TRUE(loop.stopped());
}

TEST(EventLoop, DispatchInsideAHandlerRunsInPlaceAndIsNotCounted) {
  smc::event_loop loop;
  std::string order;
  asio::post(loop, [&] {
    asio::post(loop, [&] { order += 'p'; });
    asio::dispatch(loop, [&] { order += 'd'; });
    order += 'h';
  });
  EXPECT_EQ(loop.run(), 2u);
  EXPECT_EQ(order, "dhp");
}

TEST(EventLoop, DispatchOutsideOfRunIsQueued) {
  smc::event_loop loop;
  bool ran = false;
  asio::dispatch(loop, [&] { ran = true; });
  EXPECT_FALSE(ran);
  EXPECT_EQ(loop.poll(), 1u);
  EXPECT_TRUE(ran);
}

TEST(EventLoop, RunOneAndPollOneRunExactlyOne) {
  smc::event_loop loop;
  int ran = 0;
  for (int i = 0; i < 3; ++i) asio::post(loop, [&] { ++ran; });
  EXPECT_EQ(loop.run_one(), 1u);
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(loop.poll_one(), 1u);
  EXPECT_EQ(ran, 2);
  EXPECT_FALSE(loop.stopped());
  EXPECT_EQ(loop.run_one_for(1h), 1u);
  EXPECT_EQ(ran, 3);
  EXPECT_TRUE(loop.stopped());
  EXPECT_EQ(loop.poll_one(), 0u);
}

TEST(EventLoop, RunOneWaitsForATimer) {
  smc::event_loop loop;
  asio::steady_timer timer(loop, 1ms);
  bool fired = false;
  timer.async_wait([&](std::error_code e) { fired = !e; });
  EXPECT_EQ(loop.run_one(), 1u);
  EXPECT_TRUE(fired);
}

TEST(EventLoop, PollDoesNotWait) {
  smc::event_loop loop;
  asio::steady_timer timer(loop, 1h);
  timer.async_wait([](std::error_code) {});
  EXPECT_EQ(loop.poll(), 0u);
  EXPECT_EQ(loop.poll_one(), 0u);
  EXPECT_FALSE(loop.stopped());
}

TEST(EventLoop, PollRunsWhatItsHandlersPost) {
  smc::event_loop loop;
  int left = 1000;
  std::function<void()> step = [&] {
    if (--left > 0) asio::post(loop, step);
  };
  asio::post(loop, step);
  EXPECT_EQ(loop.poll(), 1000u);
}

TEST(EventLoop, RunForEndsWithWorkLeft) {
  smc::event_loop loop;
  asio::steady_timer timer(loop, 1h);
  timer.async_wait([](std::error_code) {});
  EXPECT_EQ(loop.run_for(1ms), 0u);
  EXPECT_FALSE(loop.stopped());
  EXPECT_EQ(loop.run_one_for(1ms), 0u);
}

TEST(EventLoop, RunForEndsAlsoWhileHandlersAreAlwaysReady) {
  smc::event_loop loop;
  std::function<void()> again = [&] { asio::post(loop, again); };
  asio::post(loop, again);
  EXPECT_GT(loop.run_for(1ms), 0u);
  EXPECT_FALSE(loop.stopped());
}

TEST(EventLoop, RunUntilATimeThatIsOverRunsNothing) {
  smc::event_loop loop;
  asio::post(loop, [] {});
  EXPECT_EQ(loop.run_until(std::chrono::steady_clock::now() - 1s), 0u);
  EXPECT_EQ(loop.run_one_until(std::chrono::system_clock::now() - 1s), 0u);
  EXPECT_FALSE(loop.stopped());
  EXPECT_EQ(loop.run_until(std::chrono::system_clock::now() + 1h), 1u);
}

TEST(EventLoop, StopLeavesHandlersForAfterRestart) {
  smc::event_loop loop;
  int ran = 0;
  asio::post(loop, [&] {
    ++ran;
    loop.stop();
  });
  asio::post(loop, [&] { ++ran; });
  EXPECT_EQ(loop.run(), 1u);
  EXPECT_TRUE(loop.stopped());
  EXPECT_EQ(loop.run(), 0u);
  EXPECT_EQ(loop.poll(), 0u);
  loop.restart();
  EXPECT_FALSE(loop.stopped());
  EXPECT_EQ(loop.run(), 1u);
  EXPECT_EQ(ran, 2);
}

TEST(EventLoop, StopFromAnotherThreadEndsASleep) {
  smc::event_loop loop;
  const auto guard = asio::make_work_guard(loop);
  std::latch running(1);
  asio::post(loop, [&] { running.count_down(); });
  std::thread runner([&] { loop.run(); });
  running.wait();
  loop.stop();
  runner.join();
  EXPECT_TRUE(loop.stopped());
}

TEST(EventLoop, StoppingTheInnerContextStopsABusyLoop) {
  smc::event_loop loop;
  std::function<void()> again = [&] { asio::post(loop, again); };
  asio::post(loop, again);
  asio::post(loop, [&] { static_cast<asio::io_context&>(loop).stop(); });
  loop.run();
  EXPECT_TRUE(loop.stopped());
}

TEST(EventLoop, ANestedPollRunsTheRestAndBothCount) {
  smc::event_loop loop;
  std::string order;
  std::size_t inner = 0;
  asio::post(loop, [&] {
    order += '<';
    inner = loop.poll();
    order += '>';
  });
  asio::post(loop, [&] { order += 'a'; });
  asio::post(loop, [&] { order += 'b'; });
  EXPECT_EQ(loop.run(), 1u);
  EXPECT_EQ(inner, 2u);
  EXPECT_EQ(order, "<ab>");
}

TEST(EventLoop, ANestedPollFromATimersHandlerWorks) {
  smc::event_loop loop;
  int ran = 0;
  asio::steady_timer timer(static_cast<asio::io_context&>(loop).get_executor(), 1ms);
  timer.async_wait([&](std::error_code) {
    asio::post(loop, [&] { ++ran; });
    loop.poll();
  });
  loop.run();
  EXPECT_EQ(ran, 1);
}

TEST(EventLoop, ASecondThreadInRunGetsALogicError) {
  smc::event_loop loop;
  std::latch inside(1), tried(1);
  asio::post(loop, [&] {
    inside.count_down();
    tried.wait();
  });
  std::thread runner([&] { loop.run(); });
  inside.wait();
  EXPECT_THROW(loop.run(), std::logic_error);
  EXPECT_THROW(loop.poll(), std::logic_error);
  EXPECT_THROW(loop.run_one_for(1s), std::logic_error);
  tried.count_down();
  runner.join();
  loop.restart();
  EXPECT_EQ(loop.run(), 0u);
}

TEST(EventLoop, AHandlersExceptionLeavesRunAndTheLoopGoesOn) {
  smc::event_loop loop;
  int ran = 0;
  asio::post(loop, [] { throw 7; });
  asio::post(loop, [&] { ++ran; });
  EXPECT_THROW(loop.run(), int);
  EXPECT_FALSE(loop.stopped());
  EXPECT_EQ(loop.run(), 1u);
  EXPECT_EQ(ran, 1);
}

TEST(EventLoop, TheExceptionOfTheLastHandlerLeavesTheLoopStopped) {
  smc::event_loop loop;
  asio::post(loop, [] { throw 7; });
  EXPECT_THROW(loop.run(), int);
  EXPECT_TRUE(loop.stopped());
}

TEST(EventLoop, AnExceptionInsideDispatchLeavesRunAfterTheHandlerAroundIt) {
  smc::event_loop loop;
  bool finished = false;
  asio::post(loop, [&] {
    asio::dispatch(loop, [] { throw std::runtime_error("inner"); });
    finished = true;
  });
  EXPECT_THROW(loop.run(), std::runtime_error);
  EXPECT_TRUE(finished);
}

TEST(EventLoop, SeveralExceptionsInsideDispatchAreMultipleExceptions) {
  smc::event_loop loop;
  asio::post(loop, [&] {
    for (int i = 0; i < 3; ++i) asio::dispatch(loop, [] { throw std::runtime_error("inner"); });
  });
  try {
    loop.run();
    FAIL();
  } catch (const asio::multiple_exceptions& e) {
    EXPECT_THROW(std::rethrow_exception(e.first_exception()), std::runtime_error);
  }
}

TEST(EventLoop, TheHandlersOwnExceptionHidesAKeptOne) {
  smc::event_loop loop;
  asio::post(loop, [&] {
    asio::dispatch(loop, [] { throw std::runtime_error("inner"); });
    throw 7;
  });
  asio::post(loop, [] {});
  EXPECT_THROW(loop.run(), int);
  EXPECT_EQ(loop.run(), 1u);  // and it is not thrown later
}

TEST(EventLoop, ANestedPollThrowsItsOwnExceptionsAndKeepsTheOuterOnes) {
  smc::event_loop loop;
  bool inner = false;
  asio::post(loop, [&] {
    asio::dispatch(loop, [] { throw std::runtime_error("outer"); });
    EXPECT_THROW(loop.poll(), int);
    inner = true;
  });
  asio::post(loop, [&] { asio::dispatch(loop, [] { throw 7; }); });
  EXPECT_THROW(loop.run(), std::runtime_error);
  EXPECT_TRUE(inner);
}

TEST(EventLoop, ATimersExceptionLeavesRun) {
  smc::event_loop loop;
  asio::steady_timer timer(loop, 1ms), later(loop, 2ms);
  timer.async_wait([](std::error_code) { throw 7; });
  bool fired = false;
  later.async_wait([&](std::error_code) { fired = true; });
  EXPECT_THROW(loop.run(), int);
  EXPECT_EQ(loop.run(), 1u);
  EXPECT_TRUE(fired);
}

TEST(EventLoop, SocketsSignalsAndAcceptorsOfAsioWorkOnIt) {
  smc::event_loop loop;
  asio::ip::tcp::acceptor acceptor(loop, {asio::ip::address_v4::loopback(), 0});
  asio::ip::tcp::socket client(loop), server(loop);
  asio::signal_set signals(loop, SIGUSR1);
  int done = 0;
  acceptor.async_accept(server, [&](std::error_code e) { done += !e; });
  client.async_connect(acceptor.local_endpoint(), [&](std::error_code e) {
    done += !e;
    ::raise(SIGUSR1);
  });
  signals.async_wait([&](std::error_code e, int) { done += !e; });
  loop.run();  // what it returns depends on Asio's spurious descriptor events
  EXPECT_EQ(done, 3);
}

TEST(EventLoop, IsFoundFromItsContextOnly) {
  smc::event_loop loop, other;
  asio::io_context foreign;
  asio::thread_pool pool(1);
  EXPECT_NE(smc::detail::loop_of(loop), nullptr);
  EXPECT_NE(smc::detail::loop_of(loop), smc::detail::loop_of(other));
  EXPECT_EQ(smc::detail::loop_of(loop),
            smc::detail::loop_of(asio::query(loop.get_executor(), asio::execution::context)));
  EXPECT_EQ(smc::detail::loop_of(foreign), nullptr);
  EXPECT_EQ(smc::detail::loop_of(pool), nullptr);
}

TEST(EventLoop, OptionsReachTheLoop) {
  smc::event_loop loop(smc::event_loop_options{smc::spin_policy::fixed, 7us});
  EXPECT_EQ(smc::detail::loop_of(loop)->options().spin, smc::spin_policy::fixed);
  EXPECT_EQ(smc::detail::loop_of(loop)->options().spin_time, 7us);
}

}  // namespace
