#include "negotiation/envelope.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace smc::negotiation {
namespace {

using bytes = std::vector<std::byte>;
using std::chrono::milliseconds;

endpoint at(const char* address, std::uint16_t port) {
  return endpoint(asio::ip::tcp::endpoint(asio::ip::make_address(address), port));
}

bytes some_bytes(std::size_t n) { return bytes(n, std::byte{0x5a}); }

proposal full_proposal() {
  proposal p;
  p.attempt = 0x0102030405060708;
  p.connection = {at("127.0.0.1", 40000), at("127.0.0.1", 80)};
  p.patience = milliseconds(1000);
  p.clc = some_bytes(224);
  p.parts = {{"smc-d", some_bytes(100)}, {"other", {}}};
  return p;
}

std::vector<message> one_of_each() {
  answer a{7, some_bytes(130), "smc-d", some_bytes(1024), 3};
  return {intent{1, at("fe80::1%3", 443), 9},       full_proposal(),      accept{a}, confirm{a},
          decline_because(5, reason::memory_limit), withdraw{UINT64_MAX}, retire{}};
}

TEST(Envelope, MessagesComeBackAsTheyWent) {
  for (const message& m : one_of_each()) {
    const bytes packet = encode(m);
    const auto back = decode(packet);
    ASSERT_TRUE(back) << m.index();
    EXPECT_EQ(back->index(), m.index());
    EXPECT_TRUE(*back == m) << m.index();
  }
}

TEST(Envelope, LayoutIsFixed) {
  bytes packet;
  encode(withdraw{0x1122}, packet, {0x30405, true});
  const auto byte = [&](std::size_t i) { return std::to_integer<int>(packet.at(i)); };
  ASSERT_EQ(packet.size(), 24U);
  EXPECT_EQ(std::string({static_cast<char>(byte(0)), static_cast<char>(byte(1)),
                         static_cast<char>(byte(2)), static_cast<char>(byte(3))}),
            "smc?");
  EXPECT_EQ(byte(4), 1);
  EXPECT_EQ(byte(5), 1);
  EXPECT_EQ(byte(6), 6);
  EXPECT_EQ(byte(7), 1) << "a mailbox";
  EXPECT_EQ(byte(8), 24);
  EXPECT_EQ(byte(11), 0);
  EXPECT_EQ(byte(12), 5);
  EXPECT_EQ(byte(14), 3);
  EXPECT_EQ(byte(15), 0);
  EXPECT_EQ(byte(16), 0x22);
  EXPECT_EQ(byte(17), 0x11);
  EXPECT_EQ(header_of(packet).number, 0x30405U);
  EXPECT_TRUE(header_of(packet).introduces_mailbox);
}

TEST(Envelope, BufferIsReplacedNotAppendedTo) {
  bytes buffer = some_bytes(100);
  encode(retire{}, buffer);
  EXPECT_EQ(buffer, encode(retire{}));
}

TEST(Envelope, NewerPeerThatUnderstandsUsIsRead) {
  bytes packet = encode(withdraw{3});
  packet[4] = std::byte{9};
  packet.insert(packet.end(), 4, std::byte{1});
  packet[8] = static_cast<std::byte>(packet.size());
  const auto m = decode(packet);
  ASSERT_TRUE(m);
  EXPECT_EQ(std::get<withdraw>(*m).attempt, 3U);
}

TEST(Envelope, NewerPeerThatDoesNotIsAVersionMismatch) {
  bytes packet = encode(withdraw{3});
  packet[4] = std::byte{9};
  packet[5] = std::byte{2};
  EXPECT_EQ(decode(packet).error(), reason::version_mismatch);
}

TEST(Envelope, EverythingElseIsAProtocolError) {
  const auto broken = [](const message& m, auto&& change) {
    bytes packet = encode(m);
    change(packet);
    const auto back = decode(packet);
    return !back && back.error() == reason::protocol_error;
  };
  const auto set = [](std::size_t at, int value) {
    return [=](bytes& p) { p.at(at) = static_cast<std::byte>(value); };
  };
  const message p = full_proposal();
  EXPECT_TRUE(broken(p, set(0, 0))) << "magic";
  EXPECT_TRUE(broken(p, set(4, 0))) << "version 0";
  EXPECT_TRUE(broken(p, set(5, 2))) << "understands only newer than itself";
  EXPECT_TRUE(broken(p, set(6, 0))) << "type 0";
  EXPECT_TRUE(broken(p, set(6, 8))) << "type 8";
  EXPECT_TRUE(broken(p, set(6, 1))) << "bytes behind an intent";
  EXPECT_TRUE(broken(p, set(8, 1))) << "length";
  EXPECT_TRUE(broken(p, [](bytes& b) { b.push_back({}); })) << "longer than it says";
  EXPECT_TRUE(broken(p, [](bytes& b) { b.pop_back(); })) << "shorter than it says";
  EXPECT_TRUE(broken(p, [](bytes& b) { b.clear(); })) << "empty packet";
  EXPECT_TRUE(broken(p, [](bytes& b) { b.resize(8193); })) << "too long a packet";

  const std::size_t clc_at = 16 + 8 + 22 + 22 + 4;
  const std::size_t parts_at = clc_at + 2 + 224;
  EXPECT_TRUE(broken(p, set(clc_at + 1, 3))) << "CLC beyond its limit";
  EXPECT_TRUE(broken(p, set(parts_at, 3))) << "one part too many";
  EXPECT_TRUE(broken(p, set(parts_at, 1))) << "one part too few";
  EXPECT_TRUE(broken(p, set(parts_at, 200))) << "parts beyond their limit";
  EXPECT_TRUE(broken(p, set(parts_at + 1, 0))) << "no name";
  EXPECT_TRUE(broken(p, set(parts_at + 1, 16))) << "name too long";
  EXPECT_TRUE(broken(p, set(parts_at + 2, ' '))) << "blank in a name";
}

TEST(Envelope, OneTransportProposedTwiceIsAProtocolError) {
  proposal p = full_proposal();
  p.parts[1].transport = "smc-d";
  EXPECT_EQ(decode(encode(p)).error(), reason::protocol_error);
}

TEST(Envelope, LimitsHoldForTheSenderToo) {
  proposal p = full_proposal();
  p.parts.assign(9, {"x", {}});
  EXPECT_THROW(encode(p), std::length_error);
  p = full_proposal();
  p.clc = some_bytes(653);
  EXPECT_THROW(encode(p), std::length_error);
  EXPECT_THROW(encode(accept{{1, {}, "x", some_bytes(1025), 0}}), std::length_error);
  EXPECT_THROW(encode(accept{{1, {}, "", {}, 0}}), std::invalid_argument);
  EXPECT_THROW(encode(accept{{1, {}, "sixteen-letters-", {}, 0}}), std::invalid_argument);
  p = full_proposal();
  p.parts.assign(8, {"x", some_bytes(1024)});
  EXPECT_THROW(encode(p), std::length_error) << "8 KiB for the whole";
}

TEST(Envelope, PatienceIsKeptInItsRange) {
  proposal p = full_proposal();
  p.patience = milliseconds(-5);
  EXPECT_EQ(std::get<proposal>(*decode(encode(p))).patience.count(), 0);
  p.patience = milliseconds::max();
  EXPECT_EQ(std::get<proposal>(*decode(encode(p))).patience.count(), UINT32_MAX);
}

TEST(Envelope, DeclineCarriesItsReason) {
  EXPECT_EQ(reason_of(decline_because(1, reason::descriptor_limit)), reason::descriptor_limit);
  EXPECT_EQ(reason_of(decline{1, some_bytes(44)}), reason::protocol_error);
}

TEST(Endpoint, MappedIpv4IsIpv4) {
  EXPECT_EQ(at("127.0.0.1", 80), at("::ffff:127.0.0.1", 80));
  EXPECT_NE(at("127.0.0.1", 80), at("127.0.0.1", 81));
  EXPECT_NE(at("127.0.0.1", 80), at("::1", 80));
  EXPECT_EQ(at("::ffff:127.0.0.1", 80).to_asio().address().to_string(), "127.0.0.1");
  EXPECT_EQ(to_string(at("::1", 80)), "[::1]:80");
}

TEST(Endpoint, ScopeCountsForLinkLocalAddressesOnly) {
  const endpoint::address_bytes local{0xfe, 0x80};
  const endpoint::address_bytes global{0x20, 0x01};
  EXPECT_NE(endpoint(local, 1, 80), endpoint(local, 2, 80));
  EXPECT_EQ(endpoint(global, 1, 80), endpoint(global, 2, 80));
  EXPECT_EQ(endpoint(local, 7, 80).to_asio().address().to_v6().scope_id(), 7U);
}

}  // namespace
}  // namespace smc::negotiation
