#include <gtest/gtest.h>

#include <smc/version.hpp>
#include <string>

namespace {

TEST(Version, TheNumberTheTextAndTheLibraryAgree) {
  const std::string text = std::to_string(smc::version_major) + "." +
                           std::to_string(smc::version_minor) + "." +
                           std::to_string(smc::version_patch);
  EXPECT_EQ(text, SMC_VERSION_STRING);
  EXPECT_EQ(text, smc::library_version());
  EXPECT_EQ(SMC_VERSION,
            smc::version_major * 10000 + smc::version_minor * 100 + smc::version_patch);
}

}  // namespace
