// Setting up under failure: whatever fails, the reason is right and nothing is left behind.
#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

#include "pair.hpp"
#include "support/descriptor_limit.hpp"
#include "system/fork.hpp"
#include "system/injection.hpp"

namespace smc::smcd::testing {
namespace {

using test::open_descriptors;

std::size_t library_mappings() {
  std::ifstream maps("/proc/self/maps");
  std::size_t n = 0;
  for (std::string line; std::getline(maps, line);) {
    n += line.find("memfd:smc-") != std::string::npos;
  }
  return n;
}

/// Everything that two sides do until bytes flow; stops at the first reason.
reason set_up(system::memory_budget& budget, bool map_send_buffer) {
  auto bell_a = system::create_event();
  if (bell_a.error) return system::setup_reason(bell_a.error);
  auto bell_b = system::create_event();
  if (bell_b.error) return system::setup_reason(bell_b.error);
  group_options o;
  o.threads.loop_mode = true;
  o.budget = &budget;
  o.max_connections = 64;
  o.map_send_buffer = map_send_buffer;
  o.own_doorbell = bell_a.value.get();
  auto a = link_group::create(o);
  if (!a.value) return a.why;
  o.own_doorbell = bell_b.value.get();
  auto b = link_group::create(o);
  if (!b.value) return b.why;
  struct contact {
    link_group& to;
    link_group& from;
    system::descriptor& bell;
  };
  for (const auto& c :
       {contact{*a.value, *b.value, bell_b.value}, contact{*b.value, *a.value, bell_a.value}}) {
    auto inbox = c.from.inbox_file().duplicate();
    if (inbox.error) return system::setup_reason(inbox.error);
    auto bell = c.bell.duplicate();
    if (bell.error) return system::setup_reason(bell.error);
    const auto why = c.to.attach_peer(std::move(inbox.value), std::move(bell.value));
    if (why != reason::none) return why;
  }
  auto ring_of_a = a.value->open_ring(32768);
  if (!ring_of_a.value) return ring_of_a.why;
  auto ring_of_b = b.value->open_ring(32768);
  if (!ring_of_b.value) return ring_of_b.why;
  const auto da = ring_of_a.value.descriptor();
  const auto db = ring_of_b.value.descriptor();
  auto fa = ring_of_a.value.slab_file()->duplicate();
  if (fa.error) return system::setup_reason(fa.error);
  auto fb = ring_of_b.value.slab_file()->duplicate();
  if (fb.error) return system::setup_reason(fb.error);
  auto ca = a.value->connect(std::move(ring_of_a.value), db, std::move(fb.value));
  if (!ca.value) return ca.why;
  auto cb = b.value->connect(std::move(ring_of_b.value), da, std::move(fa.value));
  if (!cb.value) return cb.why;
  EXPECT_EQ(write(*ca.value, "through").bytes, 7u);
  EXPECT_EQ(read_text(*cb.value), "through");
  return reason::none;
}

class SetUp : public ::testing::TestWithParam<bool> {
 protected:
  system::memory_budget budget_{std::uint64_t{1} << 30, 60000};
};
INSTANTIATE_TEST_SUITE_P(, SetUp, ::testing::Bool(), [](const auto& mapped) {
  return std::string(mapped.param ? "Mapped" : "Copying");
});

TEST_P(SetUp, LeavesNothingWhicheverSystemCallFails) {
  ASSERT_EQ(set_up(budget_, GetParam()), reason::none);
  const auto descriptors = open_descriptors();
  const auto registered = system::registered_descriptors();
  ASSERT_EQ(library_mappings(), 0u);
  for (const int error : {ENOMEM, EMFILE}) {
    std::uint64_t failed = 0;
    for (std::uint64_t nth = 0;; ++nth) {
      system::failure_scope scope(nth, error);
      const auto why = set_up(budget_, GetParam());
      if (!scope.triggered()) {
        EXPECT_EQ(why, reason::none);
        break;
      }
      ++failed;
      // Some calls have a second way: a smaller slab, rings mapped once.
      if (why != reason::none) {
        EXPECT_TRUE(why == reason::no_memory || why == reason::descriptor_limit ||
                    why == reason::not_permitted || why == reason::memory_limit ||
                    why == reason::protocol_error)
            << static_cast<int>(why);
      }
      ASSERT_EQ(open_descriptors(), descriptors) << "call " << nth;
      ASSERT_EQ(system::registered_descriptors(), registered) << "call " << nth;
      ASSERT_EQ(library_mappings(), 0u) << "call " << nth;
      ASSERT_EQ(budget_.memory_in_use(), 0u) << "call " << nth;
      ASSERT_EQ(budget_.mappings_in_use(), 0u) << "call " << nth;
    }
    EXPECT_GT(failed, 40u);
  }
}

TEST_P(SetUp, LeavesNothingWhenDescriptorsRunOut) {
  const auto descriptors = open_descriptors();
  bool succeeded = false;
  for (rlim_t limit = 4; limit < 64 && !succeeded; ++limit) {
    reason why;
    {
      const test::descriptor_limit tight(limit);
      why = set_up(budget_, GetParam());
    }
    succeeded = why == reason::none;
    EXPECT_TRUE(succeeded || why == reason::descriptor_limit) << static_cast<int>(why);
    ASSERT_EQ(open_descriptors(), descriptors);
  }
  EXPECT_TRUE(succeeded);
}

TEST(Limits, TheBudgetBoundsRingsAndSmallerOnesComeBeforeNone) {
  // Beside two inboxes there is room for a ring of 32 KiB and one of 16 KiB, with their headers.
  system::memory_budget budget(2 * inbox_bytes(inbox_capacity(64)) + 3 * (16384 + 4096), 60000);
  side_options o;
  o.budget = &budget;
  o.max_connections = 64;
  linked_sides sides(o);
  auto first = sides.a.group->open_ring(65536);
  EXPECT_EQ(first.value.descriptor().ring_size, 32768u);
  auto second = sides.b.group->open_ring(65536);
  EXPECT_EQ(second.value.descriptor().ring_size, 16384u);
  EXPECT_EQ(sides.a.group->open_ring(65536).why, reason::memory_limit);
  EXPECT_EQ(sides.a.group->connections(), 1u);
  EXPECT_LE(budget.memory_in_use(), budget.limit());
}

TEST(Limits, ManyMappingsMeanRingsThatAreMappedOnceAndThenNone) {
  system::memory_budget budget(std::uint64_t{1} << 30, 6);
  side_options o;
  o.budget = &budget;
  linked_sides sides(o);  // four mappings
  auto one = sides.a.group->open_ring(16384);
  EXPECT_EQ(one.why, reason::none) << "a slab of many rings, mapped once";
  EXPECT_EQ(budget.mappings_in_use(), 5u);
  auto two = sides.b.group->open_ring(16384);
  EXPECT_EQ(two.why, reason::none);
  EXPECT_EQ(sides.b.group->open_ring(65536).why, reason::mapping_limit);
}

TEST(Limits, AFileSizeLimitIsARefusalAndNoSignal) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit tight = before;
  tight.rlim_cur = 100000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  const auto made = system::segment::create("smc-test", 200000 / 4096 * 4096);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(system::setup_reason(made.error), reason::memory_limit);
}

TEST(Limits, AGroupHasAsManyConnectionsAsItSaysAndTakesThemAgain) {
  side_options o;
  o.max_connections = 4;
  linked_sides sides(o);
  for (int turn = 0; turn < 3; ++turn) {
    std::vector<connected> pairs;
    for (int i = 0; i < 4; ++i) pairs.push_back(connect(sides));
    EXPECT_EQ(sides.a.group->open_ring(16384).why, reason::memory_limit);
    pairs.clear();
    settle(sides);
    EXPECT_EQ(sides.a.group->connections(), 0u);
  }
}

TEST(Limits, ASlabsFileGoesToThePeerOnce) {
  linked_sides sides;
  auto first = sides.a.group->open_ring(16384);
  ASSERT_NE(first.value.slab_file(), nullptr);
  sides.a.group->set_peer_has_slab(first.value.descriptor().slab_id);
  auto second = sides.a.group->open_ring(16384);
  EXPECT_EQ(second.value.descriptor().slab_id, first.value.descriptor().slab_id);
  EXPECT_EQ(second.value.slab_file(), nullptr);
}

TEST(Limits, OneMappingPerRingAndOneMore) {
  linked_sides sides;
  const auto before = library_mappings();
  auto offer = sides.a.group->open_ring(16384);
  EXPECT_EQ(offer.value.descriptor().slab_rings, 16u);
  EXPECT_EQ(library_mappings() - before, 17u);
}

}  // namespace
}  // namespace smc::smcd::testing
