// Random programs give the same results on an io_context and on an event_loop.
#include <gtest/gtest.h>

#include <asio.hpp>
#include <memory>
#include <random>
#include <smc/event_loop.hpp>

namespace {

using namespace std::chrono_literals;

struct result {
  std::size_t returned = 0;
  long scheduled = 0, handled = 0, thrown = 0;
  bool finished = false;
};

struct traits {
  bool timers = false, exceptions = false, pollers = false;
};

template <typename Context>
class random_program {
 public:
  random_program(Context& context, traits what) : context_(context), what_(what) {}

  result run(unsigned seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < 5; ++i) post(0, random());
    for (int call = 0; call < 20000 && !result_.finished; ++call) {
      try {
        result_.returned += call_once(call % 5);
      } catch (...) {
        ++result_.thrown;
        continue;
      }
      asio::io_context& io = context_;
      if (!io.stopped()) continue;
      context_.restart();
      const bool idle = result_.handled == result_.scheduled;
      if (idle && context_.poll() == 0 && io.stopped()) result_.finished = true;
      if (io.stopped()) context_.restart();
    }
    return result_;
  }

 private:
  std::size_t call_once(int which) {
    switch (which) {
      case 0:
        return context_.run();
      case 1:
        return context_.run_one();
      case 2:
        return context_.poll_one();
      case 3:
        return context_.run_for(50us);
      default:
        return context_.poll();
    }
  }

  auto next(int depth, unsigned seed) {
    ++result_.scheduled;
    return [this, depth, seed] { act(depth + 1, seed); };
  }

  void post(int depth, std::uint_fast32_t seed) {
    asio::post(context_, next(depth, static_cast<unsigned>(seed)));
  }

  void act(int depth, unsigned seed) {
    ++result_.handled;
    if (depth > 10) return;
    std::mt19937 random(seed);
    for (auto left = random() % 4; left > 0; --left) {
      const auto child = static_cast<unsigned>(random());
      switch (random() % 7) {
        case 0:
          asio::post(context_, next(depth, child));
          break;
        case 1:
          asio::dispatch(context_, next(depth, child));
          break;
        case 2:
          asio::defer(context_, next(depth, child));
          break;
        case 3:
          asio::post(asio::make_strand(context_), next(depth, child));
          break;
        case 4:
          asio::co_spawn(
              context_,
              [f = next(depth, child)]() -> asio::awaitable<void> {
                co_await asio::post(asio::use_awaitable);
                f();
              },
              [](std::exception_ptr e) {
                if (e) std::rethrow_exception(e);
              });
          break;
        case 5:
          if (what_.timers) {
            auto timer = std::make_shared<asio::steady_timer>(
                context_, std::chrono::microseconds(random() % 100));
            timer->async_wait([timer, f = next(depth, child)](std::error_code) { f(); });
          } else if (random() % 4 == 0) {
            context_.stop();
          }
          break;
        default:
          if (what_.exceptions && random() % 3 == 0) throw 1;
      }
    }
  }

  Context& context_;
  const traits what_;
  result result_;
};

class idle_poller final : public smc::detail::poller {
 public:
  bool poll() noexcept override { return false; }
  bool before_sleep() noexcept override { return true; }
  void after_sleep() noexcept override {}
};

void same_results(traits what) {
  for (unsigned seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(seed);
    asio::io_context theirs;
    smc::event_loop ours;
    idle_poller poller;
    if (what.pollers) {
      auto& core = *smc::detail::loop_of(ours);
      core.run_exclusive([&] { core.add_poller(poller); });
    }
    const result a = random_program(theirs, what).run(seed);
    const result b = random_program(ours, what).run(seed);
    ASSERT_TRUE(a.finished && b.finished);
    EXPECT_EQ(a.handled, a.scheduled);
    EXPECT_EQ(b.handled, b.scheduled);
    EXPECT_EQ(a.handled, b.handled);
    EXPECT_EQ(a.thrown, b.thrown);
    if (!what.exceptions) {
      EXPECT_EQ(a.returned, b.returned);
    }
  }
}

TEST(LoopEquivalence, OfPostsDispatchesStrandsAndCoroutines) { same_results({}); }
TEST(LoopEquivalence, OfTimers) { same_results({.timers = true}); }
TEST(LoopEquivalence, OfExceptions) { same_results({.exceptions = true}); }
TEST(LoopEquivalence, OfTimersOnALoopThatPolls) { same_results({.timers = true, .pollers = true}); }

}  // namespace
