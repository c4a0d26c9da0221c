#include "config/rules.hpp"

#include <gtest/gtest.h>
#include <net/if.h>

#include <algorithm>
#include <stdexcept>

#include "config/checked.hpp"
#include "config/network.hpp"

namespace {

using smc::config;
using smc::rule;
using smc::transport_kind;
using smc::config_detail::checked;
using smc::config_detail::network;
using smc::config_detail::peer_settings;
using smc::config_detail::rule_subject;
using smc::config_detail::settings_for;

constexpr auto tcp = transport_kind::tcp;
constexpr auto smc_d = transport_kind::smc_d;
constexpr auto smc_r = transport_kind::smc_r;
constexpr auto other = transport_kind::other;
constexpr std::size_t K = 1024;

rule to(const char* peer, transport_kind kind, std::uint16_t port = 0, const char* program = "") {
  return {peer, port, program, {kind}, std::nullopt};
}
rule ring(const char* peer, std::size_t size, std::uint16_t port = 0, const char* program = "") {
  return {peer, port, program, {}, size};
}

struct row {
  const char* what;
  std::vector<rule> rules;
  const char* peer;
  std::uint16_t port;
  std::vector<transport_kind> transports;  // expected
  std::size_t ring_size;                   // expected
};

// What a rule does not say is this:
const std::vector<transport_kind> base = {smc_d, tcp};
constexpr std::size_t base_ring = 128 * K;

// Peers of this host are those in 127.0.0.0/8, ::1 and 10.1.2.3; the program is "server".
const row rows[] = {
    {"no rules", {}, "10.0.0.1", 80, base, base_ring},
    {"an empty rule matches and says nothing", {rule{}}, "10.0.0.1", 80, base, base_ring},
    {"all peers", {to("", tcp)}, "10.0.0.1", 80, {tcp}, base_ring},
    {"all peers, IPv6", {to("", tcp)}, "fd00::1", 80, {tcp}, base_ring},
    {"inside a network", {to("10.0.0.0/8", tcp)}, "10.255.0.1", 80, {tcp}, base_ring},
    {"first of a network", {to("10.0.0.0/8", tcp)}, "10.0.0.0", 80, {tcp}, base_ring},
    {"last of a network", {to("10.0.0.0/8", tcp)}, "10.255.255.255", 80, {tcp}, base_ring},
    {"before a network", {to("10.0.0.0/8", tcp)}, "9.255.255.255", 80, base, base_ring},
    {"behind a network", {to("10.0.0.0/8", tcp)}, "11.0.0.0", 80, base, base_ring},
    {"inside bits of a byte", {to("10.16.0.0/12", tcp)}, "10.31.0.1", 80, {tcp}, base_ring},
    {"outside bits of a byte", {to("10.16.0.0/12", tcp)}, "10.32.0.1", 80, base, base_ring},
    {"prefix 31, inside", {to("10.0.0.2/31", tcp)}, "10.0.0.3", 80, {tcp}, base_ring},
    {"prefix 31, outside", {to("10.0.0.2/31", tcp)}, "10.0.0.4", 80, base, base_ring},
    {"one address", {to("10.0.0.1", tcp)}, "10.0.0.1", 80, {tcp}, base_ring},
    {"its neighbour", {to("10.0.0.1", tcp)}, "10.0.0.0", 80, base, base_ring},
    {"all of IPv4", {to("0.0.0.0/0", tcp)}, "200.1.1.1", 80, {tcp}, base_ring},
    {"all of IPv4 is not IPv6", {to("0.0.0.0/0", tcp)}, "fd00::1", 80, base, base_ring},
    {"all of IPv6", {to("::/0", tcp)}, "fd00::1", 80, {tcp}, base_ring},
    {"all of IPv6 is not IPv4", {to("::/0", tcp)}, "200.1.1.1", 80, base, base_ring},
    {"nor mapped IPv4", {to("::/0", tcp)}, "::ffff:200.1.1.1", 80, base, base_ring},
    {"a mapped peer", {to("10.0.0.0/8", tcp)}, "::ffff:10.0.0.1", 80, {tcp}, base_ring},
    {"a mapped rule", {to("::ffff:10.0.0.0/104", tcp)}, "10.9.9.9", 80, {tcp}, base_ring},
    {"both mapped", {to("::ffff:10.0.0.1", tcp)}, "::ffff:10.0.0.1", 80, {tcp}, base_ring},
    {"all mapped", {to("::ffff:0:0/96", tcp)}, "1.2.3.4", 80, {tcp}, base_ring},
    {"an IPv6 network", {to("fd00:1::/32", tcp)}, "fd00:1:2::3", 80, {tcp}, base_ring},
    {"outside an IPv6 network", {to("fd00:1::/32", tcp)}, "fd00:2::1", 80, base, base_ring},
    {"IPv6 bits of a byte", {to("fd00::/9", tcp)}, "fd7f::1", 80, {tcp}, base_ring},
    {"outside them", {to("fd00::/9", tcp)}, "fd80::1", 80, base, base_ring},
    {"IPv6 loopback", {to("::1", tcp)}, "::1", 80, {tcp}, base_ring},
    {"which is not IPv4's", {to("::1", tcp)}, "127.0.0.1", 80, base, base_ring},
    {"an address written otherwise", {to("0:0::0:1", tcp)}, "::1", 80, {tcp}, base_ring},
    {"link-local on any interface", {to("fe80::/10", tcp)}, "fe80::1%7", 80, {tcp}, base_ring},
    {"on its interface", {to("fe80::1%7", tcp)}, "fe80::1%7", 80, {tcp}, base_ring},
    {"on another interface", {to("fe80::1%7", tcp)}, "fe80::1%8", 80, base, base_ring},
    {"an interface's network", {to("fe80::%7/10", tcp)}, "fe80::9%7", 80, {tcp}, base_ring},
    {"an interface by name", {to("fe80::%lo/10", tcp)}, "fe80::9%1", 80, {tcp}, base_ring},
    {"the interface is more specific",
     {to("fe80::/10", smc_r), to("fe80::%7/10", tcp)},
     "fe80::1%7",
     80,
     {tcp},
     base_ring},
    {"the port", {to("", tcp, 80)}, "10.0.0.1", 80, {tcp}, base_ring},
    {"another port", {to("", tcp, 80)}, "10.0.0.1", 81, base, base_ring},
    {"the program", {to("", tcp, 0, "server")}, "10.0.0.1", 80, {tcp}, base_ring},
    {"another program", {to("", tcp, 0, "serve")}, "10.0.0.1", 80, base, base_ring},
    {"all of them", {to("10.0.0.0/8", tcp, 80, "server")}, "10.0.0.1", 80, {tcp}, base_ring},
    {"all but one", {to("10.0.0.0/8", tcp, 80, "client")}, "10.0.0.1", 80, base, base_ring},
    {"this host", {to("unix", tcp)}, "127.0.0.1", 80, {tcp}, base_ring},
    {"this host's address in a network", {to("unix", tcp)}, "10.1.2.3", 80, {tcp}, base_ring},
    {"not this host", {to("unix", tcp)}, "10.1.2.4", 80, base, base_ring},
    {"the longer prefix wins, behind",
     {to("10.0.0.0/8", tcp), to("10.1.0.0/16", smc_r)},
     "10.1.0.1",
     80,
     {smc_r},
     base_ring},
    {"the longer prefix wins, before",
     {to("10.1.0.0/16", smc_r), to("10.0.0.0/8", tcp)},
     "10.1.0.1",
     80,
     {smc_r},
     base_ring},
    {"where it matches",
     {to("10.1.0.0/16", smc_r), to("10.0.0.0/8", tcp)},
     "10.2.0.1",
     80,
     {tcp},
     base_ring},
    {"all of IPv4 is more specific than all",
     {to("", smc_r), to("0.0.0.0/0", tcp)},
     "1.2.3.4",
     80,
     {tcp},
     base_ring},
    {"the peer before the port",
     {to("", smc_r, 80), to("10.0.0.0/8", tcp)},
     "10.0.0.1",
     80,
     {tcp},
     base_ring},
    {"the port of equal peers",
     {to("10.0.0.0/8", smc_r), to("10.0.0.0/8", tcp, 80)},
     "10.0.0.1",
     80,
     {tcp},
     base_ring},
    {"the port before the program",
     {to("", smc_r, 0, "server"), to("", tcp, 80)},
     "10.0.0.1",
     80,
     {tcp},
     base_ring},
    {"port and program before the port",
     {to("", smc_r, 80), to("", tcp, 80, "server")},
     "10.0.0.1",
     80,
     {tcp},
     base_ring},
    {"the program before the place in the list",
     {to("", smc_r), to("", tcp, 0, "server")},
     "10.0.0.1",
     80,
     {tcp},
     base_ring},
    {"the earlier of equals",
     {to("10.0.0.0/8", tcp), to("10.0.0.0/8", smc_r)},
     "10.0.0.1",
     80,
     {tcp},
     base_ring},
    {"equals may be written differently",
     {to("10.0.0.0/8", tcp), to("::ffff:10.0.0.0/104", smc_r)},
     "10.0.0.1",
     80,
     {tcp},
     base_ring},
    {"this host before all of IPv4",
     {to("0.0.0.0/0", tcp), to("unix", smc_r)},
     "127.0.0.1",
     80,
     {smc_r},
     base_ring},
    {"this host before the network it is in",
     {to("10.0.0.0/8", tcp), to("unix", smc_r)},
     "10.1.2.3",
     80,
     {smc_r},
     base_ring},
    {"a loopback network before this host",
     {to("unix", smc_r), to("127.0.0.0/8", tcp)},
     "127.0.0.1",
     80,
     {tcp},
     base_ring},
    {"one address before this host",
     {to("unix", smc_r), to("10.1.2.3", tcp)},
     "10.1.2.3",
     80,
     {tcp},
     base_ring},
    {"one address before a loopback network",
     {to("127.0.0.0/8", smc_r), to("127.0.0.1", tcp)},
     "127.0.0.1",
     80,
     {tcp},
     base_ring},
    {"a ring leaves the transports", {ring("10.0.0.0/8", 64 * K)}, "10.0.0.1", 80, base, 64 * K},
    {"transports from the wider rule, the ring from the narrower one",
     {to("", tcp), ring("10.0.0.0/8", 64 * K)},
     "10.0.0.1",
     80,
     {tcp},
     64 * K},
    {"and the other way round",
     {ring("", 64 * K), to("10.0.0.0/8", tcp)},
     "10.0.0.1",
     80,
     {tcp},
     64 * K},
    {"the narrower ring",
     {ring("10.0.0.1", 32 * K), ring("10.0.0.0/8", 64 * K)},
     "10.0.0.1",
     80,
     base,
     32 * K},
    {"an order of preference",
     {rule{"10.0.0.0/8", 0, "", {other, smc_r, tcp}, std::nullopt}},
     "10.0.0.1",
     80,
     {other, smc_r, tcp},
     base_ring},
};

rule_subject subject(const row& r) {
  rule_subject s;
  s.peer = asio::ip::make_address(r.peer);
  const auto plain = smc::config_detail::canonical(s.peer);
  s.peer_on_this_host = plain.is_loopback() || plain == asio::ip::make_address("10.1.2.3");
  s.port = r.port;
  s.program = "server";
  return s;
}

TEST(Rules, GiveEachPeerItsSettings) {
  for (const row& r : rows) {
    config settings;
    settings.transports = base;
    settings.ring_size = base_ring;
    settings.rules = r.rules;
    const peer_settings got = settings_for(checked(settings), subject(r));
    EXPECT_EQ(got.transports, r.transports) << r.what;
    EXPECT_EQ(got.ring_size, r.ring_size) << r.what;
    EXPECT_EQ(got.faster_denied, r.transports.front() == tcp) << r.what;
  }
}

TEST(Rules, ThatBringSomethingFasterOrLeaveTcpAloneDenyNothing) {
  config settings;
  settings.transports = {tcp};
  settings.rules = {to("10.0.0.0/8", smc_d), to("11.0.0.0/8", tcp)};
  const auto at = [&settings](const char* peer) {
    return settings_for(settings, {asio::ip::make_address(peer), false, 80, "server"});
  };
  EXPECT_FALSE(at("10.0.0.1").faster_denied);
  EXPECT_EQ(at("10.0.0.1").transports, std::vector{smc_d});
  EXPECT_FALSE(at("11.0.0.1").faster_denied);
  EXPECT_FALSE(at("12.0.0.1").faster_denied);
}

std::string error_of(const rule& wrong) {
  config settings;
  settings.rules = {rule{}, wrong};
  try {
    (void)checked(settings);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return {};
}

TEST(Rules, WrongOnesAreErrorsThatNameRuleFieldValueAndWhatIsRight) {
  const auto expect = [](const rule& wrong, const std::string& field, const std::string& value,
                         const std::string& right) {
    const std::string text = error_of(wrong);
    const std::string start =
        "smc::config::rules[1]." + field + "=\"" + value + "\": right would be ";
    ASSERT_EQ(text.substr(0, start.size()), start);
    EXPECT_NE(text.find(right, start.size()), std::string::npos) << text;
  };
  for (const char* peer :
       {"10.0.0", "10.0.0.256", "10.0.0.0.0/8", "ten", "localhost", "Unix", " 10.0.0.1",
        "10.0.0.1 ", "::1::", "/8", "[::1]", "10.0.0.1:80", "1.2.3.4.5", ":"}) {
    expect({peer, 0, "", {}, {}}, "peer", peer, "10.0.0.0/8");
  }
  for (const char* peer : {"10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8/8", "10.0.0.0/ 8",
                           "10.0.0.0/255.0.0.0", "10.0.0.0/99999999999"}) {
    expect({peer, 0, "", {}, {}}, "peer", peer, "a prefix from 0 to 32");
  }
  expect({"::/129", 0, "", {}, {}}, "peer", "::/129", "a prefix from 0 to 128");
  expect({"::ffff:10.0.0.0/8", 0, "", {}, {}}, "peer", "::ffff:10.0.0.0/8", "from 96 to 128");
  expect({"10.0.0.1/8", 0, "", {}, {}}, "peer", "10.0.0.1/8", "10.0.0.0/8,");
  expect({"::ffff:10.0.0.1/104", 0, "", {}, {}}, "peer", "::ffff:10.0.0.1/104", "10.0.0.0/8,");
  expect({"fd00::1/64", 0, "", {}, {}}, "peer", "fd00::1/64", "fd00::/64,");
  expect({"fe80::1%nowhere0", 0, "", {}, {}}, "peer", "fe80::1%nowhere0", "network interface");
  expect({"fe80::1%", 0, "", {}, {}}, "peer", "fe80::1%", "network interface");
  expect({"fe80::1%0", 0, "", {}, {}}, "peer", "fe80::1%0", "network interface");
  expect({"fd00::1%1", 0, "", {}, {}}, "peer", "fd00::1%1", "link-local");
  expect({"10.0.0.1%1", 0, "", {}, {}}, "peer", "10.0.0.1%1", "link-local");
  expect({"", 0, "/usr/bin/server", {}, {}}, "program", "/usr/bin/server", "base name");
  expect({"", 0, "", {smc_d, smc_d}, {}}, "transports", "smc-d,smc-d", "once");
  expect({"", 0, "", {tcp, static_cast<transport_kind>(9)}, {}}, "transports", "tcp,9", "smc-r");
  expect({"", 0, "", {static_cast<transport_kind>(-1)}, {}}, "transports", "-1", "smc-r");
  expect({"", 0, "", {}, 16 * K - 1}, "ring_size", "16383", "16K to 512M");
  expect({"", 0, "", {}, (std::size_t{512} << 20) + 1}, "ring_size", "536870913", "16K to 512M");
}

TEST(Rules, UnknownTransportsAreWrongInTheConfigItselfToo) {
  config settings;
  settings.transports = {static_cast<transport_kind>(7)};
  EXPECT_THROW((void)checked(settings), std::invalid_argument);
}

TEST(Rules, NamesOfInterfacesBecomeTheirNumbersSoThatTheyMayGo) {
  const std::string lo = std::to_string(::if_nametoindex("lo"));
  config settings;
  settings.rules = {to("fe80::%lo/10", tcp), to("fe80::1%lo", tcp), to("fe80::%7/10", tcp)};
  const auto rules = checked(settings).rules;
  EXPECT_EQ(rules[0].peer, "fe80::%" + lo + "/10");
  EXPECT_EQ(rules[1].peer, "fe80::1%" + lo);
  EXPECT_EQ(rules[2].peer, "fe80::%7/10");
}

TEST(Rules, RingSizesAreRoundedUp) {
  config settings;
  settings.rules = {ring("", 100'000)};
  EXPECT_EQ(checked(settings).rules.front().ring_size, 131'072u);
}

TEST(Rules, TheProgramIsTheExecutablesBaseName) {
  EXPECT_EQ(smc::config_detail::program_name(), "test_framework_config");
}

}  // namespace
