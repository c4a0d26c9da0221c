#include "system/descriptor.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <vector>

#include "support/descriptor_limit.hpp"
#include "support/in_child.hpp"
#include "system/events.hpp"
#include "system/fork.hpp"
#include "system/injection.hpp"

namespace smc::system {
namespace {

using test::in_child;

bool is_open(int number) { return ::fcntl(number, F_GETFD) >= 0; }

TEST(Descriptor, ClosesWhatItOwnsOnce) {
  const auto before = registered_descriptors();
  auto made = create_event();
  ASSERT_FALSE(made.error);
  const int number = made.value.get();
  EXPECT_EQ(registered_descriptors(), before + 1);
  EXPECT_TRUE(::fcntl(number, F_GETFD) & FD_CLOEXEC);
  descriptor moved = std::move(made.value);
  EXPECT_FALSE(made.value);
  EXPECT_EQ(moved.get(), number);
  moved.reset();
  EXPECT_FALSE(is_open(number));
  moved.reset();
  EXPECT_EQ(registered_descriptors(), before);
}

TEST(Descriptor, ADuplicateIsIndependentAndCloseOnExec) {
  auto made = create_event();
  auto copy = made.value.duplicate();
  ASSERT_FALSE(copy.error);
  made.value.reset();
  EXPECT_TRUE(::fcntl(copy.value.get(), F_GETFD) & FD_CLOEXEC);
  EXPECT_FALSE(ring(copy.value));
}

TEST(Descriptor, AReleasedOneIsLeftToTheCaller) {
  auto made = create_event();
  const int number = made.value.release();
  EXPECT_FALSE(made.value);
  EXPECT_TRUE(is_open(number));
  EXPECT_TRUE(in_child([&] { return ring(number) == std::error_code(); }));
  EXPECT_TRUE(clear(descriptor::adopt(number).value).value) << "a fork leaves it alone";
}

TEST(Descriptor, NoNumberIsNoDescriptor) { EXPECT_EQ(descriptor::adopt(-1).error.value(), EBADF); }

TEST(Fork, AChildHasASilentEventInPlaceOfTheParentsDescriptors) {
  auto event = create_event();
  const auto generation = fork_generation();
  EXPECT_TRUE(in_child([&] {
    const bool silent = !clear(event.value).value && !ring(event.value);
    const auto set = create_epoll();
    const bool watchable = !epoll_change(set.value, EPOLL_CTL_ADD, event.value.get(), EPOLLIN, 0);
    const bool kept_closed_on_exec = (::fcntl(event.value.get(), F_GETFD) & FD_CLOEXEC) != 0;
    const int number = event.value.get();
    event.value.reset();
    return silent && watchable && kept_closed_on_exec && !is_open(number) &&
           fork_generation() == generation + 1;
  }));
  EXPECT_EQ(fork_generation(), generation);
  EXPECT_FALSE(clear(event.value).value) << "the child's ring went nowhere";
}

TEST(Fork, WithoutAFreeNumberTheChildIsAsDeaf) {
  std::vector<descriptor> events;
  for (int i = 0; i < 3; ++i) {
    events.push_back(std::move(create_event().value));
    ASSERT_FALSE(ring(events.back()));
  }
  const test::no_descriptors none;
  EXPECT_TRUE(in_child([&] {
    for (auto& e : events) {
      if (clear(e).value) return false;
    }
    return true;
  }));
}

int handled = 0;
void count_child() noexcept { ++handled; }

TEST(Fork, HandlersRunInTheChildOnly) {
  ASSERT_TRUE(register_child_handler(&count_child));
  ASSERT_TRUE(register_child_handler(&count_child)) << "registered once all the same";
  EXPECT_TRUE(in_child([] { return handled == 1; }));
  EXPECT_EQ(handled, 0);
}

TEST(Injection, TheNthCallOfAKindFailsAndNoOther) {
  failure_scope scope(call::eventfd, 1, EMFILE);
  EXPECT_FALSE(create_event().error);
  EXPECT_FALSE(scope.triggered());
  EXPECT_FALSE(create_epoll().error);
  EXPECT_EQ(create_event().error.value(), EMFILE);
  EXPECT_TRUE(scope.triggered());
  EXPECT_FALSE(create_event().error);
}

TEST(Injection, TheNthCallOfAllFails) {
  {
    failure_scope scope(std::uint64_t{1}, ENOMEM);
    EXPECT_FALSE(create_event().error);
    EXPECT_EQ(create_epoll().error.value(), ENOMEM);
  }
  EXPECT_FALSE(create_epoll().error);
}

}  // namespace
}  // namespace smc::system
