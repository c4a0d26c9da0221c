#include <gtest/gtest.h>

#include <asio.hpp>
#include <atomic>
#include <functional>
#include <latch>
#include <smc/event_loop.hpp>
#include <thread>

namespace {

using namespace std::chrono_literals;
using smc::spin_policy;
using smc::detail::loop_core;
using smc::detail::ready_node;

loop_core& core_of(smc::event_loop& loop) { return *smc::detail::loop_of(loop); }

// A peer that makes one operation ready at a chosen look.
class peer final : public smc::detail::poller {
 public:
  peer(smc::event_loop& loop, int ready_at_poll, int ready_at_announcement = 0)
      : core_(core_of(loop)), at_poll_(ready_at_poll), at_announcement_(ready_at_announcement) {
    node_.owner = this;
    node_.invoke = [](ready_node* n, ready_node::action what) {
      if (what == ready_node::action::run) static_cast<operation*>(n)->owner->completed = true;
    };
    core_.run_exclusive([this] { core_.add_poller(*this); });
  }
  ~peer() {
    core_.run_exclusive([this] { core_.remove_poller(*this); });
  }
  void start_operation() { core_.work_started(); }

  bool poll() noexcept override { return ++polls == at_poll_ && complete(); }
  bool before_sleep() noexcept override {
    EXPECT_FALSE(announced);
    announced = true;
    return !(++announcements == at_announcement_ && complete());
  }
  void after_sleep() noexcept override {
    EXPECT_TRUE(announced);
    announced = false;
  }

  int polls = 0, announcements = 0;
  bool announced = false, completed = false;

 private:
  struct operation : ready_node {
    peer* owner;
  };
  bool complete() noexcept {
    core_.push(&node_);
    return true;
  }
  loop_core& core_;
  operation node_;
  const int at_poll_, at_announcement_;
};

TEST(LoopPoller, DoesNotKeepRunFromReturning) {
  smc::event_loop loop;
  peer p(loop, 0);
  asio::post(loop, [] {});
  EXPECT_EQ(loop.run(), 1u);
  EXPECT_EQ(p.announcements, 0);
}

TEST(LoopPoller, ABusyPollerDoesNotKeepRunFromReturning) {
  class flood final : public smc::detail::poller {
   public:
    explicit flood(loop_core& core) : core_(core) {
      node_.invoke = [](ready_node*, ready_node::action) {};
    }
    bool poll() noexcept override {
      core_.push_internal(&node_);
      return true;
    }
    bool before_sleep() noexcept override { return false; }
    void after_sleep() noexcept override {}

   private:
    loop_core& core_;
    ready_node node_;
  };
  smc::event_loop loop;
  flood f(core_of(loop));
  core_of(loop).run_exclusive([&] { core_of(loop).add_poller(f); });
  for (int i = 0; i < 3; ++i) asio::post(loop, [] {});
  EXPECT_EQ(loop.run(), 3u);
  core_of(loop).run_exclusive([&] { core_of(loop).remove_poller(f); });
}

TEST(LoopPoller, IsPolledEachTurn) {
  smc::event_loop loop;
  peer p(loop, 0);
  int left = 100;
  std::function<void()> again = [&] {
    if (--left > 0) asio::post(loop, again);
  };
  asio::post(loop, again);
  loop.run();
  EXPECT_GE(p.polls, 99);
}

TEST(LoopPoller, AnEventDuringTheSpinIsCompletedWithoutSleeping) {
  smc::event_loop loop(smc::event_loop_options{spin_policy::fixed, 1h});
  peer p(loop, 5000);
  p.start_operation();
  EXPECT_EQ(loop.run(), 1u);
  EXPECT_TRUE(p.completed);
  EXPECT_EQ(p.announcements, 0);
  EXPECT_EQ(core_of(loop).counters().sleeps, 0u);
  EXPECT_EQ(core_of(loop).counters().spins_paid, 1u);
  EXPECT_GT(core_of(loop).counters().yields, 0u);
}

TEST(LoopPoller, NeverSpinningAnnouncesTheSleepAtOnceAndLooksOnceMore) {
  smc::event_loop loop(smc::event_loop_options{spin_policy::never, 1h});
  peer p(loop, 0, 1);
  p.start_operation();
  EXPECT_EQ(loop.run(), 1u);
  EXPECT_TRUE(p.completed);
  EXPECT_EQ(p.announcements, 1);
  EXPECT_FALSE(p.announced);
  EXPECT_LE(p.polls, 3);
  EXPECT_EQ(core_of(loop).counters().spins, 0u);
  EXPECT_EQ(core_of(loop).counters().sleeps, 0u);
}

TEST(LoopPoller, ALoopWithoutPollersNeverSpins) {
  smc::event_loop loop(smc::event_loop_options{spin_policy::fixed, 1h});
  asio::steady_timer timer(loop, 1ms);
  timer.async_wait([](std::error_code) {});
  EXPECT_EQ(loop.run(), 1u);
  EXPECT_EQ(core_of(loop).counters().spins, 0u);
}

TEST(LoopPoller, TimersAreSeenDuringALongSpin) {
  smc::event_loop loop(smc::event_loop_options{spin_policy::fixed, 1h});
  peer p(loop, 0);
  asio::steady_timer timer(loop, 1ms);
  bool fired = false;
  timer.async_wait([&](std::error_code) { fired = true; });
  EXPECT_EQ(loop.run(), 1u);
  EXPECT_TRUE(fired);
  EXPECT_EQ(core_of(loop).counters().sleeps, 0u);
}

TEST(LoopPoller, ALongSpinEndsWithTheTimeOfRunFor) {
  smc::event_loop loop(smc::event_loop_options{spin_policy::fixed, 1h});
  peer p(loop, 0);
  const auto guard = asio::make_work_guard(loop);
  EXPECT_EQ(loop.run_for(2ms), 0u);
  EXPECT_FALSE(loop.stopped());
}

TEST(LoopPoller, ALongSpinEndsWhenTheLastWorkEndsElsewhere) {
  smc::event_loop loop(smc::event_loop_options{spin_policy::fixed, 1h});
  peer p(loop, 0);
  auto guard = std::make_unique<asio::executor_work_guard<smc::event_loop::executor_type>>(
      loop.get_executor());
  std::latch running(1);
  asio::post(loop, [&] { running.count_down(); });
  std::thread other([&] {
    running.wait();
    guard.reset();
  });
  EXPECT_EQ(loop.run(), 1u);
  other.join();
}

TEST(LoopPoller, ALongSpinSeesRemotePushesAndStop) {
  smc::event_loop loop(smc::event_loop_options{spin_policy::fixed, 1h});
  peer p(loop, 0);
  const auto guard = asio::make_work_guard(loop);
  std::latch running(1), pushed(1);
  asio::post(loop, [&] { running.count_down(); });
  std::thread other([&] {
    running.wait();
    asio::post(loop, [&] { pushed.count_down(); });
    pushed.wait();
    loop.stop();
  });
  EXPECT_EQ(loop.run(), 2u);
  other.join();
}

TEST(LoopPoller, TheAnnouncementIsTakenBackBeforeAHandlerRuns) {
  smc::event_loop loop(smc::event_loop_options{spin_policy::never, 0us});
  peer p(loop, 0);
  asio::steady_timer timer(loop, 2ms);
  bool announced = true;
  timer.async_wait([&](std::error_code) { announced = p.announced; });
  EXPECT_EQ(loop.run(), 1u);
  EXPECT_FALSE(announced);
  EXPECT_GE(p.announcements, 1);
  EXPECT_GE(core_of(loop).counters().sleeps, 1u);
}

// Two loops and shared memory: each sleeps between messages, and no wake-up may be lost.
class mailbox final : public smc::detail::poller {
 public:
  explicit mailbox(smc::event_loop& loop) : core_(core_of(loop)) {
    bell_.invoke = [](ready_node*, ready_node::action) {};
    arrival_.owner = this;
    arrival_.invoke = [](ready_node* n, ready_node::action what) {
      if (what == ready_node::action::run) static_cast<arrival*>(n)->owner->take();
    };
    core_.run_exclusive([this] { core_.add_poller(*this); });
  }
  void connect(mailbox& other, int rounds) {
    other_ = &other;
    left_ = rounds;
    core_.work_started();
  }
  void send() {
    full_.store(true);
    if (asleep_.exchange(false)) core_.push_internal(&bell_);
  }
  bool poll() noexcept override {
    if (!full_.load() || !full_.exchange(false)) return false;
    core_.push_internal(&arrival_);
    return true;
  }
  bool before_sleep() noexcept override {
    asleep_.store(true);
    return !poll();
  }
  void after_sleep() noexcept override { asleep_.store(false); }

 private:
  struct arrival : ready_node {
    mailbox* owner;
  };
  void take() {
    other_->send();
    if (--left_ == 0) core_.work_finished();
  }
  loop_core& core_;
  mailbox* other_ = nullptr;
  ready_node bell_;
  arrival arrival_;
  int left_ = 0;
  std::atomic<bool> full_{false}, asleep_{false};
};

void exchange_messages(spin_policy policy) {
  constexpr int rounds = 2000;
  smc::event_loop a(smc::event_loop_options{policy, 5us}), b(smc::event_loop_options{policy, 5us});
  mailbox to_a(a), to_b(b);
  to_a.connect(to_b, rounds);
  to_b.connect(to_a, rounds);
  to_a.send();
  std::thread other([&] { b.run(); });
  a.run();
  other.join();
}

TEST(LoopPoller, SleepingPeersLoseNoWakeUp) { exchange_messages(spin_policy::never); }
TEST(LoopPoller, BrieflySpinningPeersLoseNoWakeUp) { exchange_messages(spin_policy::fixed); }
TEST(LoopPoller, LearningPeersLoseNoWakeUp) { exchange_messages(spin_policy::automatic); }

}  // namespace
