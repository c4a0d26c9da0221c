// What a loop looks at itself.
#include "smcd/watch_list.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace smc::smcd {
namespace {

struct manual_ticks {
  static constexpr bool available = true;
  static inline std::uint64_t time = 0;
  static std::uint64_t now() noexcept { return time; }
};
using tested_list = basic_watch_list<manual_ticks>;

class WatchList : public ::testing::Test {
 protected:
  struct watched {
    ring_header header{};
    connection_slot slot;
    watched() { slot.in = &header; }
    bool armed() const { return header.consumer.reader_armed.load() != 0; }
    void write() { header.producer.cursor.fetch_add(1); }
  };

  bool add(watched& w) {
    return list_.add(w.slot, {&w.header.producer, {}, w.header.producer.cursor.load(), 0});
  }
  /// The slots that have moved.
  std::vector<connection_slot*> look() {
    std::vector<connection_slot*> found;
    const bool any = list_.look([&](connection_slot& slot) { found.push_back(&slot); });
    EXPECT_EQ(any, !found.empty());
    return found;
  }
  using slots = std::vector<connection_slot*>;

  /// Watches, and has a byte arrive so many ticks later. Whether a look finds it at once.
  bool found_at_once(watched& w, std::uint64_t later) {
    EXPECT_TRUE(add(w));
    manual_ticks::time += later;
    w.write();
    if (!look().empty()) return true;
    manual_ticks::time += tested_list::pause;
    EXPECT_EQ(look(), slots{&w.slot});
    return false;
  }
  static constexpr std::uint64_t soon = tested_list::close_behind - 1;
  static constexpr std::uint64_t late = tested_list::close_behind;

  tested_list list_;
};

TEST_F(WatchList, TellsOnceOfABytesArrival) {
  watched one, two;
  ASSERT_TRUE(add(one) && add(two));
  EXPECT_EQ(look(), slots{});
  two.write();
  EXPECT_EQ(look(), slots{&two.slot});
  EXPECT_EQ(look(), slots{});
  EXPECT_FALSE(one.armed() || two.armed());
}

TEST_F(WatchList, TellsOfANewFlagAndNotOfWhatIsNone) {
  watched one;
  ASSERT_TRUE(add(one));
  one.header.producer.flags = ~detail::close_flag::all;
  EXPECT_EQ(look(), slots{}) << "no flag that there is";
  one.header.producer.flags = detail::close_flag::sending_done;
  EXPECT_EQ(look(), slots{&one.slot});
}

TEST_F(WatchList, ForgetsWhatIsRemoved) {
  watched one;
  ASSERT_TRUE(add(one));
  list_.remove(one.slot);
  one.write();
  EXPECT_EQ(look(), slots{});
  EXPECT_TRUE(list_.arm_all());
  EXPECT_FALSE(one.armed());
}

TEST_F(WatchList, ArmsAllBeforeTheLoopSleepsAndKeepsWhatHasMoved) {
  watched one, two;
  ASSERT_TRUE(add(one) && add(two));
  two.write();
  EXPECT_FALSE(list_.arm_all()) << "there is something to tell";
  EXPECT_TRUE(one.armed() && two.armed());
  EXPECT_EQ(look(), slots{&two.slot});
  one.write();
  EXPECT_EQ(look(), slots{}) << "this one comes as an entry";
  EXPECT_TRUE(list_.arm_all());
}

TEST_F(WatchList, ArmsWhatStaysQuiet) {
  watched one;
  ASSERT_TRUE(add(one));
  for (unsigned i = 1; i < tested_list::looks_before_arming; ++i) look();
  EXPECT_FALSE(one.armed());
  look();
  EXPECT_TRUE(one.armed());
}

TEST_F(WatchList, HasFewPlacesAndUsesThemAgain) {
  std::array<watched, tested_list::most> many;
  watched next, last;
  for (watched& each : many) EXPECT_TRUE(add(each));
  EXPECT_FALSE(add(next));
  many[0].write();
  EXPECT_EQ(look(), slots{&many[0].slot});
  EXPECT_TRUE(add(next));
  EXPECT_FALSE(add(last));
  next.write();
  EXPECT_EQ(look(), slots{&next.slot});
}

TEST_F(WatchList, DoesNotPauseForAPeerThatWaitsForAnswers) {
  watched one;
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(found_at_once(one, late)) << i;
}

TEST_F(WatchList, PausesForAStreamAndTriesAgainWhetherItStillIsOne) {
  watched one;
  EXPECT_TRUE(found_at_once(one, soon));
  for (unsigned i = 0; i < tested_list::pauses_in_a_row; ++i) {
    EXPECT_FALSE(found_at_once(one, soon)) << i;
  }
  EXPECT_TRUE(found_at_once(one, soon)) << "tried";
  EXPECT_FALSE(found_at_once(one, soon)) << "it was one";
  for (unsigned i = 1; i < tested_list::pauses_in_a_row; ++i) found_at_once(one, late);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(found_at_once(one, late)) << "it is none any more";
}

TEST_F(WatchList, APauseKeepsNobodyFromBeingToldBeforeTheLoopSleeps) {
  watched one;
  EXPECT_TRUE(found_at_once(one, soon));
  ASSERT_TRUE(add(one));
  one.write();
  EXPECT_FALSE(list_.arm_all());
  EXPECT_EQ(look(), slots{&one.slot});
}

}  // namespace
}  // namespace smc::smcd
