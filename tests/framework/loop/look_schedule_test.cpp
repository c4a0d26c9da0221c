#include <gtest/gtest.h>

#include <smc/detail/look_schedule.hpp>

namespace {

using namespace std::chrono_literals;
using smc::detail::look_schedule;

struct outcome {
  int handlers = 0, looks = 0, clock_reads = 0, most_between = 0;
  std::chrono::nanoseconds longest_gap{0};
};

// Handlers of equal length, on a clock of our own.
outcome run(std::chrono::nanoseconds handler, int handlers) {
  look_schedule schedule;
  look_schedule::time_point now{1h}, last = now;
  schedule.woke(now);
  outcome out;
  for (int between = 0; out.handlers < handlers; ++out.handlers) {
    now += handler;
    ++between;
    if (!schedule.handler_ran()) continue;
    ++out.clock_reads;
    if (!schedule.due(now)) continue;
    schedule.looked(now);
    ++out.looks;
    out.most_between = std::max(out.most_between, between);
    out.longest_gap = std::max<std::chrono::nanoseconds>(out.longest_gap, now - last);
    between = 0;
    last = now;
  }
  return out;
}

TEST(LookSchedule, ShortHandlersAreCounted) {
  const outcome out = run(5ns, 100000);
  EXPECT_LT(out.most_between, 256 + 32);
  EXPECT_GE(out.looks, 100000 / (256 + 32));
  EXPECT_LE(out.looks, 100000 / 256 + 1);
}

TEST(LookSchedule, TheClockIsNotReadForEachShortHandler) {
  EXPECT_LT(run(5ns, 100000).clock_reads, 100000 / 32 + 16);
}

TEST(LookSchedule, LongHandlersGetALookEveryFiftyMicroseconds) {
  const outcome out = run(20us, 1000);
  EXPECT_LE(out.longest_gap, 60us);
  EXPECT_LE(out.looks, 1000 / 3 + 1);
}

TEST(LookSchedule, HandlersOfMiddlingLengthAreNeverLongWithoutALook) {
  for (const auto length : {200ns, 500ns, 1000ns, 2000ns, 5000ns, 10000ns})
    EXPECT_LE(run(length, 100000).longest_gap, 50us + 32 * 1us) << length.count();
}

TEST(LookSchedule, IsOverdueFiftyMicrosecondsAfterTheLastLook) {
  look_schedule schedule;
  const look_schedule::time_point now{1h};
  schedule.looked(now);
  EXPECT_FALSE(schedule.overdue(now + 49us));
  EXPECT_TRUE(schedule.overdue(now + 50us));
}

// After many looks that took as long.
look_schedule looked_in_vain(look_schedule::time_point now, std::chrono::nanoseconds took) {
  look_schedule schedule;
  for (int i = 0; i < 200; ++i) schedule.looked_in_vain(now, took);
  return schedule;
}

TEST(LookSchedule, DearLooksThatFindNothingTakeATwentiethOfTheTime) {
  const look_schedule::time_point now{1h};
  const look_schedule schedule = looked_in_vain(now, 20us);
  EXPECT_FALSE(schedule.overdue(now + 390us));
  EXPECT_TRUE(schedule.overdue(now + 400us));
}

TEST(LookSchedule, NoLookIsSoDearThatDescriptorsWaitLongerThanAMillisecond) {
  const look_schedule::time_point now{1h};
  EXPECT_TRUE(looked_in_vain(now, 10ms).overdue(now + 1ms));
}

TEST(LookSchedule, OneInterruptedLookCountsLittle) {
  const look_schedule::time_point now{1h};
  look_schedule schedule = looked_in_vain(now, 500ns);
  schedule.looked_in_vain(now, 10ms);
  EXPECT_LT(schedule.cost(), 1us);
  EXPECT_TRUE(schedule.overdue(now + 50us));
}

}  // namespace
