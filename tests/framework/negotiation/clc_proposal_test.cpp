#include "negotiation/clc_proposal.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "negotiation/clc.hpp"
#include "vectors/vectors.hpp"

namespace smc::clc {
namespace {

using test::bytes;
using test::vector;

const eid example = *eid::from_text("EXAMPLE.UEID-1");
const smcd_gid loopback{0x1111111122222222, 0x3333333344444444, smcd_gid::loopback_chid};

proposal smcd_proposal() {
  proposal p;
  p.v2x.emplace();
  p.v2x->eids = {example};
  p.v2x->smcd.emplace();
  p.v2x->smcd->gids = {loopback};
  return p;
}

// Offsets in the encoding of smcd_proposal.
constexpr std::size_t v2_offset_at = 50;
constexpr std::size_t extension_at = 80;
constexpr std::size_t smcd_extension_at = extension_at + 40 + 32;

TEST(ClcProposal, DecodesSmcRVersion1OverIpv4) {
  const auto p = decode_proposal(vector("prop_v1_r"));
  ASSERT_TRUE(p);
  EXPECT_EQ(p->version, 1);
  EXPECT_TRUE(p->offers_r_v1());
  EXPECT_FALSE(p->offers_d_v1());
  EXPECT_FALSE(p->offers_r_v2());
  EXPECT_FALSE(p->offers_d_v2());
  ASSERT_TRUE(p->prefixes);
  EXPECT_EQ(p->prefixes->subnet, 0xc0000200U);
  EXPECT_EQ(p->prefixes->subnet_length, 24);
  EXPECT_EQ(p->roce_mac[0], std::byte{0x02});
  EXPECT_EQ(p->roce_mac[5], std::byte{0x01});
}

TEST(ClcProposal, DecodesIpv6Prefixes) {
  const auto p = decode_proposal(vector("prop_v1_r6"));
  ASSERT_TRUE(p);
  ASSERT_EQ(p->prefixes->ipv6.size(), 1U);
  EXPECT_EQ(p->prefixes->ipv6[0].length, 64);
  EXPECT_EQ(p->prefixes->ipv6[0].address[0], std::byte{0x20});
}

TEST(ClcProposal, DecodesBothPathsOfVersion1) {
  const auto p = decode_proposal(vector("prop_v1_b"));
  ASSERT_TRUE(p);
  EXPECT_TRUE(p->offers_r_v1());
  EXPECT_TRUE(p->offers_d_v1());
  ASSERT_TRUE(p->native_ism);
  EXPECT_EQ(p->native_ism->gid, 0x0a0b0c0d00000001U);
  EXPECT_EQ(p->native_ism->chid, 0x07c0);
}

TEST(ClcProposal, DecodesVersion2ThatOffersVersion1Only) {
  const auto p = decode_proposal(vector("prop_lnx_r"));
  ASSERT_TRUE(p);
  EXPECT_EQ(p->version, 2);
  EXPECT_TRUE(p->offers_r_v1());
  EXPECT_FALSE(p->offers_r_v2());
  EXPECT_FALSE(p->v2x);
}

TEST(ClcProposal, DecodesSmcRVersion2) {
  for (const char* name : {"prop_v2_r", "prop_v2_rn"}) {
    const auto p = decode_proposal(vector(name));
    ASSERT_TRUE(p) << name;
    EXPECT_EQ(p->offers_r_v1(), std::string(name) == "prop_v2_r");
    EXPECT_TRUE(p->offers_r_v2());
    EXPECT_FALSE(p->offers_d_v2());
    EXPECT_EQ(p->v2x->release, 1);
    EXPECT_EQ(p->v2x->max_connections, 255);
    EXPECT_EQ(p->v2x->max_links, 2);
    ASSERT_EQ(p->v2x->eids.size(), 1U);
    EXPECT_EQ(p->v2x->eids[0].text(), "EXAMPLE.UEID-1");
  }
}

TEST(ClcProposal, FindsSmcDBesideSmcR) {
  const auto p = decode_proposal(vector("prop_v2_b"));
  ASSERT_TRUE(p);
  EXPECT_TRUE(p->offers_r_v1());
  EXPECT_TRUE(p->offers_r_v2());
  EXPECT_TRUE(p->offers_d_v2());
  EXPECT_FALSE(p->v2x->smcd->system_eid);
  EXPECT_EQ(p->v2x->smcd->gids, std::vector<smcd_gid>{loopback});
}

// The parts are those of the vectors prop_v2_rn (no version 1) and prop_v2_b (SMC-D extension), put
// together.
TEST(ClcProposal, EncodesSmcDByteForByte) {
  const bytes& rn = vector("prop_v2_rn");
  const bytes& b = vector("prop_v2_b");
  bytes expected(rn.begin(), rn.end() - 4);
  expected[6] = std::byte{80 + 40 + 32 + 48 + 20 + 4};
  expected[7] = std::byte{0x26};
  expected[extension_at + 1] = std::byte{2};
  expected[extension_at + 7] = std::byte{64};
  std::fill(expected.begin() + extension_at + 8, expected.begin() + extension_at + 26,
            std::byte{0});
  expected.insert(expected.end(), b.end() - 72, b.end());
  EXPECT_EQ(encoded(smcd_proposal()), expected);
}

TEST(ClcProposal, ComesBackAsItWent) {
  proposal p = smcd_proposal();
  p.v2x->smcd->system_eid = eid::from_text("IBM-SYSZ-ISMSEID00000000");
  p.v2x->smcd->gids.push_back({7, 0, 0x1234});
  p.v2x->eids.push_back(*eid::from_text("B"));
  p.peer_id[0] = std::byte{9};
  const auto back = decode_proposal(encoded(p));
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, p);
}

TEST(ClcProposal, IsNotEncodedBeyondItsLimits) {
  proposal p = smcd_proposal();
  p.v2x->smcd->gids.assign(5, loopback);
  EXPECT_THROW(encoded(p), std::invalid_argument);
  p = smcd_proposal();
  p.v2x->eids.assign(9, example);
  EXPECT_THROW(encoded(p), std::invalid_argument);
  p = smcd_proposal();
  p.v2x->eids = {eid()};
  EXPECT_THROW(encoded(p), std::invalid_argument);
}

TEST(ClcProposal, IsNotEncodedWherePartsAndOffersDoNotGoTogether) {
  const auto v1 = *decode_proposal(vector("prop_v1_r"));
  const auto v2 = *decode_proposal(vector("prop_v2_b"));
  for (int i = 0; i < 11; ++i) {
    proposal p = i < 5 ? v1 : v2;
    if (i == 0) p.v1 = path_type::none;
    if (i == 1) p.v2 = path_type::r;
    if (i == 2) p.prefixes.reset();
    if (i == 3) p.native_ism = smcd_gid{1, 0, 2};
    if (i == 4) p.v1 = path_type::both;
    if (i == 5) p.v2x.reset();
    if (i == 6) p.v2 = path_type::r;
    if (i == 7) p.v1 = path_type::none;
    if (i == 8) p.v2x->smcd.reset();
    if (i == 9) p.version = 3;
    if (i == 10) p.prefixes->subnet_length = 33;
    EXPECT_THROW(encoded(p), std::invalid_argument) << i;
  }
}

struct damage {
  const char* what;
  std::size_t at;
  std::uint8_t value;
  decode_error expected;
};

void expect_damages(const bytes& good, std::initializer_list<damage> cases) {
  ASSERT_TRUE(decode_proposal(good));
  for (const damage& d : cases) {
    bytes bad = good;
    bad[d.at] = static_cast<std::byte>(d.value);
    const auto p = decode_proposal(bad);
    ASSERT_FALSE(p) << d.what;
    EXPECT_EQ(p.error(), d.expected) << d.what << ": " << to_string(p.error());
  }
}

TEST(ClcProposal, DamagedVersion2IsRefused) {
  expect_damages(
      encoded(smcd_proposal()),
      {{"C2 eyecatcher", 0, 0, decode_error::bad_eyecatcher},
       {"C2 eyecatcher of SMC-D", 3, 0xc4, decode_error::bad_eyecatcher},
       {"C3 version 0", 7, 0x06, decode_error::bad_version},
       {"C3 other type", 4, 2, decode_error::bad_type},
       {"C3 no type", 4, 5, decode_error::bad_type},
       {"C4 too short a length", 6, 40, decode_error::bad_length},
       {"C4 too long a length", 5, 3, decode_error::bad_length},
       {"C5 fewer EIDs than bytes", extension_at, 0, decode_error::bad_length},
       {"C5 more EIDs than bytes", extension_at, 2, decode_error::bad_length},
       {"C5 fewer GIDs than bytes", extension_at + 1, 1, decode_error::bad_length},
       {"C7 area too long", 39, 41, decode_error::bad_offset},
       {"C11 extension elsewhere", v2_offset_at + 1, 29, decode_error::bad_offset},
       {"C11 extension far away", v2_offset_at, 1, decode_error::bad_offset},
       {"C13 too many EIDs", extension_at, 9, decode_error::bad_count},
       {"C14 too many GIDs", extension_at + 1, 9, decode_error::bad_count},
       {"C6 trailer", encoded(smcd_proposal()).size() - 1, 0, decode_error::bad_trailer}});
}

TEST(ClcProposal, DamagedVersion1IsRefused) {
  expect_damages(vector("prop_v1_r"), {{"C8 prefix of 33 bits", 44, 33, decode_error::bad_prefix},
                                       {"C8 nine prefixes", 47, 9, decode_error::bad_count},
                                       {"C5 one prefix", 47, 1, decode_error::bad_length},
                                       {"C9 nothing offered", 7, 0x12, decode_error::bad_path},
                                       {"C7 area", 39, 1, decode_error::bad_length}});
  expect_damages(vector("prop_v1_r6"),
                 {{"C8 prefix of 129 bits", 64, 129, decode_error::bad_prefix}});
}

TEST(ClcProposal, LengthOfTheBytesMustBeThatOfTheMessage) {
  bytes message = encoded(smcd_proposal());
  message.push_back(std::byte{0});
  EXPECT_EQ(decode_proposal(message).error(), decode_error::trailing_bytes);
  message.resize(message.size() - 2);
  EXPECT_EQ(decode_proposal(message).error(), decode_error::truncated);
  message.resize(7);
  EXPECT_EQ(decode_proposal(message).error(), decode_error::truncated);
}

TEST(ClcProposal, SmcDOfVersion1WithoutItsAreaIsIgnored) {
  bytes message = vector("prop_v1_r");
  message[7] = std::byte{0x13};
  const auto p = decode_proposal(message);
  ASSERT_TRUE(p);
  EXPECT_TRUE(p->offers_r_v1());
  EXPECT_FALSE(p->offers_d_v1());
}

TEST(ClcProposal, MissingExtensionsDropWhatTheyWouldOffer) {
  bytes message = encoded(smcd_proposal());
  message[v2_offset_at + 1] = std::byte{0};
  auto p = decode_proposal(message);
  ASSERT_TRUE(p);
  EXPECT_FALSE(p->v2x);
  EXPECT_FALSE(p->offers_d_v2());

  message = encoded(smcd_proposal());
  message[extension_at + 7] = std::byte{0};
  p = decode_proposal(message);
  ASSERT_TRUE(p);
  EXPECT_TRUE(p->v2x);
  EXPECT_FALSE(p->offers_d_v2());
}

TEST(ClcProposal, IllFormedEidsAreSkipped) {
  bytes message = encoded(smcd_proposal());
  message[extension_at + 40] = std::byte{'-'};
  const auto p = decode_proposal(message);
  ASSERT_TRUE(p);
  EXPECT_TRUE(p->v2x->eids.empty());
}

TEST(ClcProposal, HalfOfAnEmulatedDeviceIsSkipped) {
  const std::size_t second_chid = smcd_extension_at + 48 + 18;
  bytes message = encoded(smcd_proposal());
  message[second_chid + 1] = std::byte{0xfe};
  auto p = decode_proposal(message);
  ASSERT_TRUE(p);
  EXPECT_TRUE(p->v2x->smcd->gids.empty());

  message[second_chid] = std::byte{0x01};
  p = decode_proposal(message);
  ASSERT_TRUE(p);
  ASSERT_EQ(p->v2x->smcd->gids.size(), 1U);
  EXPECT_EQ(p->v2x->smcd->gids[0], (smcd_gid{0x3333333344444444, 0, 0x01fe}));
}

TEST(ClcProposal, NewerReleaseIsReportedAsSent) {
  bytes message = encoded(smcd_proposal());
  message[extension_at + 3] = std::byte{0x70};
  EXPECT_EQ(decode_proposal(message)->v2x->release, 7);
}

TEST(Eid, KeepsWellFormedNamesOnly) {
  EXPECT_EQ(eid::from_text("A")->text(), "A");
  EXPECT_EQ(eid::from_text(std::string(32, 'Z'))->text(), std::string(32, 'Z'));
  for (const std::string bad : {"", "a", ".A", "-A", "A B", "A_B"})
    EXPECT_FALSE(eid::from_text(bad)) << bad;
  EXPECT_FALSE(eid::from_text(std::string(33, 'Z')));
  EXPECT_TRUE(eid().empty());
}

}  // namespace
}  // namespace smc::clc
