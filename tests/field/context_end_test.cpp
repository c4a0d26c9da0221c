// Contexts that go before, or with, what was made on them (chriskohlhoff/asio #1245,
// boostorg/asio #143, zeromq/azmq #73, zeromq/libzmq #2915, nanomsg/nng #1236).
#include <asio/executor_work_guard.hpp>
#include <asio/steady_timer.hpp>
#include <cstdlib>
#include <random>

#include "setting.hpp"
#include "support/other_process.hpp"
#include "support/resources.hpp"

namespace smc::test {
namespace {

/// What a handler owns; none may be called, and each must be destroyed.
class owned_by_handler {
 public:
  owned_by_handler(std::shared_ptr<void> object, const asio::any_io_executor& on)
      : object_(std::move(object)), work_(on), timer_(std::make_shared<asio::steady_timer>(on)) {
    ++alive;
  }
  owned_by_handler(owned_by_handler&& other) noexcept
      : object_(std::move(other.object_)),
        work_(std::move(other.work_)),
        timer_(std::move(other.timer_)) {
    ++alive;
  }
  ~owned_by_handler() { --alive; }
  template <typename... Results>
  void operator()(Results&&...) {
    ADD_FAILURE() << "called";
  }
  static inline int alive = 0;

 private:
  std::shared_ptr<void> object_;
  asio::executor_work_guard<asio::any_io_executor> work_;
  std::shared_ptr<asio::steady_timer> timer_;
};

/// Every kind of operation, on streams that only the handlers own, or somebody else as well.
struct many_pending {
  many_pending(const asio::any_io_executor& on, const std::vector<std::shared_ptr<pair>>& pairs,
               const config& settings) {
    const auto owner = [&](std::shared_ptr<void> object) {
      objects.push_back(object);
      return owned_by_handler(std::move(object), on);
    };
    for (const auto& p : pairs) {
      p->client.async_read_some(asio::buffer(byte), owner(p));
      p->client.async_wait(asio::socket_base::wait_read, owner(p));
      asio::async_read(p->server, asio::buffer(bytes), owner(p));
      asio::async_write(p->server, asio::buffer(bytes), owner(p));
      p->client.async_prepare(
          1, [h = owner(p)](std::error_code, asio::mutable_buffer) mutable { h(); });
      p->server.async_data(1, [h = owner(p)](std::error_code, asio::const_buffer) mutable { h(); });
      p->listener.async_accept([h = owner(p)](std::error_code, stream) mutable { h(); });
      const auto other = std::make_shared<stream>(on, settings);
      other->async_connect(p->listener.local_endpoint(), owner(other));
      // Asio's own objects must not outlive the context: only the handler owns this one.
      const auto timer = std::make_shared<asio::steady_timer>(on, 1h);
      timer->async_wait(owned_by_handler(timer, on));
    }
  }
  std::vector<std::shared_ptr<void>> objects;
  std::vector<char> bytes = std::vector<char>(1 << 20);
  char byte[1];
};

bool has_strand(place where) {
  return where == place::threads_and_strand || where == place::loop_and_strand;
}

class FieldLifetime : public each_setting {
 protected:
  /// A fresh context with pairs that are connected, and everything pending.
  struct scene {
    scene(place where, carrier by) : here(where) {
      std::vector<std::shared_ptr<pair>> pairs;
      here.run_and_stop([&]() -> asio::awaitable<void> {
        for (int i = 0; i < 3; ++i) {
          pairs.push_back(std::make_shared<pair>(here.executor(), by));
          co_await pairs.back()->connect();
        }
      });
      pending = std::make_unique<many_pending>(here.executor(), pairs, settings_for(by));
    }
    world here;
    std::unique_ptr<many_pending> pending;
  };
};

TEST_P(FieldLifetime, TheEndOfAContextDestroysWhatIsPendingInIt) {
  const resources before = resources::of_this_process();
  {
    scene s(where(), by());
    s.pending->objects.clear();  // only the handlers own them now
    s.here.destroy();
    EXPECT_EQ(owned_by_handler::alive, 0);
  }
  EXPECT_EQ(growth(before, resources::of_this_process()), "");
}

TEST_P(FieldLifetime, StreamsMayGoInAnyOrderBesideTheirContext) {
  const resources before = resources::of_this_process();
  for (unsigned seed = 0; seed < repeated(20); ++seed) {
    scene s(where(), by());
    std::mt19937 random(seed);
    auto& objects = s.pending->objects;
    std::shuffle(objects.begin(), objects.end(), random);
    const std::size_t first = random() % objects.size();
    objects.erase(objects.begin(), objects.begin() + static_cast<std::ptrdiff_t>(first));
    // Asio's strands, which streams hold, must not outlive their context.
    if (has_strand(where())) objects.clear();
    s.here.destroy();
    EXPECT_EQ(owned_by_handler::alive, 0);
    objects.clear();  // streams that have outlived their context
  }
  EXPECT_EQ(growth(before, resources::of_this_process()), "");
}

// Not on a pool, whose threads would call some of the handlers.
INSTANTIATE_TEST_SUITE_P(Everywhere, FieldLifetime,
                         testing::Combine(all_carriers(),
                                          testing::Values(place::event_loop, place::io_context,
                                                          place::threads_and_strand,
                                                          place::loop_and_strand)),
                         name_of_setting);

/// Ends the program inside a handler, with a context that is destroyed behind main().
void ends_inside_a_handler(shared_facts& facts, const role_argument& to) {
  static std::unique_ptr<event_loop> loop;
  static std::unique_ptr<asio::io_context> context;
  static std::unique_ptr<stream> client;
  config settings = settings_for(to.number % 2 == 0 ? carrier::smc_d_mapped : carrier::tcp);
  if (to.number / 2 == 0) {
    loop = std::make_unique<event_loop>();
    client = std::make_unique<stream>(*loop, settings);
  } else {
    context = std::make_unique<asio::io_context>();
    client = std::make_unique<stream>(*context, settings);
  }
  static char bytes[16];
  client->async_connect(at_port(to.port), [&facts](std::error_code error) {
    if (error) return;
    client->async_read_some(asio::buffer(bytes, 1), [&facts](std::error_code e, std::size_t) {
      client->async_read_some(asio::buffer(bytes), [](std::error_code, std::size_t) {});
      facts.step = e ? 2 : 1;
      std::exit(0);
    });
  });
  loop ? loop->run() : context->run();
}

class FieldExit : public testing::TestWithParam<int> {};

TEST_P(FieldExit, APeerSeesTheEndOfWhoExitsInsideAHandler) {
  asio::io_context context;
  const config settings = settings_for(carrier::smc_d_mapped);
  acceptor listener(context, any_port(), settings);
  const other_process client(ends_inside_a_handler, {listener.local_endpoint().port(), GetParam()});
  stream peer(context, settings);
  listener.accept(peer);
  asio::write(peer, asio::buffer("x", 1));
  std::error_code end;
  char byte[1];
  peer.read_some(asio::buffer(byte), end);
  EXPECT_TRUE(end == asio::error::eof || end == asio::error::connection_reset) << end.message();
  while (!client.ended()) std::this_thread::yield();
  EXPECT_EQ(client.facts().step, 1u);
}

INSTANTIATE_TEST_SUITE_P(Contexts, FieldExit, testing::Range(0, 4));

}  // namespace
}  // namespace smc::test
