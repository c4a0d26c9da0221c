// fork() with streams, acceptors and contexts of the parent's: what goes on in the child, and what
// must not.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <asio/connect.hpp>

#include "setting.hpp"
#include "support/in_child.hpp"

namespace smc::test {
namespace {

bool exchange(stream& a, stream& b) {
  const std::array<char, 2> out{'x', 'y'};
  std::array<char, 2> in{};
  asio::write(a, asio::buffer(out));
  asio::read(b, asio::buffer(in));
  return in == out;
}

/// Two streams of one context, which no thread runs.
struct blocking_pair {
  blocking_pair(const asio::any_io_executor& executor, carrier c)
      : listener(executor, any_port(), settings_for(c)),
        client(executor, settings_for(c)),
        server(executor) {
    meet();
  }
  void meet() {
    client.connect(listener.local_endpoint());
    listener.accept(server);
  }
  acceptor listener;
  stream client;
  stream server;
};

class Fork : public testing::TestWithParam<bool> {
 protected:
  Fork() {
    if (GetParam()) {
      loop_ = std::make_unique<event_loop>();
    } else {
      context_ = std::make_unique<asio::io_context>();
    }
  }
  asio::any_io_executor executor() {
    return loop_ ? asio::any_io_executor(loop_->get_executor())
                 : asio::any_io_executor(context_->get_executor());
  }
  asio::io_context& context() { return loop_ ? static_cast<asio::io_context&>(*loop_) : *context_; }
  void run() {
    if (loop_) {
      loop_->restart();
      loop_->run_for(patience);
    } else {
      context_->restart();
      context_->run_for(patience);
    }
  }

  std::unique_ptr<event_loop> loop_;
  std::unique_ptr<asio::io_context> context_;
};

TEST_P(Fork, TcpStreamsGoOnInTheChild) {
  blocking_pair p(executor(), carrier::tcp);
  EXPECT_TRUE(in_child([&] { return exchange(p.client, p.server); }));
  EXPECT_TRUE(exchange(p.server, p.client));
}

TEST_P(Fork, SmcStreamsAreBadDescriptorsInTheChildAndGoOnInTheParent) {
  blocking_pair p(executor(), carrier::smc_d_mapped);
  ASSERT_EQ(p.client.transport(), transport_kind::smc_d);
  EXPECT_TRUE(in_child([&] {
    std::error_code read, write;
    std::array<char, 2> in{};
    p.client.read_some(asio::buffer(in), read);
    p.client.write_some(asio::buffer(in), write);
    p.client.close();
    return read == asio::error::bad_descriptor && write == asio::error::bad_descriptor;
  }));
  EXPECT_TRUE(exchange(p.client, p.server)) << "the child's close was not seen";
  EXPECT_TRUE(exchange(p.server, p.client));
}

TEST_P(Fork, OperationsThatWaitedOnASmcStreamEndInTheChild) {
  blocking_pair p(executor(), carrier::smc_d_mapped);
  outcome waiting;
  std::array<char, 2> in{};
  p.client.async_read_some(asio::buffer(in), store(waiting));
  context().notify_fork(asio::io_context::fork_prepare);
  EXPECT_TRUE(in_child([&] {
    context().notify_fork(asio::io_context::fork_child);
    run();
    return waiting.called && waiting.error == asio::error::bad_descriptor;
  }));
  context().notify_fork(asio::io_context::fork_parent);
  asio::write(p.server, asio::buffer("ab", 2));
  run();
  EXPECT_TRUE(waiting.called);
  EXPECT_FALSE(waiting.error) << waiting.error.message();
  EXPECT_EQ(waiting.bytes, 2U);
}

TEST_P(Fork, InheritedContextConnectsAnewInTheChild) {
  blocking_pair p(executor(), carrier::smc_d_mapped);
  EXPECT_TRUE(in_child([&] {
    blocking_pair own(executor(), carrier::smc_d_mapped);
    return own.client.transport() == transport_kind::smc_d &&
           own.server.transport() == transport_kind::smc_d && exchange(own.client, own.server);
  }));
  EXPECT_TRUE(exchange(p.client, p.server));
}

TEST_P(Fork, InheritedContextRunsInTheChild) {
  blocking_pair p(executor(), carrier::smc_d_mapped);
  context().notify_fork(asio::io_context::fork_prepare);
  EXPECT_TRUE(in_child([&] {
    context().notify_fork(asio::io_context::fork_child);
    bool good = false;
    asio::co_spawn(
        executor(),
        [&]() -> asio::awaitable<void> {
          pair own(executor(), carrier::smc_d_mapped);
          co_await own.connect();
          co_await asio::async_write(own.client, asio::buffer("hello", 5), asio::use_awaitable);
          good = own.kind == own.client.transport() && co_await read_text(own.server, 5) == "hello";
        },
        [](std::exception_ptr) {});
    run();
    return good && !testing::Test::HasFailure();
  }));
  context().notify_fork(asio::io_context::fork_parent);
  EXPECT_TRUE(exchange(p.client, p.server));
}

TEST_P(Fork, InheritedAcceptorAnnouncesItselfAnewAndServesSharedMemory) {
  auto p = std::make_unique<blocking_pair>(executor(), carrier::smc_d_mapped);
  const auto where = p->listener.local_endpoint();
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    bool good = false;
    try {
      stream served(executor(), settings_for(carrier::smc_d_mapped));
      p->listener.non_blocking(true);
      std::error_code none;
      p->listener.accept(served, none);  // announces
      p->listener.non_blocking(false);
      (void)!::write(ready[1], "r", 1);
      p->listener.accept(served);
      std::array<char, 1> in{};
      asio::read(served, asio::buffer(in));
      asio::write(served, asio::buffer(in));
      std::error_code end;
      served.read_some(asio::buffer(in), end);
      good = none == asio::error::would_block && served.transport() == transport_kind::smc_d &&
             end == asio::error::eof;
    } catch (const std::exception& e) {
      std::fprintf(stderr, "in the child: %s\n", e.what());
    }
    ::_exit(good ? 0 : 1);
  }
  char r = 0;
  ASSERT_EQ(::read(ready[0], &r, 1), 1);
  p->listener.close();  // from here on only the child accepts
  {
    stream client(executor(), settings_for(carrier::smc_d_mapped));
    client.connect(where);
    EXPECT_EQ(client.transport(), transport_kind::smc_d) << client.fallback_reason().message();
    EXPECT_EQ(client.peer().pid, child);
    std::array<char, 1> byte{'q'};
    asio::write(client, asio::buffer(byte));
    asio::read(client, asio::buffer(byte));
    EXPECT_EQ(byte[0], 'q');
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  ::close(ready[0]);
  ::close(ready[1]);
}

INSTANTIATE_TEST_SUITE_P(Contexts, Fork, testing::Bool(), [](const auto& tested) {
  return tested.param ? "event_loop" : "io_context";
});

}  // namespace
}  // namespace smc::test
