// A config that a program hands in is checked as the environment is.
#include <gtest/gtest.h>

#include <asio/io_context.hpp>
#include <smc/smc.hpp>
#include <stdexcept>
#include <string>

namespace smc::test {
namespace {

template <typename Make>
std::string refusal(Make&& make) {
  try {
    make();
  } catch (const std::invalid_argument& wrong) {
    return wrong.what();
  }
  return "";
}

TEST(StreamSettings, WrongValueIsRefusedByNameWhereItIsHandedIn) {
  asio::io_context context;
  config settings;
  settings.ring_size = 1;
  EXPECT_NE(refusal([&] { stream made(context, settings); }).find("ring_size"), std::string::npos);
  EXPECT_NE(refusal([&] { acceptor made(context, settings); }).find("ring_size"),
            std::string::npos);
  settings = {};
  settings.handshake_timeout = std::chrono::milliseconds(0);
  EXPECT_NE(refusal([&] { stream made(context, settings); }).find("handshake_timeout"),
            std::string::npos);
}

}  // namespace
}  // namespace smc::test
