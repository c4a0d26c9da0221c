#include "smcperf/options.hpp"

#include <gtest/gtest.h>

namespace smcperf {
namespace {

using namespace std::chrono_literals;

client_options client(const std::vector<std::string>& arguments) {
  const command parsed = parse_command_line(arguments);
  if (const auto* refused = std::get_if<refusal>(&parsed)) throw std::runtime_error(refused->text);
  return std::get<client_options>(parsed);
}

refusal refused(const std::vector<std::string>& arguments) {
  const command parsed = parse_command_line(arguments);
  const auto* r = std::get_if<refusal>(&parsed);
  if (r == nullptr) throw std::runtime_error("accepted");
  return *r;
}

TEST(Options, AClientOnlyNeedsAKindAndAHost) {
  const auto o = client({"latency", "example"});
  EXPECT_EQ(o.kind, test_kind::latency);
  EXPECT_EQ(o.host, "example");
  EXPECT_EQ(o.port, default_port);
  EXPECT_EQ(o.size, 100u);
  EXPECT_EQ(o.time, 5s);
  EXPECT_EQ(o.count, 0u);
  EXPECT_EQ(o.connections, 1u);
  EXPECT_EQ(o.transport, transport_choice::automatic);
  EXPECT_EQ(o.mode, message_mode::some);
  EXPECT_FALSE(o.spin || o.ring || o.cpu || o.json || o.bare);
}

TEST(Options, EveryKindHasItsName) {
  EXPECT_EQ(client({"stream", "h"}).kind, test_kind::stream);
  EXPECT_EQ(client({"stream", "h"}).size, 65536u);
  EXPECT_EQ(client({"rate", "h"}).kind, test_kind::rate);
  EXPECT_EQ(client({"rr", "h"}).kind, test_kind::rr);
  EXPECT_EQ(client({"connect", "h"}).kind, test_kind::connect);
}

TEST(Options, EveryOptionArrives) {
  const auto o =
      client({"stream",     "h",          "--port",        "7",     "--threads",   "2",
              "--ring",     "256K",       "--transport",   "smc-d", "--spin",      "50us",
              "--executor", "io_context", "--cpu",         "1",     "--size",      "1M",
              "--time",     "200ms",      "--count",       "9",     "--warmup",    "1ms",
              "--interval", "2s",         "--connections", "3",     "--zero-copy", "--json"});
  EXPECT_EQ(o.port, 7);
  EXPECT_EQ(o.threads, 2u);
  EXPECT_EQ(o.ring, 262144u);
  EXPECT_EQ(o.transport, transport_choice::smc_d);
  ASSERT_TRUE(o.spin);
  EXPECT_EQ(o.spin->spin, smc::spin_policy::fixed);
  EXPECT_EQ(o.spin->spin_time, 50us);
  EXPECT_EQ(o.executor, executor_kind::io_context);
  EXPECT_EQ(o.cpu, 1);
  EXPECT_EQ(o.size, 1u << 20);
  EXPECT_EQ(o.time, 200ms);
  EXPECT_EQ(o.count, 9u);
  EXPECT_EQ(o.warmup, 1ms);
  EXPECT_EQ(o.interval, 2s);
  EXPECT_EQ(o.connections, 3u);
  EXPECT_EQ(o.mode, message_mode::zero_copy);
  EXPECT_TRUE(o.json);
  const auto c = client({"connect", "h", "--in-flight", "4", "--request"});
  EXPECT_EQ(c.in_flight, 4u);
  EXPECT_TRUE(c.request);
  EXPECT_EQ(client({"rr", "h", "--whole"}).mode, message_mode::whole);
}

TEST(Options, TheServerHasItsOwn) {
  const auto parsed =
      parse_command_line({"server", "--port", "0", "--bind", "::", "--one-off", "--spin", "never"});
  const auto& o = std::get<server_options>(parsed);
  EXPECT_EQ(o.port, 0);
  EXPECT_EQ(o.bind, "::");
  EXPECT_TRUE(o.one_off);
  EXPECT_EQ(o.spin->spin, smc::spin_policy::never);
}

TEST(Options, SpinKnowsItsTwoWords) {
  EXPECT_EQ(client({"rr", "h", "--spin", "automatic"}).spin->spin, smc::spin_policy::automatic);
  EXPECT_EQ(client({"rr", "h", "--spin", "never"}).spin->spin, smc::spin_policy::never);
}

TEST(Options, WhatIsWrongIsNamedAndExitsWithTwo) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong{
      {{}, "subcommand"},
      {{"juggle", "h"}, "subcommand"},
      {{"latency"}, "host"},
      {{"latency", "h", "--size", "0"}, "'0'"},
      {{"latency", "h", "--size", "2G"}, "'2G'"},
      {{"latency", "h", "--size", "64KB"}, "'64KB'"},
      {{"latency", "h", "--time", "soon"}, "'soon'"},
      {{"latency", "h", "--transport", "telepathy"}, "tcp, smc-d, auto"},
      {{"latency", "h", "--spin", "often"}, "'often'"},
      {{"latency", "h", "--threads", "0"}, "--threads"},
      {{"latency", "h", "--connections", "0"}, "--connections"},
      {{"latency", "h", "--port", "65536"}, "--port"},
      {{"latency", "h", "--whole", "--zero-copy"}, "--zero-copy"},
      {{"latency", "h", "--request"}, "--request"},
      {{"latency", "h", "--bare", "--zero-copy"}, "--bare"},
      {{"latency", "h", "--bare", "--transport", "smc-d"}, "--bare"},
      {{"connect", "h", "--connections", "3"}, "--connections"},
  };
  for (const auto& [arguments, named] : wrong) {
    const refusal r = refused(arguments);
    EXPECT_EQ(r.exit_code, 2) << named;
    EXPECT_NE(r.text.find(named), std::string::npos) << named << " is not in: " << r.text;
  }
}

TEST(Options, HelpIsNoMistake) {
  for (const auto& r : {refused({"--help"}), refused({"latency", "--help"})}) {
    EXPECT_EQ(r.exit_code, 0);
    EXPECT_NE(r.text.find("Usage"), std::string::npos);
  }
}

TEST(Options, TheConfigurationFollowsTheTransportAskedFor) {
  endpoint_options o;
  EXPECT_EQ(make_config(o).transports, smc::config::process_default().transports);
  o.transport = transport_choice::tcp;
  EXPECT_EQ(make_config(o).transports, std::vector{smc::transport_kind::tcp});
  o.transport = transport_choice::smc_d;
  EXPECT_EQ(make_config(o).transports.front(), smc::transport_kind::smc_d);
  EXPECT_EQ(make_config(o).fallback, smc::fallback_policy::allow);
  o.ring = 1 << 20;
  EXPECT_EQ(make_config(o).ring_size, 1u << 20);
}

}  // namespace
}  // namespace smcperf
