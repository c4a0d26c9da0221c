#include "smcr/verbs/devices.hpp"

#include <gtest/gtest.h>

namespace smc::rdma::verbs {
namespace {

TEST(VerbsDevices, ThereAreSomeOrItIsSaidWhyNot) {
  const opened_devices found = open_devices();
  EXPECT_EQ(found.devices.empty(), found.why_none != absence::none) << found.detail;
  for (const auto& one : found.devices) {
    EXPECT_FALSE(one->attributes().name.empty());
    EXPECT_TRUE(one->port(1)) << one->attributes().name;
  }
}

TEST(VerbsDevices, AskingAgainGivesTheSameAnswer) {
  const opened_devices first = open_devices();
  const opened_devices second = open_devices();
  EXPECT_EQ(first.why_none, second.why_none);
  EXPECT_EQ(first.detail, second.detail);
}

TEST(VerbsDevices, EachAbsenceHasItsOwnRemedy) {
  std::vector<std::string_view> texts;
  for (const absence a : {absence::none, absence::not_built, absence::no_library,
                          absence::no_device, absence::not_permitted}) {
    for (const std::string_view other : texts) EXPECT_NE(to_string(a), other);
    texts.push_back(to_string(a));
  }
}

}  // namespace
}  // namespace smc::rdma::verbs
