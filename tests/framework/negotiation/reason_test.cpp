#include <gtest/gtest.h>

#include <set>
#include <smc/error.hpp>
#include <string>

#include "negotiation/reason_rank.hpp"

namespace smc {
namespace {

TEST(Reason, IsAnErrorCodeOfCategorySmc) {
  const std::error_code e = reason::other_user;
  EXPECT_TRUE(e);
  EXPECT_STREQ(e.category().name(), "smc");
  EXPECT_EQ(e, reason::other_user);
  EXPECT_NE(e, reason::other_host);
}

TEST(Reason, NoneIsNoError) { EXPECT_FALSE(make_error_code(reason::none)); }

TEST(Reason, NumbersAreStable) {
  EXPECT_EQ(static_cast<int>(reason::not_offered), 1);
  EXPECT_EQ(static_cast<int>(reason::handshake_timed_out), 11);
  EXPECT_EQ(static_cast<int>(reason::not_permitted), 20);
}

TEST(Reason, EachHasItsOwnMessageAndRemedy) {
  std::set<std::string> messages;
  std::set<std::string> remedies;
  for (int value = 1; value <= static_cast<int>(reason::not_permitted); ++value) {
    const auto why = static_cast<reason>(value);
    messages.insert(make_error_code(why).message());
    remedies.insert(std::string(remedy(why)));
    EXPECT_FALSE(remedy(why).empty()) << value;
    EXPECT_EQ(remedy(why).back(), '.') << value;
  }
  EXPECT_EQ(messages.size(), 20U);
  EXPECT_EQ(remedies.size(), 20U);
  EXPECT_EQ(messages.count(""), 0U);
}

TEST(Reason, UnknownValuesAreNamedByNumber) {
  const auto unknown = static_cast<reason>(99);
  EXPECT_EQ(make_error_code(unknown).message(), "unknown reason 99");
  EXPECT_TRUE(remedy(unknown).empty());
  EXPECT_EQ(make_error_code(static_cast<reason>(-1)).message(), "unknown reason -1");
}

TEST(Reason, ComparesWithTheStandardsKindsOfFailure) {
  EXPECT_EQ(make_error_code(reason::memory_limit), std::errc::not_enough_memory);
  EXPECT_EQ(make_error_code(reason::handshake_timed_out), std::errc::timed_out);
  EXPECT_EQ(make_error_code(reason::not_permitted), std::errc::operation_not_permitted);
  EXPECT_NE(make_error_code(reason::peer_unknown), std::errc::timed_out);
}

TEST(Reason, TheOneThatNamesWhatIsMissingTellsMost) {
  using negotiation::more_telling;
  EXPECT_EQ(more_telling(reason::peer_unknown, reason::no_memory), reason::no_memory);
  EXPECT_EQ(more_telling(reason::no_memory, reason::rendezvous_unreachable), reason::no_memory);
  EXPECT_EQ(more_telling(reason::rendezvous_unreachable, reason::handshake_timed_out),
            reason::handshake_timed_out);
  EXPECT_EQ(more_telling(reason::other_user, reason::no_memory), reason::other_user);
}

}  // namespace
}  // namespace smc
