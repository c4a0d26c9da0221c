// Handlers: where they run, in whose memory, what they may do, in which order.
#include <algorithm>
#include <asio/bind_executor.hpp>
#include <atomic>
#include <memory>
#include <numeric>
#include <vector>

#include "conformance/fixture.hpp"
#include "support/counting_allocator.hpp"

namespace smc::test {
namespace {

using Handlers = conformance;
using asio::socket_base;

/// Not before it runs.
asio::awaitable<void> expect_called_by(asio::io_context& other, std::atomic<bool>& called) {
  EXPECT_FALSE(called);
  co_await until([&] {
    other.restart();
    other.run_for(1ms);
    return called.load();
  });
}

/// Those of Asio 1.22's own sockets may overtake each other on a context with several threads,
/// whether they are finished or aborted: of these only that each of them ran, once.
testing::AssertionResult ran_in_order(const peers& p, std::vector<int> order) {
  if (p.by == carrier::reference) std::sort(order.begin(), order.end());
  std::vector<int> expected(order.size());
  std::iota(expected.begin(), expected.end(), 0);
  if (order == expected) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "ran as " << testing::PrintToString(order);
}

TEST_P(Handlers, OneRunsOnTheExecutorItIsBoundTo) {
  connected([](peers& p) -> asio::awaitable<void> {
    asio::io_context other;
    std::atomic<bool> called{false};
    char in[8];
    p.server.with([&](auto& s) {
      s.async_read_some(asio::buffer(in),
                        asio::bind_executor(other.get_executor(), [&](std::error_code ec, auto n) {
                          EXPECT_FALSE(ec) << ec.message();
                          EXPECT_EQ(n, 1u);
                          EXPECT_TRUE(other.get_executor().running_in_this_thread());
                          called = true;
                        }));
    });
    co_await send(p.client, "x");
    co_await turns(200);
    co_await expect_called_by(other, called);
  });
}

TEST_P(Handlers, OneThatFailsAtOnceRunsOnTheExecutorItIsBoundToAsWell) {
  unconnected([](peers& p) -> asio::awaitable<void> {
    asio::io_context other;
    std::atomic<bool> called{false};
    p.server.with([&](auto& s) {
      s.async_wait(socket_base::wait_read,
                   asio::bind_executor(other.get_executor(), [&](std::error_code ec) {
                     EXPECT_EQ(ec, asio::error::bad_descriptor);
                     called = true;
                   }));
    });
    co_await turns(50);
    co_await expect_called_by(other, called);
  });
}

TEST_P(Handlers, TheContextOfABoundExecutorHasWorkUntilThen) {
  connected([](peers& p) -> asio::awaitable<void> {
    asio::io_context other;
    bool called = false;
    char in[8];
    p.server.with([&](auto& s) {
      s.async_read_some(
          asio::buffer(in),
          asio::bind_executor(other.get_executor(),
                              [&called](std::error_code, std::size_t) { called = true; }));
    });
    EXPECT_EQ(other.poll(), 0u);
    EXPECT_FALSE(other.stopped()) << "no work";
    co_await send(p.client, "x");
    co_await until([&] { return other.poll() != 0; });
    EXPECT_TRUE(called);
    EXPECT_TRUE(other.stopped());
  });
}

struct memory_use {
  std::atomic<int> live{0}, all{0}, live_inside{-1};
  std::atomic<bool> called{false};
};

struct allocating_handler {
  using allocator_type = counting_allocator<void*>;
  allocator_type get_allocator() const { return {&use->live, &use->all}; }
  void operator()(std::error_code, std::size_t = 0) const {
    use->live_inside = use->live.load();
    use->called = true;
  }
  memory_use* use;
};

asio::awaitable<void> expect_freed_before_the_call(memory_use& use) {
  EXPECT_GT(use.all, 0) << "not in the handler's memory";
  co_await until([&use] { return use.called.load(); });
  EXPECT_EQ(use.live_inside, 0);
}

TEST_P(Handlers, AReadThatWaitsLivesInTheHandlersMemoryAndLeavesItBeforeTheCall) {
  connected([](peers& p) -> asio::awaitable<void> {
    memory_use use;
    char in[8];
    p.server.with([&](auto& s) { s.async_read_some(asio::buffer(in), allocating_handler{&use}); });
    co_await turns();
    EXPECT_GT(use.live, 0);
    co_await send(p.client, "x");
    co_await expect_freed_before_the_call(use);
  });
}

TEST_P(Handlers, AWriteLivesInTheHandlersMemoryAndLeavesItBeforeTheCall) {
  connected([](peers& p) -> asio::awaitable<void> {
    memory_use use;
    p.server.with(
        [&](auto& s) { s.async_write_some(asio::buffer("x", 1), allocating_handler{&use}); });
    co_await expect_freed_before_the_call(use);
  });
}

TEST_P(Handlers, AWaitLivesInTheHandlersMemoryAndLeavesItBeforeTheCall) {
  connected([](peers& p) -> asio::awaitable<void> {
    memory_use use;
    p.server.with([&](auto& s) { s.async_wait(socket_base::wait_read, allocating_handler{&use}); });
    co_await turns();
    EXPECT_FALSE(use.called);
    p.server.cancel();
    co_await expect_freed_before_the_call(use);
  });
}

TEST_P(Handlers, AnAcceptAndAConnectLiveInTheHandlersMemoryAndLeaveItBeforeTheCall) {
  unconnected([](peers& p) -> asio::awaitable<void> {
    memory_use accepting, connecting;
    std::optional<subject> made;
    auto accepted = p.at.accept(p.server);
    p.client.with(
        [&](auto& s) { s.async_connect(p.at.endpoint(), allocating_handler{&connecting}); });
    co_await expect_freed_before_the_call(connecting);
    EXPECT_EQ(co_await accepted.end(), std::error_code());
    p.at.with([&](auto& a) {
      a.async_wait(socket_base::wait_read, allocating_handler{&accepting});
      a.cancel();
    });
    co_await expect_freed_before_the_call(accepting);
  });
}

TEST_P(Handlers, OneMayBeMovableOnly) {
  connected([](peers& p) -> asio::awaitable<void> {
    auto own = std::make_unique<int>(7);
    int got = 0;
    char in[8];
    p.server.with([&](auto& s) {
      s.async_read_some(asio::buffer(in),
                        [&got, own = std::move(own)](std::error_code, std::size_t) { got = *own; });
    });
    co_await send(p.client, "x");
    co_await until([&got] { return got == 7; });
  });
}

TEST_P(Handlers, OneIsDestroyedAfterItsCall) {
  connected([](peers& p) -> asio::awaitable<void> {
    auto alive = std::make_shared<bool>(false);
    char in[8];
    p.server.with([&](auto& s) {
      s.async_read_some(asio::buffer(in), [alive](std::error_code, std::size_t) { *alive = true; });
    });
    EXPECT_EQ(alive.use_count(), 2);
    co_await send(p.client, "x");
    co_await until([&alive] { return *alive && alive.use_count() == 1; });
  });
}

TEST_P(Handlers, OneMayDestroyItsStream) {
  connected([](peers& p) -> asio::awaitable<void> {
    auto own = std::make_shared<subject>(std::move(p.server));
    const std::weak_ptr<subject> left = own;
    char in[8];
    bool called = false;
    subject& raw = *own;
    raw.with([&](auto& s) {
      s.async_read_some(asio::buffer(in),
                        [&called, o = std::move(own)](std::error_code, std::size_t) mutable {
                          o.reset();
                          called = true;
                        });
    });
    co_await send(p.client, "x");
    co_await until([&called] { return called; });
    EXPECT_TRUE(left.expired());
    EXPECT_EQ(co_await read_end(p.client), asio::error::eof);
  });
}

TEST_P(Handlers, OneMayCloseItsStreamAndEndTheOthers) {
  connected([](peers& p) -> asio::awaitable<void> {
    char in[2][8];
    std::vector<std::error_code> ends;
    p.server.with([&](auto& s) {
      s.async_read_some(asio::buffer(in[0], 1), [&](std::error_code ec, std::size_t) {
        ends.push_back(ec);
        p.server.close();
      });
      s.async_read_some(asio::buffer(in[1]),
                        [&](std::error_code ec, std::size_t) { ends.push_back(ec); });
    });
    co_await send(p.client, "x");
    co_await until([&ends] { return ends.size() == 2; });
    EXPECT_FALSE(ends[0]) << ends[0].message();
    EXPECT_EQ(ends[1], asio::error::operation_aborted);
  });
}

/// Reads byte by byte, each read started by the handler of the one before.
template <typename Socket>
struct chained_reads {
  Socket& from;
  int left;
  char in = 0;
  std::size_t depth = 0;
  std::size_t deepest = 0;

  void next() {
    from.async_read_some(asio::buffer(&in, 1), [this](std::error_code ec, std::size_t) {
      deepest = std::max(deepest, ++depth);
      if (!ec && --left != 0) next();
      if (ec) left = 0;
      --depth;
    });
  }
};

TEST_P(Handlers, AChainOfReadsThatNeverWaitDoesNotNest) {
  connected([](peers& p) -> asio::awaitable<void> {
    static constexpr int count = 3000;
    co_await send(p.client, std::string(count, 'c'));
    co_await arrived(p.server, count);
    co_await p.server.with([]<typename Socket>(Socket& s) -> asio::awaitable<void> {
      chained_reads<Socket> chain{s, count};
      chain.next();
      co_await until([&chain] { return chain.left == 0; });
      EXPECT_EQ(chain.deepest, 1u);
    });
    EXPECT_EQ(p.server.available(), 0u);
  });
}

TEST_P(Handlers, OnesOfOneDirectionRunInTheirOperationsOrder) {
  connected([](peers& p) -> asio::awaitable<void> {
    std::vector<int> order;
    char in[6];
    p.server.with([&](auto& s) {
      for (int i = 0; i < 6; ++i) {
        s.async_read_some(asio::buffer(&in[i], 1),
                          [&order, i](std::error_code, std::size_t) { order.push_back(i); });
      }
    });
    co_await send(p.client, "abcdef");
    co_await until([&order] { return order.size() == 6; });
    EXPECT_TRUE(ran_in_order(p, order));
    EXPECT_EQ(std::string(in, 6), "abcdef");
  });
}

TEST_P(Handlers, OnesThatAreAbortedRunInTheirOperationsOrder) {
  connected([](peers& p) -> asio::awaitable<void> {
    std::vector<int> order;
    char in[6];
    p.server.with([&](auto& s) {
      for (int i = 0; i < 6; ++i) {
        s.async_read_some(asio::buffer(&in[i], 1),
                          [&order, i](std::error_code, std::size_t) { order.push_back(i); });
      }
    });
    co_await turns();
    p.server.cancel();
    co_await until([&order] { return order.size() == 6; });
    EXPECT_TRUE(ran_in_order(p, order));
  });
}

TEST_P(Handlers, OneMayStartTheNextOperationOfTheOtherDirection) {
  connected([](peers& p) -> asio::awaitable<void> {
    char in[4];
    bool written = false;
    p.server.with([&](auto& s) {
      s.async_read_some(asio::buffer(in), [&](std::error_code, std::size_t n) {
        s.async_write_some(asio::buffer(in, n), [&](std::error_code ec, std::size_t) {
          EXPECT_FALSE(ec) << ec.message();
          written = true;
        });
      });
    });
    co_await send(p.client, "echo");
    EXPECT_EQ(co_await receive(p.client, 4), "echo");
    co_await until([&written] { return written; });
  });
}

INSTANTIATE_TEST_SUITE_P(Everywhere, Handlers, in_all_places(), name_of_combination);

}  // namespace
}  // namespace smc::test
