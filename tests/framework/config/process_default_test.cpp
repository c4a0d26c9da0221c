// The process's default can be read from the environment once per process: each test runs in one of
// its own.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <smc/config.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using smc::config;

void require(bool condition, const char* text) {
  if (condition) return;
  std::fprintf(stderr, "not true: %s\n", text);
  std::exit(1);
}
#define REQUIRE(condition) require(condition, #condition)

bool default_throws() {
  try {
    (void)config::process_default();
    return false;
  } catch (const std::invalid_argument& e) {
    return std::string(e.what()).find("SMC_RING") != std::string::npos;
  }
}

[[noreturn]] void the_environment_is_read_at_first_use() {
  ::setenv("SMC_RING", "64K", 1);
  REQUIRE(config::process_default().ring_size == 65536);
  ::setenv("SMC_RING", "32K", 1);
  REQUIRE(config::process_default().ring_size == 65536);
  std::exit(0);
}

[[noreturn]] void an_invalid_environment_throws_every_time() {
  ::setenv("SMC_RING", "huge", 1);
  for (int i = 0; i < 3; ++i) REQUIRE(default_throws());
  ::unsetenv("SMC_RING");
  REQUIRE(config::process_default() == config{});
  std::exit(0);
}

[[noreturn]] void the_program_wins_over_the_environment() {
  ::setenv("SMC_RING", "huge", 1);
  config mine;
  mine.ring_size = 100'000;
  config::set_process_default(mine);
  REQUIRE(config::process_default().ring_size == 131'072);
  std::exit(0);
}

[[noreturn]] void references_outlive_a_replacement() {
  ::unsetenv("SMC_RING");
  const config& first = config::process_default();
  config other;
  other.ring_size = 16'384;
  other.eids = {"A"};
  config::set_process_default(other);
  REQUIRE(first == config{});
  REQUIRE(config::process_default() == other);
  std::exit(0);
}

[[noreturn]] void a_wrong_field_is_named_and_changes_nothing() {
  ::unsetenv("SMC_RING");
  const auto refused = [](const char* field, auto&& set) {
    config wrong;
    set(wrong);
    try {
      config::set_process_default(wrong);
    } catch (const std::invalid_argument& e) {
      return std::string(e.what()).find(field) != std::string::npos;
    }
    return false;
  };
  using namespace std::chrono_literals;
  REQUIRE(refused("transports", [](config& c) { c.transports.clear(); }));
  REQUIRE(
      refused("transports", [](config& c) { c.transports.push_back(smc::transport_kind::tcp); }));
  REQUIRE(refused("ring_size", [](config& c) { c.ring_size = 0; }));
  REQUIRE(refused("ring_size", [](config& c) { c.ring_size = ~std::size_t{0}; }));
  REQUIRE(refused("spin_time", [](config& c) { c.spin_time = 0us; }));
  REQUIRE(refused("handshake_timeout", [](config& c) { c.handshake_timeout = -1ms; }));
  REQUIRE(refused("clc_timeout", [](config& c) { c.clc_timeout = 0ms; }));
  REQUIRE(refused("detect_timeout",
                  [](config& c) { c.detect_timeout = std::chrono::milliseconds::max(); }));
  REQUIRE(refused("rendezvous_directory", [](config& c) { c.rendezvous_directory = "here"; }));
  REQUIRE(refused("eids", [](config& c) { c.eids = {"no"}; }));
  REQUIRE(refused("rules", [](config& c) { c.rules.emplace_back().ring_size = 1; }));
  REQUIRE(config::process_default() == config{});
  std::exit(0);
}

[[noreturn]] void threads_agree_on_one_value() {
  ::setenv("SMC_RING", "64K", 1);
  std::vector<const config*> seen(8);
  std::vector<std::thread> threads;
  for (auto& mine : seen) threads.emplace_back([&mine] { mine = &config::process_default(); });
  for (auto& thread : threads) thread.join();
  for (const config* one : seen) REQUIRE(one == seen[0] && one->ring_size == 65536);
  std::exit(0);
}

TEST(ProcessDefault, TheEnvironmentIsReadAtFirstUse) {
  EXPECT_EXIT(the_environment_is_read_at_first_use(), testing::ExitedWithCode(0), "");
}
TEST(ProcessDefault, AnInvalidEnvironmentThrowsEveryTime) {
  EXPECT_EXIT(an_invalid_environment_throws_every_time(), testing::ExitedWithCode(0), "");
}
TEST(ProcessDefault, TheProgramWinsOverTheEnvironment) {
  EXPECT_EXIT(the_program_wins_over_the_environment(), testing::ExitedWithCode(0), "");
}
TEST(ProcessDefault, ReferencesOutliveAReplacement) {
  EXPECT_EXIT(references_outlive_a_replacement(), testing::ExitedWithCode(0), "");
}
TEST(ProcessDefault, AWrongFieldIsNamedAndChangesNothing) {
  EXPECT_EXIT(a_wrong_field_is_named_and_changes_nothing(), testing::ExitedWithCode(0), "");
}
TEST(ProcessDefault, ThreadsAgreeOnOneValue) {
  EXPECT_EXIT(threads_agree_on_one_value(), testing::ExitedWithCode(0), "");
}

}  // namespace
