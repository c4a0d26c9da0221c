// A stream and its execution context: work, stopping, exceptions, the context's end.
#include <array>
#include <asio/write.hpp>
#include <atomic>
#include <stdexcept>

#include "conformance/fixture.hpp"

namespace smc::test {
namespace {

using asio::socket_base;
using ContextEnd = conformance;

TEST_P(ContextEnd, PendingHandlersAreDestroyedAndNotCalled) {
  const auto alive = std::make_shared<int>(0);
  std::atomic<int> calls{0};
  {
    world here(where());
    here.run_and_stop([&]() -> asio::awaitable<void> {
      const auto p = std::make_shared<peers>(here.executor(), by(), how());
      co_await p->connect();
      const auto in = std::make_shared<std::array<char, 8>>();
      // The handlers own all there is.
      const auto handler = [&calls, p, in, alive](std::error_code, std::size_t = 0) { ++calls; };
      (void)co_await fill(p->client);
      p->client.with([&](auto& s) {
        for (int i = 0; i < 3; ++i) s.async_read_some(asio::buffer(*in), handler);
        s.async_write_some(asio::buffer(*in), handler);
        s.async_wait(socket_base::wait_error, handler);
      });
      p->server.with([&](auto& s) { s.async_wait(socket_base::wait_error, handler); });
      p->at.with(
          [&](auto& a) { a.async_accept([&calls, p, alive](std::error_code, auto) { ++calls; }); });
      co_await turns();
    });
    EXPECT_EQ(alive.use_count(), 8);
    here.destroy();
  }
  EXPECT_EQ(alive.use_count(), 1);
  EXPECT_EQ(calls, 0);
}

TEST_P(ContextEnd, AConnectThatIsUnderWayIsDestroyedAndNotCalled) {
  const auto alive = std::make_shared<int>(0);
  std::atomic<int> calls{0};
  {
    world here(where());
    here.run_and_stop([&]() -> asio::awaitable<void> {
      const auto p = std::make_shared<peers>(here.executor(), by(), how());
      p->client.with([&](auto& s) {
        s.async_connect(
            p->at.endpoint(),
            asio::bind_executor(here.executor(), [&calls, p, alive](std::error_code) { ++calls; }));
      });
      co_return;
    });
    here.destroy();
  }
  EXPECT_EQ(alive.use_count(), 1);
}

TEST_P(ContextEnd, ThePeerInAnotherContextReadsTheEnd) {
  world staying(where());
  peers p(staying.executor(), by(), how());
  {
    world ending(where());
    ending.run_and_stop([&]() -> asio::awaitable<void> {
      const auto client = std::make_shared<subject>(ending.executor(), by(), how());
      EXPECT_EQ(client->connect_now(p.at.endpoint()), std::error_code());
      const auto in = std::make_shared<std::array<char, 8>>();
      // Owned by its own handler: it goes with the context.
      client->with([&](auto& s) {
        s.async_read_some(asio::buffer(*in), [client, in](std::error_code, std::size_t) {});
      });
      co_await turns();
    });
    EXPECT_EQ(p.at.accept_now(p.server), std::error_code());
    ending.destroy();
  }
  char in[8];
  std::error_code ec;
  EXPECT_EQ(p.server.read_now({asio::buffer(in)}, ec), 0u);
  EXPECT_EQ(ec, asio::error::eof);
}

INSTANTIATE_TEST_SUITE_P(Everywhere, ContextEnd, in_all_places(), name_of_combination);

/// A context with one thread, run by the test: f(context, peers) with both kinds of it.
class Running : public conformance {
 protected:
  template <typename Test>
  void with_context(Test&& test) {
    if (where() == place::event_loop) {
      event_loop loop;
      with_peers(loop, test);
    } else {
      asio::io_context context;
      with_peers(context, test);
    }
  }

 private:
  template <typename Context, typename Test>
  void with_peers(Context& context, Test&& test) {
    peers p(context.get_executor(), by(), how());
    EXPECT_EQ(p.client.connect_now(p.at.endpoint()), std::error_code());
    EXPECT_EQ(p.at.accept_now(p.server), std::error_code());
    test(context, p);
  }
};

std::size_t write(subject& to, std::string_view text) {
  return to.with([&](auto& s) { return asio::write(s, asio::buffer(text)); });
}

/// Runs until the condition holds, or patience ends.
template <typename Context, typename Condition>
void run_until(Context& context, Condition condition) {
  const auto limit = std::chrono::steady_clock::now() + patience;
  while (!condition() && std::chrono::steady_clock::now() < limit) {
    if (context.stopped()) context.restart();
    context.run_one_for(10ms);
  }
  EXPECT_TRUE(condition());
}

TEST_P(Running, IdleStreamsAreNoWork) {
  with_context([](auto& context, peers& p) {
    context.run_for(patience);
    EXPECT_TRUE(context.stopped());
    EXPECT_TRUE(p.client.is_open());
  });
}

TEST_P(Running, APendingReadIsWork) {
  with_context([](auto& context, peers& p) {
    char in[8];
    auto read = p.server.read_some(asio::buffer(in));
    context.poll();
    EXPECT_FALSE(context.stopped());
    write(p.client, "x");
    run_until(context, [&] { return read.done(); });
    context.run_for(patience);
    EXPECT_TRUE(context.stopped());
  });
}

TEST_P(Running, PendingAcceptsAndWaitsAreWork) {
  with_context([](auto& context, peers& p) {
    std::optional<subject> made;
    auto accepted = p.at.accept(made);
    context.poll();
    EXPECT_FALSE(context.stopped());
    p.at.cancel();
    run_until(context, [&] { return accepted.done(); });
    context.run_for(patience);
    EXPECT_TRUE(context.stopped());
    context.restart();
    auto wait = p.server.wait(socket_base::wait_read);
    context.poll();
    EXPECT_FALSE(context.stopped());
    p.server.cancel();
    run_until(context, [&] { return wait.done(); });
    context.run_for(patience);
    EXPECT_TRUE(context.stopped());
  });
}

TEST_P(Running, WhatIsPendingWhenItIsStoppedCompletesInTheNextRun) {
  with_context([](auto& context, peers& p) {
    char in[8];
    auto read = p.server.read_some(asio::buffer(in));
    context.poll();
    context.stop();
    write(p.client, "next");
    EXPECT_EQ(context.poll(), 0u);
    EXPECT_FALSE(read.done());
    context.restart();
    context.run_for(patience);
    EXPECT_TRUE(read.done());
    EXPECT_EQ(read.bytes(), 4u);
  });
}

TEST_P(Running, ManyCompletionsAreRunByOneRun) {
  with_context([](auto& context, peers& p) {
    int called = 0;
    char in[50];
    p.server.with([&](auto& s) {
      for (char& each : in) {
        s.async_read_some(asio::buffer(&each, 1),
                          [&called](std::error_code, std::size_t n) { called += n == 1; });
      }
    });
    write(p.client, std::string(50, 'r'));
    context.run_for(patience);
    EXPECT_EQ(called, 50);
    EXPECT_TRUE(context.stopped());
  });
}

TEST_P(Running, AnExceptionOfAReadsHandlerLeavesRunAndTheNextReadGoesOn) {
  with_context([](auto& context, peers& p) {
    char in[2];
    bool second = false;
    p.server.with([&](auto& s) {
      s.async_read_some(asio::buffer(&in[0], 1), [](std::error_code, std::size_t) {
        throw std::runtime_error("out of a handler");
      });
      s.async_read_some(asio::buffer(&in[1], 1),
                        [&](std::error_code, std::size_t) { second = true; });
    });
    write(p.client, "ab");
    EXPECT_THROW(context.run_for(patience), std::runtime_error);
    EXPECT_FALSE(second);
    context.run_for(patience);
    EXPECT_TRUE(second);
    EXPECT_EQ(in[1], 'b');
  });
}

TEST_P(Running, AnExceptionOfAWritesHandlerLeavesRunAndTheBytesArrive) {
  with_context([](auto& context, peers& p) {
    p.client.with([&](auto& s) {
      s.async_write_some(asio::buffer("sent", 4), [](std::error_code, std::size_t) {
        throw std::runtime_error("out of a handler");
      });
    });
    EXPECT_THROW(context.run_for(patience), std::runtime_error);
    char in[4];
    p.server.with([&](auto& s) { EXPECT_EQ(asio::read(s, asio::buffer(in)), 4u); });
    write(p.client, "on");
    p.server.with([&](auto& s) { EXPECT_EQ(asio::read(s, asio::buffer(in, 2)), 2u); });
  });
}

TEST_P(Running, AnExceptionOfAnAcceptsHandlerLeavesRunAndTheNextIsAccepted) {
  with_context([this](auto& context, peers& p) {
    subject client = make(p.client.executor());
    subject server = make(p.client.executor());
    p.at.with([](auto& a) {
      a.async_accept([](std::error_code, auto) { throw std::runtime_error("out of a handler"); });
    });
    auto connected = client.connect(p.at.endpoint());
    EXPECT_THROW(run_until(context, [] { return false; }), std::runtime_error);
    run_until(context, [&] { return connected.done(); });
    client.close();
    auto accepted = p.at.accept(server);
    auto again = client.connect(p.at.endpoint());
    run_until(context, [&] { return accepted.done() && again.done(); });
    EXPECT_EQ(accepted.error(), std::error_code());
    EXPECT_EQ(again.error(), std::error_code());
  });
}

TEST_P(Running, AnExceptionOfAnAbortedHandlerLeavesRunAndTheOthersAreCalled) {
  with_context([](auto& context, peers& p) {
    char in[2];
    bool second = false;
    p.server.with([&](auto& s) {
      s.async_read_some(asio::buffer(&in[0], 1),
                        [](std::error_code ec, std::size_t) { throw std::system_error(ec); });
      s.async_read_some(asio::buffer(&in[1], 1), [&](std::error_code ec, std::size_t) {
        EXPECT_EQ(ec, asio::error::operation_aborted);
        second = true;
      });
    });
    context.poll();
    p.server.close();
    EXPECT_EQ(thrown_by([&] { context.run_for(patience); }), asio::error::operation_aborted);
    EXPECT_FALSE(second);
    context.run_for(patience);
    EXPECT_TRUE(second);
  });
}

INSTANTIATE_TEST_SUITE_P(Everywhere, Running,
                         testing::Combine(reference_and_all_carriers(),
                                          testing::Values(place::event_loop, place::io_context),
                                          testing::Values(style::callback, style::coroutine)),
                         name_of_combination);

}  // namespace
}  // namespace smc::test
