#include "negotiation/accept_wait.hpp"

#include <gtest/gtest.h>

namespace smc::negotiation {
namespace {

constexpr attempt_key first{link_id{1}, 1};
constexpr attempt_key second{link_id{2}, 1};
constexpr connection_id a{10};
constexpr connection_id b{11};

TEST(AcceptWait, WaitsForIntentsBeforeItOnly) {
  accept_wait w;
  const auto one = w.add_intent(first);
  w.add_accept(a);
  const auto two = w.add_intent(second);
  EXPECT_EQ(w.pop_free(), std::nullopt);
  w.resolve(two);
  EXPECT_EQ(w.pop_free(), std::nullopt);
  w.resolve(one);
  EXPECT_EQ(w.pop_free(), a);
  EXPECT_EQ(w.pop_free(), std::nullopt);
}

TEST(AcceptWait, AcceptsAreFreedInTheirOrder) {
  accept_wait w;
  const auto one = w.add_intent(first);
  w.add_accept(a);
  const auto two = w.add_intent(second);
  w.add_accept(b);
  w.resolve(one);
  EXPECT_EQ(w.pop_free(), a);
  EXPECT_EQ(w.pop_free(), std::nullopt);
  w.resolve(two);
  EXPECT_EQ(w.pop_free(), b);
}

TEST(AcceptWait, GivingUpSpendsTheIntentsWaitedFor) {
  accept_wait w;
  w.add_intent(first);
  const auto place = w.add_accept(a);
  w.add_accept(b);
  w.add_intent(second);
  EXPECT_EQ(w.give_up(place), std::vector<attempt_key>{first});
  EXPECT_EQ(w.pop_free(), b) << "nothing else stood before it";
  EXPECT_TRUE(w.any_intent()) << "the younger one still counts";
}

TEST(AcceptWait, RemovedAcceptsAreNeverFreed) {
  accept_wait w;
  w.remove_accept(w.add_accept(a));
  EXPECT_EQ(w.pop_free(), std::nullopt);
  EXPECT_EQ(w.waiting(), 0U);
}

}  // namespace
}  // namespace smc::negotiation
