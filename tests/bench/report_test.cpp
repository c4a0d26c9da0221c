#include "smcperf/report.hpp"

#include <gtest/gtest.h>

namespace smcperf {
namespace {

row latency_row() {
  row r;
  r.asked.kind = test_kind::latency;
  r.asked.host = "h";
  r.asked.transport = transport_choice::smc_d;
  r.tally.count(transport_choice::smc_d, "smc-d", {});
  r.ring = 128 << 10;
  r.seconds = 2;
  r.operations = 1000;
  r.bytes = 200'000;
  for (std::uint64_t i = 1; i <= 100; ++i) r.latencies.record(i);
  r.client = {1'500'000, 500'000};
  r.server = {3'000'000, 0};
  r.where.before = {distance::near, 150};
  r.where.after = {distance::near, 160};
  return r;
}

TEST(Report, ARowSaysEverythingThatTheSchemaNames) {
  const auto json = to_json(latency_row());
  EXPECT_EQ(json["schema"], "smcperf-1");
  EXPECT_EQ(json["kind"], "latency");
  EXPECT_EQ(json["size"], 100);
  EXPECT_EQ(json["mode"], "some");
  EXPECT_EQ(json["sockets"], "smc");
  EXPECT_EQ(json["executor"], "event_loop");
  EXPECT_EQ(json["transport_asked"], "smc-d");
  EXPECT_EQ(json["transport"], "smc-d");
  EXPECT_EQ(json["transports"]["smc-d"], 1);
  EXPECT_EQ(json["connections"], 1);
  EXPECT_EQ(json["connections_asked"], 1);
  EXPECT_FALSE(json.contains("shortfall"));
  EXPECT_EQ(json["ring"], 131072);
  EXPECT_EQ(json["operations_per_second"], 500.0);
  EXPECT_EQ(json["bytes_per_second"], 100'000.0);
  EXPECT_DOUBLE_EQ(json["latency_us"]["p50"], 0.050);
  EXPECT_DOUBLE_EQ(json["latency_us"]["p99"], 0.099);
  EXPECT_DOUBLE_EQ(json["latency_us"]["max"], 0.100);
  EXPECT_DOUBLE_EQ(json["cpu_us_per_operation"]["client"], 2.0);
  EXPECT_DOUBLE_EQ(json["cpu_us_per_operation"]["server"], 3.0);
  EXPECT_DOUBLE_EQ(json["cpu_us_per_operation"]["both"], 5.0);
  EXPECT_EQ(json["topology"]["label"], "near");
  EXPECT_EQ(json["topology"]["changed"], false);
}

TEST(Report, AChangeOfTopologyMarksTheRow) {
  row r = latency_row();
  r.where.after = {distance::far, 450};
  EXPECT_EQ(to_json(r)["topology"]["changed"], true);
  EXPECT_NE(to_table(r).find("CHANGED to far"), std::string::npos);
}

TEST(Report, KindsWithoutLatencySayNull) {
  row r = latency_row();
  r.asked.kind = test_kind::rate;
  r.latencies = {};
  EXPECT_TRUE(to_json(r)["latency_us"].is_null());
  EXPECT_EQ(to_table(r).find("p50"), std::string::npos);
}

TEST(Report, SeveralTransportsAreMixedAndFallbacksCounted) {
  row r = latency_row();
  const auto refused = std::make_error_code(std::errc::connection_refused);
  r.tally.count(transport_choice::automatic, "tcp", refused);
  r.tally.count(transport_choice::automatic, "tcp", refused);
  const auto json = to_json(r);
  EXPECT_EQ(json["transport"], "mixed");
  EXPECT_EQ(json["connections"], 3);
  EXPECT_EQ(json["fallback_reasons"][refused.message()], 2);
}

TEST(Report, FewerConnectionsThanAskedForAreNotHidden) {
  row r = latency_row();
  r.asked.connections = 10;
  r.shortfall = "Too many open files";
  EXPECT_EQ(to_json(r)["connections"], 1);
  EXPECT_EQ(to_json(r)["connections_asked"], 10);
  EXPECT_EQ(to_json(r)["shortfall"], "Too many open files");
  EXPECT_NE(to_table(r).find("1 connection of 10 asked for (Too many open files)"),
            std::string::npos);
}

TEST(Report, ARunThatFellBackSaysWhyAndWhatHelps) {
  const transport_not_had e(transport_choice::smc_d, "tcp",
                            smc::make_error_code(smc::reason::not_offered));
  const auto json = to_json(latency_row().asked, e);
  EXPECT_EQ(json["schema"], "smcperf-1");
  EXPECT_EQ(json["transport"], "tcp");
  EXPECT_EQ(json["error"]["reason"], smc::make_error_code(smc::reason::not_offered).message());
  EXPECT_EQ(json["error"]["remedy"], smc::remedy(smc::reason::not_offered));
}

TEST(TransportTally, OnlyWhatWasAskedForWillDo) {
  transport_tally tally;
  EXPECT_NO_THROW(tally.count(transport_choice::tcp, "tcp", {}));
  EXPECT_NO_THROW(tally.count(transport_choice::automatic, "smc-r", {}));
  EXPECT_THROW(tally.count(transport_choice::smc_d, "tcp", {}), transport_not_had);
  EXPECT_THROW(tally.count(transport_choice::tcp, "smc-d", {}), transport_not_had);
  EXPECT_EQ(tally.connections(), 4u);
}

TEST(TransportTally, MergingAddsEverything) {
  transport_tally a, b;
  EXPECT_EQ(a.name(), "none");
  b.count(transport_choice::automatic, "tcp", std::make_error_code(std::errc::timed_out));
  a.merge(b);
  a.merge(b);
  EXPECT_EQ(a.name(), "tcp");
  EXPECT_EQ(a.connections(), 2u);
  EXPECT_EQ(a.fallbacks().begin()->second, 2u);
}

}  // namespace
}  // namespace smcperf
