#include <gtest/gtest.h>

#include <smc/transport_kind.hpp>
#include <sstream>

namespace {

using smc::transport_kind;

TEST(TransportKind, IsNamedAsInTheConfiguration) {
  EXPECT_EQ(to_string(transport_kind::tcp), "tcp");
  EXPECT_EQ(to_string(transport_kind::smc_d), "smc-d");
  EXPECT_EQ(to_string(transport_kind::smc_r), "smc-r");
  EXPECT_EQ(to_string(transport_kind::other), "other");
}

TEST(TransportKind, IsPrintable) {
  std::ostringstream out;
  out << transport_kind::smc_d << ' ' << transport_kind::tcp;
  EXPECT_EQ(out.str(), "smc-d tcp");
}

}  // namespace
