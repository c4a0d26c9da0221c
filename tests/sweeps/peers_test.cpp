// A peer that dies, or stops for a while, before any of the system calls that it makes in a
// connection's life, or while it fills the ring.
#include <asio/detached.hpp>
#include <asio/redirect_error.hpp>
#include <csignal>
#include <limits>

#include "framework/faults/attack.hpp"
#include "support/other_process.hpp"
#include "system/injection.hpp"
#include "system/memory_budget.hpp"

namespace smc::test {
namespace {

enum step : std::uint32_t { nothing_yet, interrupted, over };

// More than a ring's worth goes both ways, in pieces that an echo can't get stuck on.
constexpr std::size_t piece = test_ring * 3 / 4;
constexpr std::size_t whole = 4 * piece;

config hasty() {
  config settings = settings_for(carrier::smc_d_mapped);
  settings.handshake_timeout = std::chrono::milliseconds(50);
  return settings;
}

// ---- the other process --------------------------------------------------------------------------

shared_facts* own_facts = nullptr;

template <int Signal>
void interrupt() noexcept {
  own_facts->step = interrupted;
  ::raise(Signal);
}

template <int Signal>
void server(shared_facts& facts, const role_argument& how) {
  own_facts = &facts;
  event_loop loop;
  acceptor listener(loop, any_port(), hasty());
  const system::interruption_scope scope(static_cast<std::uint64_t>(how.number), interrupt<Signal>);
  facts.port = listener.local_endpoint().port();
  stream peer(loop, hasty());
  listener.accept(peer);
  facts.transport = peer.transport();
  std::vector<char> text(4096);
  for (std::error_code error;;) {
    const std::size_t n = peer.read_some(asio::buffer(text), error);
    if (!error) asio::write(peer, asio::buffer(text.data(), n), error);
    if (error) break;
  }
  peer.close();
  listener.close();
  facts.step = over;
}

template <int Signal>
void client(shared_facts& facts, const role_argument& how) {
  own_facts = &facts;
  event_loop loop;
  const system::interruption_scope scope(static_cast<std::uint64_t>(how.number), interrupt<Signal>);
  stream us(loop, hasty());
  us.connect(at_port(how.port));
  facts.transport = us.transport();
  for (std::size_t at = 0; at < whole; at += piece) {
    const std::string text = pattern_text(at, piece);
    std::string back(piece, '\0');
    asio::write(us, asio::buffer(text));
    asio::read(us, asio::buffer(back));
    if (back != text) std::abort();
  }
  us.close();
  facts.step = over;
}

/// Is interrupted with half of what it prepared in the ring, and some of it published before.
template <int Signal>
void writer_in_place(shared_facts& facts, const role_argument& how) {
  own_facts = &facts;
  event_loop loop;
  stream us(loop, hasty());
  us.connect(at_port(how.port));
  asio::write(us, asio::buffer("begin", 5));
  const auto room = us.prepare(1000);
  std::memset(room.data(), 'a', room.size() / 2);
  interrupt<Signal>();
  std::memset(room.data(), 'b', room.size());
  us.commit(room.size());
  us.close();
  facts.step = over;
}

// ---- this one -----------------------------------------------------------------------------------

/// Lets one that was stopped go on to its end.
asio::awaitable<void> resume(other_process& peer) {
  co_await turns();
  co_await until([&] {
    peer.signal(SIGCONT);
    return peer.facts().step == over;
  });
}

struct talk {
  std::error_code error;
  std::size_t bytes = 0;
  bool as_written = true;
};

/// What client() does.
asio::awaitable<talk> converse(stream& with) {
  talk so_far;
  for (; so_far.bytes < whole; so_far.bytes += piece) {
    const std::string text = pattern_text(so_far.bytes, piece);
    std::string back(piece, '\0');
    co_await asio::async_write(with, asio::buffer(text),
                               asio::redirect_error(asio::use_awaitable, so_far.error));
    if (so_far.error) co_return so_far;
    const std::size_t n = co_await asio::async_read(
        with, asio::buffer(back), asio::redirect_error(asio::use_awaitable, so_far.error));
    so_far.as_written = so_far.as_written && text.compare(0, n, back, 0, n) == 0;
    if (so_far.error) co_return so_far;
  }
  co_return so_far;
}

asio::awaitable<void> serves_another(echo_server& server) {
  stream us(co_await asio::this_coro::executor, hasty());
  co_await us.async_connect(server.endpoint(), asio::use_awaitable);
  EXPECT_EQ(co_await echoed(us, "another"), "another");
  EXPECT_EQ(co_await server.accepted_from(us.local_endpoint()), us.transport());
}

bool ends_with_its_peer(const std::error_code& error) {
  return error == asio::error::connection_reset || error == asio::error::broken_pipe ||
         error == asio::error::eof || error == asio::error::connection_refused;
}

/// False: the process made fewer system calls, and went through.
bool was_interrupted(other_process& peer) { return peer.facts().step == interrupted; }

class InterruptedPeer : public testing::TestWithParam<place> {
 protected:
  using point = std::function<asio::awaitable<bool>(asio::any_io_executor, int)>;

  /// For each system call of the peer's.
  void at_every_call(const point& each, bool serves = false) {
    world here(GetParam());
    here.run([&]() -> asio::awaitable<void> {
      // An io_context looks after dead peers while an operation waits.
      acceptor idle(here.executor(), any_port(), settings_for(carrier::tcp));
      idle.async_accept([](std::error_code, const stream&) {});
      const auto& budget = system::memory_budget::process();
      if (serves) {
        serving_.emplace(here.executor(), hasty().handshake_timeout);
        co_await serves_everybody(*serving_);
      }
      const auto memory = budget.memory_in_use();
      EXPECT_FALSE(co_await each(here.executor(), std::numeric_limits<int>::max()));
      co_await until([&] { return budget.memory_in_use() <= memory; });
      const auto before = resources::of_this_process();  // what the context keeps is there
      int n = 0;
      while (!testing::Test::HasFailure() && co_await each(here.executor(), n)) ++n;
      if (testing::Test::HasFailure()) ADD_FAILURE() << "before system call " << n;
      RecordProperty("points", n);
      EXPECT_GT(n, 10);
      co_await nothing_is_left(before);
      EXPECT_LE(budget.memory_in_use(), memory);
      serving_.reset();
    });
  }

  std::optional<echo_server> serving_;
};

TEST_P(InterruptedPeer, AServerKilledAtAnySystemCallEndsItsClientWithAnError) {
  at_every_call([](asio::any_io_executor executor, int n) -> asio::awaitable<bool> {
    other_process peer(server<SIGKILL>, {0, n});
    co_await until([&] { return peer.facts().port != 0 || peer.ended(); });
    stream us(executor, hasty());
    talk said;
    co_await us.async_connect(at_port(peer.facts().port),
                              asio::redirect_error(asio::use_awaitable, said.error));
    if (!said.error) said = co_await converse(us);
    us.close();
    co_await until([&] { return peer.ended(); });
    EXPECT_TRUE(said.as_written);
    if (was_interrupted(peer) && said.bytes < whole) {
      EXPECT_TRUE(ends_with_its_peer(said.error)) << said.error.message();
    } else {
      EXPECT_FALSE(said.error) << said.error.message();
      EXPECT_EQ(said.bytes, whole);
    }
    co_return was_interrupted(peer);
  });
}

TEST_P(InterruptedPeer, AServerStoppedAtAnySystemCallKeepsNoConnectWaitingAndGoesOnLater) {
  at_every_call([](asio::any_io_executor executor, int n) -> asio::awaitable<bool> {
    other_process peer(server<SIGSTOP>, {0, n});
    co_await until([&] { return peer.facts().port != 0; });
    stream us(executor, hasty());
    co_await us.async_connect(at_port(peer.facts().port), asio::use_awaitable);
    bool stopped = false;
    outcome resumed;
    asio::co_spawn(
        executor,
        [&]() -> asio::awaitable<void> {
          co_await until([&] { return peer.facts().step != nothing_yet; });
          stopped = was_interrupted(peer);
          co_await resume(peer);
        },
        [&](std::exception_ptr failed) {
          resumed = {true, {}, failed ? 1u : 0u};
        });
    const talk said = co_await converse(us);
    EXPECT_FALSE(said.error) << said.error.message();
    EXPECT_TRUE(said.as_written);
    EXPECT_EQ(said.bytes, whole);
    us.close();
    co_await until([&] { return resumed.called; });
    EXPECT_EQ(resumed.bytes, 0u) << "the server does not end";
    EXPECT_EQ(us.transport(), peer.facts().transport);
    co_return stopped;
  });
}

TEST_P(InterruptedPeer, AClientKilledAtAnySystemCallLeavesItsServerServing) {
  at_every_call(
      [this](asio::any_io_executor, int n) -> asio::awaitable<bool> {
        other_process peer(client<SIGKILL>, {serving_->endpoint().port(), n});
        co_await until([&] { return peer.ended(); });
        const bool killed = was_interrupted(peer);
        co_await serves_everybody(*serving_);
        co_await until([&] { return serving_->open() == 0; });
        serving_->forget_accepted();
        co_return killed;
      },
      true);
}

TEST_P(InterruptedPeer, AClientStoppedAtAnySystemCallKeepsNobodyWaitingAndGoesOnLater) {
  at_every_call(
      [this](asio::any_io_executor, int n) -> asio::awaitable<bool> {
        other_process peer(client<SIGSTOP>, {serving_->endpoint().port(), n});
        co_await until([&] { return peer.facts().step != nothing_yet; });
        const bool stopped = was_interrupted(peer);
        co_await serves_another(*serving_);
        co_await resume(peer);
        EXPECT_EQ(co_await serving_->next_accepted(), peer.facts().transport);
        co_await until([&] { return serving_->open() == 0; });
        co_return stopped;
      },
      true);
}

TEST_P(InterruptedPeer, AWriterKilledInsideTheRingHasWrittenWhatItCommitted) {
  world here(GetParam());
  here.run([&]() -> asio::awaitable<void> {
    acceptor listener(here.executor(), any_port(), hasty());
    other_process peer(writer_in_place<SIGKILL>, {listener.local_endpoint().port(), 0});
    stream us = co_await listener.async_accept(asio::use_awaitable);
    EXPECT_EQ(us.transport(), transport_kind::smc_d);
    std::string text(2000, '\0');
    std::error_code error;
    const std::size_t n = co_await asio::async_read(
        us, asio::buffer(text), asio::redirect_error(asio::use_awaitable, error));
    EXPECT_EQ(text.substr(0, n), "begin");
    EXPECT_EQ(error, asio::error::connection_reset) << error.message();
  });
}

TEST_P(InterruptedPeer, AWriterStoppedInsideTheRingShowsNothingThatItHasNotCommitted) {
  world here(GetParam());
  here.run([&]() -> asio::awaitable<void> {
    acceptor listener(here.executor(), any_port(), hasty());
    other_process peer(writer_in_place<SIGSTOP>, {listener.local_endpoint().port(), 0});
    stream us = co_await listener.async_accept(asio::use_awaitable);
    EXPECT_EQ(us.transport(), transport_kind::smc_d);
    EXPECT_EQ(co_await read_text(us, 5), "begin");
    co_await until([&] { return was_interrupted(peer); });
    co_await turns();
    EXPECT_EQ(us.available(), 0u);
    co_await resume(peer);
    EXPECT_EQ(co_await read_text(us, 1000), std::string(1000, 'b'));
    char byte = 0;
    std::error_code error;
    (void)co_await us.async_read_some(asio::buffer(&byte, 1),
                                      asio::redirect_error(asio::use_awaitable, error));
    EXPECT_EQ(error, asio::error::eof) << error.message();
  });
}

INSTANTIATE_TEST_SUITE_P(Everywhere, InterruptedPeer, both_places(), name_of_place);

}  // namespace
}  // namespace smc::test
