// A peer that writes anything anywhere in the memory that it shares with us.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pair.hpp"
#include "smc/close_state.hpp"
#include "smcd/slab.hpp"
#include "system/memory.hpp"

namespace smc::smcd::testing {
namespace {

using detail::direction;

/// The rings as the peer sees them: through its own mapping of the same memory.
class Hostile : public ::testing::Test {
 protected:
  Hostile() : budget_(std::uint64_t{1} << 30, 60000), sides_(options()) {
    auto from_a = sides_.a.group->open_ring(16384);
    auto from_b = sides_.b.group->open_ring(16384);
    ring_of_a = from_a.value.descriptor();
    ring_of_b = from_b.value.descriptor();
    auto slab_of_a = copy_of(from_a.value.slab_file());
    auto slab_of_b = copy_of(from_b.value.slab_file());
    into_a_ =
        slab::attach(0, ring_of_a.ring_size, ring_of_a.slab_rings, copy_of(&slab_of_a), budget_)
            .value;
    from_a_ =
        slab::attach(0, ring_of_b.ring_size, ring_of_b.slab_rings, copy_of(&slab_of_b), budget_)
            .value;
    a = sides_.a.group->connect(std::move(from_a.value), ring_of_b, std::move(slab_of_b)).value;
    b = sides_.b.group->connect(std::move(from_b.value), ring_of_a, std::move(slab_of_a)).value;
  }
  side_options options() {
    side_options o;
    o.budget = &budget_;
    return o;
  }
  /// Header of the ring that a reads; the peer may write all of it.
  ring_header& read_by_a() { return *into_a_->ring(ring_of_a.ring_index).header; }
  ring_header& written_by_a() { return *from_a_->ring(ring_of_b.ring_index).header; }

  system::memory_budget budget_;
  linked_sides sides_;
  ring_descriptor ring_of_a, ring_of_b;
  std::unique_ptr<slab> into_a_, from_a_;
  std::unique_ptr<connection> a, b;
  std::byte one{};
};

TEST_F(Hostile, AProducerCursorBeyondTheRingResets) {
  read_by_a().producer.cursor.store(16385);
  EXPECT_EQ(read(*a, {&one, 1}).error, code(asio::error::connection_reset));
  EXPECT_EQ(a->available(), 0u);
  EXPECT_EQ(write(*a, "x").error, code(asio::error::connection_reset));
  EXPECT_EQ(write(*a, "x").error, code(asio::error::connection_reset));
  // The peer's side, honest or not, learns that the connection is over.
  EXPECT_EQ(write(*b, "x").error, code(asio::error::connection_reset));
  EXPECT_EQ(read(*b, {&one, 1}).error, code(asio::error::connection_reset));
}

TEST_F(Hostile, AProducerCursorThatGoesBackResets) {
  write(*b, "0123456789");
  std::byte some[5];
  EXPECT_EQ(read(*a, some).bytes, 5u);
  read_by_a().producer.cursor.store(7);
  EXPECT_EQ(a->available(), 5u) << "what was seen before stays";
  EXPECT_EQ(read(*a, some).bytes, 5u);
  EXPECT_EQ(read(*a, some).error, code(asio::error::connection_reset));
}

TEST_F(Hostile, AConsumerCursorBeyondWhatWasWrittenResets) {
  write(*a, "abc");
  written_by_a().consumer.cursor.store(4);
  EXPECT_EQ(write(*a, "x").error, code(asio::error::connection_reset));
}

TEST_F(Hostile, AConsumerCursorThatGoesBackResets) {
  write(*a, "abc");
  written_by_a().consumer.cursor.store(3);
  EXPECT_FALSE(a->poll(direction::write, 16384));
  written_by_a().consumer.cursor.store(2);
  EXPECT_EQ(write(*a, "x").error, code(asio::error::connection_reset));
}

TEST_F(Hostile, EveryCursorIsEitherTakenOrResets) {
  for (const std::uint64_t value :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{16384}, std::uint64_t{16385},
        std::uint64_t{1} << 32, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    auto made = connect(sides_);
    // Fresh rings; their headers through the same slabs.
    std::vector<std::byte> into(20000);
    for (std::uint32_t i = 0; i < ring_of_a.slab_rings; ++i) {
      auto& h = *into_a_->ring(i).header;
      h.producer.cursor.store(value);
      h.consumer.cursor.store(value);
      h.identity.ring_size.store(value);
      h.producer.switch_at.store(value);
    }
    const auto r = read(*made.a, into);
    if (value >= 1 && value <= 16384) {
      EXPECT_EQ(r.bytes, value);
    } else if (value == 0) {
      EXPECT_EQ(r.error, code(asio::error::would_block));
    } else {
      EXPECT_EQ(r.error, code(asio::error::connection_reset));
    }
    asio::const_buffer seen;
    static_cast<void>(made.a->data(1, seen));
    EXPECT_LE(seen.size(), 16384u);
  }
}

TEST_F(Hostile, BytesAfterTheEndOfStreamAreNotDelivered) {
  read_by_a().producer.cursor.store(3);
  read_by_a().producer.flags.store(detail::close_flag::sending_done);
  std::byte some[100];
  EXPECT_EQ(read(*a, some).bytes, 3u);
  EXPECT_EQ(read(*a, some).error, eof());
  read_by_a().producer.cursor.store(50);
  read_by_a().producer.flags.store(0);
  EXPECT_EQ(read(*a, some).error, eof());
}

TEST_F(Hostile, AViolationTellsTheWaiterOfTheOtherDirection) {
  counting_waiter w;
  EXPECT_EQ(write(*a, pattern(16384)).bytes, 16384u);
  ASSERT_TRUE(a->arm(direction::write, 1, w));
  read_by_a().producer.cursor.store(~std::uint64_t{0});
  EXPECT_EQ(read(*a, {&one, 1}).error, code(asio::error::connection_reset));
  EXPECT_TRUE(system::clear(sides_.a.doorbell).value);
  sides_.a.group->poll();
  EXPECT_EQ(w.told(), 1);
}

/// Writes into a's inbox as the peer can.
class HostileInbox : public Hostile {
 protected:
  HostileInbox() {
    auto file = copy_of(&sides_.a.group->inbox_file());
    const auto size = inbox_bytes(inbox_capacity(1024));
    auto memory = system::segment::attach(std::move(file), size);
    mapping_ = std::move(system::mapping::whole(memory.value).value);
  }
  shared_word& slot(std::size_t i) {
    return reinterpret_cast<shared_word*>(mapping_.data() + sizeof(inbox_header))[i];
  }
  system::mapping mapping_;
};

TEST_F(HostileInbox, EntriesForStrangersMeanNothing) {
  slot(0).store(entry{700, entry_kind::data, 0}.encode());
  slot(1).store(entry{0, entry_kind::space, 77}.encode());
  slot(2).store(entry{5, entry_kind::state, 3}.encode());
  EXPECT_TRUE(sides_.a.group->poll());
  // 700 lies beyond the numbers that exist yet.
  EXPECT_TRUE(sides_.a.group->ended());
  EXPECT_EQ(sides_.a.group->why_ended(), reason::protocol_error);
}

TEST_F(HostileInbox, EntriesOfFormerConnectionsMeanNothing) {
  slot(0).store(entry{0, entry_kind::space, 77}.encode());
  slot(1).store(entry{5, entry_kind::state, 0}.encode());
  slot(2).store(entry{6, entry_kind::data, 0}.encode());
  EXPECT_TRUE(sides_.a.group->poll());
  EXPECT_FALSE(sides_.a.group->ended());
  EXPECT_EQ(write(*a, "fine").bytes, 4u);
}

TEST_F(HostileInbox, AWordThatIsNoEntryEndsTheGroup) {
  counting_waiter w;
  ASSERT_TRUE(a->arm(direction::read, 1, w));
  slot(0).store(1);
  sides_.a.group->poll();
  sides_.a.group->poll();
  EXPECT_EQ(sides_.a.group->why_ended(), reason::protocol_error);
  EXPECT_EQ(w.told(), 1);
  EXPECT_EQ(read(*a, {&one, 1}).error, code(asio::error::connection_reset));
}

TEST_F(HostileInbox, APeerThatEmptiesNothingEndsTheGroup) {
  for (std::size_t i = 0; i < 2 * inbox_capacity(1024); ++i) slot(i).store(~0u);
  // b pushes into a's inbox and finds no free slot.
  ASSERT_FALSE(a->poll(direction::write, 1));
  counting_waiter w;
  ASSERT_TRUE(a->arm(direction::read, 1, w));
  ASSERT_FALSE(sides_.a.group->before_sleep()) << "which arms whoever waits";
  EXPECT_EQ(write(*b, "x").bytes, 1u);
  EXPECT_EQ(sides_.b.group->why_ended(), reason::protocol_error);
}

TEST_F(HostileInbox, AFloodOfEntriesIsTakenInBoundedPortions) {
  // Each poll takes some; refilled behind it, the inbox never empties, and yet poll() returns.
  for (int turn = 0; turn < 100; ++turn) {
    for (std::size_t i = 0; i < inbox_capacity(1024); ++i) {
      slot(i).store(entry{0, entry_kind::data, 0}.encode());
    }
    EXPECT_TRUE(sides_.a.group->poll());
  }
  EXPECT_FALSE(sides_.a.group->ended());
}

// What arrives instead of the descriptors that were promised.

system::descriptor memory_file(std::size_t size, int seals, bool allocate = true) {
  auto file = system::create_memory_file("smc-test");
  if (allocate) {
    EXPECT_FALSE(system::reserve(file.value, size));
  } else {
    EXPECT_EQ(::ftruncate(file.value.get(), static_cast<off_t>(size)), 0);
  }
  if (seals != 0) {
    EXPECT_FALSE(system::add_seals(file.value, seals));
  }
  return std::move(file.value);
}

constexpr int right_seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

TEST(Segment, OnlyASealedFileOfTheRightSizeWithoutHolesIsAttached) {
  EXPECT_FALSE(system::segment::attach(memory_file(8192, right_seals), 8192).error);
  EXPECT_TRUE(system::segment::attach(memory_file(8192, right_seals), 4096).error) << "longer";
  EXPECT_TRUE(system::segment::attach(memory_file(4096, right_seals), 8192).error) << "shorter";
  EXPECT_TRUE(system::segment::attach(memory_file(8192, 0), 8192).error) << "unsealed";
  EXPECT_TRUE(system::segment::attach(memory_file(8192, F_SEAL_SHRINK | F_SEAL_GROW), 8192).error);
  EXPECT_TRUE(system::segment::attach(memory_file(8192, F_SEAL_GROW | F_SEAL_SEAL), 8192).error);
  EXPECT_TRUE(system::segment::attach(memory_file(8192, right_seals | F_SEAL_WRITE), 8192).error)
      << "read only";
  EXPECT_TRUE(system::segment::attach(memory_file(8192, right_seals, false), 8192).error)
      << "holes";
}

TEST(Segment, WhatIsNoMemoryFileIsNotAttached) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  auto reader = system::descriptor::adopt(ends[0]);
  EXPECT_TRUE(system::segment::attach(std::move(reader.value), 4096).error);
  EXPECT_TRUE(
      system::segment::attach(std::move(system::descriptor::adopt(ends[1]).value), 4096).error);
  auto null = system::descriptor::adopt(::open("/dev/null", O_RDWR | O_CLOEXEC));
  EXPECT_TRUE(system::segment::attach(std::move(null.value), 4096).error);
  EXPECT_TRUE(system::segment::attach(system::descriptor(), 4096).error);
}

TEST(FirstContact, WhatIsNoInboxOrNoDoorbellIsRefused) {
  side us;
  side them;
  const auto size = inbox_bytes(inbox_capacity(1024));
  EXPECT_EQ(us.group->attach_peer(memory_file(size, right_seals), copy_of(&them.doorbell)),
            reason::protocol_error)
      << "no magic";
  EXPECT_EQ(us.group->attach_peer(memory_file(size, 0), copy_of(&them.doorbell)),
            reason::protocol_error)
      << "unsealed";
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  auto pipe = system::descriptor::adopt(ends[1]);
  EXPECT_EQ(us.group->attach_peer(copy_of(&them.group->inbox_file()), std::move(pipe.value)),
            reason::protocol_error)
      << "a pipe for a doorbell";
  ::close(ends[0]);
  auto blocking = system::create_event();
  ASSERT_EQ(::fcntl(blocking.value.get(), F_SETFL, 0), 0);
  EXPECT_EQ(us.group->attach_peer(copy_of(&them.group->inbox_file()), std::move(blocking.value)),
            reason::protocol_error)
      << "one that could keep us waiting";
  EXPECT_EQ(us.group->attach_peer(copy_of(&them.group->inbox_file()), copy_of(&them.doorbell)),
            reason::none);
  EXPECT_EQ(us.group->attach_peer(copy_of(&them.group->inbox_file()), copy_of(&them.doorbell)),
            reason::protocol_error)
      << "twice";
}

class WrongRing : public Hostile {
 protected:
  reason connect_with(const ring_descriptor& described, bool with_file = true) {
    auto fresh = sides_.a.group->open_ring(16384);
    system::descriptor file;
    if (with_file) file = copy_of(&from_a_->file());
    return sides_.a.group->connect(std::move(fresh.value), described, std::move(file)).why;
  }
};

TEST_F(WrongRing, IsRefusedWhateverIsWrongWithIt) {
  auto d = ring_of_b;
  EXPECT_EQ(connect_with(d), reason::none) << "nothing";
  d.token ^= 1;
  EXPECT_EQ(connect_with(d), reason::other_host) << "memory that is not the one meant";
  d = ring_of_b;
  d.ring_generation += 1;
  EXPECT_EQ(connect_with(d), reason::protocol_error);
  d = ring_of_b;
  d.ring_index = d.slab_rings;
  EXPECT_EQ(connect_with(d), reason::protocol_error);
  d = ring_of_b;
  d.ring_size *= 2;
  EXPECT_EQ(connect_with(d), reason::protocol_error);
  d = ring_of_b;
  d.slab_rings += 1;
  EXPECT_EQ(connect_with(d), reason::protocol_error);
  d = ring_of_b;
  d.connection_number = 1 << 16;
  EXPECT_EQ(connect_with(d), reason::protocol_error);
  d = ring_of_b;
  d.slab_id = 7;
  EXPECT_EQ(connect_with(d, false), reason::protocol_error) << "a slab that never came";
  d.slab_rings *= 2;
  EXPECT_EQ(connect_with(d), reason::protocol_error) << "a slab of another size";
  d.slab_rings = 0xffffffff;
  d.ring_size = 0xffffffffffffffff;
  EXPECT_EQ(connect_with(d), reason::protocol_error);
  written_by_a().identity.version.store(2);
  EXPECT_EQ(connect_with(ring_of_b), reason::version_mismatch);
  written_by_a().identity.magic.store(2);
  EXPECT_EQ(connect_with(ring_of_b), reason::protocol_error);
  EXPECT_EQ(write(*a, "unharmed").bytes, 8u);
}

TEST_F(WrongRing, ARefusedOfferComesBackWhenThePeerSaysSo) {
  const auto before = sides_.a.group->connections();
  ring_descriptor told;
  {
    auto offer = sides_.a.group->open_ring(16384);
    told = offer.value.descriptor();
  }
  sides_.a.group->poll();
  EXPECT_EQ(sides_.a.group->connections(), before + 1) << "the peer may be writing into it";
  sides_.b.group->refuse(told);
  sides_.a.group->poll();
  EXPECT_EQ(sides_.a.group->connections(), before);
  auto offer = sides_.a.group->open_ring(16384);
  offer.value.withdraw();
  EXPECT_EQ(sides_.a.group->connections(), before);
}

}  // namespace
}  // namespace smc::smcd::testing
