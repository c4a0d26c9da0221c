#include "support/environment.hpp"

#include <gtest/gtest.h>

#include <list>
#include <smc/config.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using smc::config;
using smc::fallback_policy;
using smc::spin_policy;
using smc::transport_kind;
using smc::test::environment_variable;

constexpr const char* all_variables[] = {
    "SMC_TRANSPORTS",        "SMC_FALLBACK",        "SMC_RING",
    "SMC_BUFFER_MEMORY",     "SMC_MAP_SEND_BUFFER", "SMC_SPIN",
    "SMC_HANDSHAKE_TIMEOUT", "SMC_CLC_TIMEOUT",     "SMC_DETECT_TIMEOUT",
    "SMC_RENDEZVOUS",        "SMC_ALLOWED_UIDS",    "SMC_EID"};

// Starts from an environment without any variable of ours.
class Environment : public testing::Test {
 protected:
  Environment() {
    for (const char* name : all_variables) saved_.emplace_back(name, std::nullopt);
  }

  static config with(const char* name, const std::string& value) {
    const environment_variable set(name, value);
    return config::from_environment();
  }

  static std::string error_of(const char* name, const std::string& value) {
    try {
      (void)with(name, value);
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return {};
  }

 private:
  std::list<environment_variable> saved_;
};

TEST_F(Environment, WithoutVariablesGivesTheDefaults) {
  const config c = config::from_environment();
  EXPECT_EQ(c, config{});
  EXPECT_EQ(c.transports,
            (std::vector{transport_kind::smc_d, transport_kind::smc_r, transport_kind::tcp}));
  EXPECT_EQ(c.fallback, fallback_policy::allow);
  EXPECT_EQ(c.ring_size, 131072u);
  EXPECT_EQ(c.buffer_memory_limit, 0u);
  EXPECT_TRUE(c.map_send_buffer);
  EXPECT_EQ(c.spin, spin_policy::automatic);
  EXPECT_EQ(c.spin_time, 50us);
  EXPECT_EQ(c.handshake_timeout, 1s);
  EXPECT_EQ(c.clc_timeout, 6s);
  EXPECT_EQ(c.detect_timeout, 200ms);
  EXPECT_TRUE(c.rendezvous_directory.empty());
  EXPECT_TRUE(c.allowed_uids.empty());
  EXPECT_TRUE(c.eids.empty());
  EXPECT_TRUE(c.rules.empty());
}

TEST_F(Environment, EachVariableSetsItsFieldAndNoOther) {
  const auto expect = [](const char* name, const std::string& value, auto&& set) {
    config expected;
    set(expected);
    EXPECT_EQ(with(name, value), expected) << name << "=" << value;
    EXPECT_NE(expected, config{}) << name << "=" << value << " shows nothing: it is the default";
  };
  expect("SMC_TRANSPORTS", "tcp", [](config& c) { c.transports = {transport_kind::tcp}; });
  expect("SMC_TRANSPORTS", "tcp,smc-d,other", [](config& c) {
    c.transports = {transport_kind::tcp, transport_kind::smc_d, transport_kind::other};
  });
  expect("SMC_FALLBACK", "forbid", [](config& c) { c.fallback = fallback_policy::forbid; });
  expect("SMC_RING", "256K", [](config& c) { c.ring_size = 262144; });
  expect("SMC_RING", "1m", [](config& c) { c.ring_size = 1048576; });
  expect("SMC_BUFFER_MEMORY", "2G",
         [](config& c) { c.buffer_memory_limit = std::size_t{2} << 30; });
  expect("SMC_MAP_SEND_BUFFER", "0", [](config& c) { c.map_send_buffer = false; });
  expect("SMC_SPIN", "never", [](config& c) { c.spin = spin_policy::never; });
  expect("SMC_SPIN", "120us", [](config& c) {
    c.spin = spin_policy::fixed;
    c.spin_time = 120us;
  });
  expect("SMC_HANDSHAKE_TIMEOUT", "20s", [](config& c) { c.handshake_timeout = 20s; });
  expect("SMC_CLC_TIMEOUT", "250ms", [](config& c) { c.clc_timeout = 250ms; });
  expect("SMC_DETECT_TIMEOUT", "1500us", [](config& c) { c.detect_timeout = 2ms; });
  expect("SMC_RENDEZVOUS", "/run/smc", [](config& c) { c.rendezvous_directory = "/run/smc"; });
  expect("SMC_ALLOWED_UIDS", "0,1000", [](config& c) { c.allowed_uids = {0, 1000}; });
  expect("SMC_EID", "EXAMPLE.UEID-1,2ND", [](config& c) { c.eids = {"EXAMPLE.UEID-1", "2ND"}; });
}

TEST_F(Environment, DefaultsCanBeSpelledOut) {
  EXPECT_EQ(with("SMC_TRANSPORTS", "smc-d,smc-r,tcp"), config{});
  EXPECT_EQ(with("SMC_FALLBACK", "allow"), config{});
  EXPECT_EQ(with("SMC_RING", "131072"), config{});
  EXPECT_EQ(with("SMC_BUFFER_MEMORY", "automatic"), config{});
  EXPECT_EQ(with("SMC_BUFFER_MEMORY", "0"), config{});
  EXPECT_EQ(with("SMC_MAP_SEND_BUFFER", "1"), config{});
  EXPECT_EQ(with("SMC_SPIN", "automatic"), config{});
  EXPECT_EQ(with("SMC_RENDEZVOUS", ""), config{});
  EXPECT_EQ(with("SMC_ALLOWED_UIDS", ""), config{});
  EXPECT_EQ(with("SMC_EID", ""), config{});
}

TEST_F(Environment, RingsAreRoundedUpToAPowerOfTwoBetweenTheirLimits) {
  EXPECT_EQ(with("SMC_RING", "16K").ring_size, 16384u);
  EXPECT_EQ(with("SMC_RING", "16385").ring_size, 32768u);
  EXPECT_EQ(with("SMC_RING", "100K").ring_size, 131072u);
  EXPECT_EQ(with("SMC_RING", "300M").ring_size, std::size_t{512} << 20);
  EXPECT_EQ(with("SMC_RING", "512M").ring_size, std::size_t{512} << 20);
}

TEST_F(Environment, AWrongValueIsAnErrorThatNamesVariableValueAndWhatIsRight) {
  const std::vector<std::pair<const char*, std::vector<std::string>>> wrong = {
      {"SMC_TRANSPORTS",
       {"", ",", "smc-d,", ",tcp", "smc-d,telepathy", "tcp,tcp", "TCP", "smc-d, tcp", "smc_d"}},
      {"SMC_FALLBACK", {"", "yes", "Allow", "1"}},
      {"SMC_RING",
       {"", "0", "K", "16383", "8K", "513M", "1G", "-1", "+128K", " 128K", "128 K", "128KB",
        "12.5K", "0x10000", "99999999999999999999", "18014398509481985K", "17179869184G"}},
      {"SMC_BUFFER_MEMORY", {"", "auto", "1T", "-5", "99999999999G"}},
      {"SMC_MAP_SEND_BUFFER", {"", "2", "true", "on", "01"}},
      {"SMC_SPIN", {"", "always", "50", "0us", "2s", "-5us", "us", "9223372036854775807s"}},
      {"SMC_HANDSHAKE_TIMEOUT",
       {"", "0s", "1", "1m", "1 s", "-1s", "3601s", "1.5s", "99999999999999999999s"}},
      {"SMC_CLC_TIMEOUT", {"", "six", "0ms"}},
      {"SMC_DETECT_TIMEOUT", {"", "200", "0us"}},
      {"SMC_RENDEZVOUS", {"run/smc", "/" + std::string(56, 'x')}},
      {"SMC_ALLOWED_UIDS", {"root", "1000,", ",1", "-1", "4294967295", "99999999999", "1000 1001"}},
      {"SMC_EID", {",", "lower", "-A", ".A", "A,", "A_B", std::string(33, 'A'), "A,B,C,D,E"}},
  };
  for (const auto& [name, values] : wrong) {
    for (const auto& value : values) {
      const std::string text = error_of(name, value);
      EXPECT_NE(text.find(name), std::string::npos) << name << "=\"" << value << "\": " << text;
      EXPECT_NE(text.find("\"" + value + "\""), std::string::npos) << text;
      const auto right = text.find("right would be ");
      ASSERT_NE(right, std::string::npos) << text;
      EXPECT_GT(text.size(), right + 20) << text;
    }
  }
}

TEST_F(Environment, UnknownVariablesAreIgnored) {
  const environment_variable unknown("SMC_NO_SUCH_THING", "x");
  EXPECT_EQ(config::from_environment(), config{});
}

}  // namespace
