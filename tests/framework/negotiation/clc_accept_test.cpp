#include "negotiation/clc_accept.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "negotiation/clc.hpp"
#include "vectors/vectors.hpp"

namespace smc::clc {
namespace {

using test::bytes;
using test::vector;

const eid example = *eid::from_text("EXAMPLE.UEID-1");
const smcd_gid server_gid{0x1111111122222222, 0x3333333344444444, smcd_gid::loopback_chid};
const smcd_gid client_gid{5, 6, smcd_gid::loopback_chid};

accept_confirm the_accept() {
  accept_confirm m;
  m.smcd.gid = server_gid;
  m.smcd.token = 0x1122334455667788;
  m.smcd.size_code = 2;
  m.smcd.link_id = 0x00010000;
  m.smcd.negotiated_eid = example;
  m.smcd.first_contact = true;
  m.smcd.contact.host_name = "server";
  return m;
}

accept_confirm the_confirm() {
  accept_confirm m = the_accept();
  m.type = message_type::confirm;
  m.smcd.gid = client_gid;
  m.smcd.token = 42;
  return m;
}

TEST(ClcAccept, DecodesTheVector) {
  const auto m = decode_accept_confirm(vector("acc_v2_d"));
  ASSERT_TRUE(m);
  EXPECT_EQ(*m, the_accept());
}

TEST(ClcAccept, EncodesTheVectorByteForByte) {
  EXPECT_EQ(encoded(the_accept()), vector("acc_v2_d"));
}

TEST(ClcAccept, ComesBackAsItWent) {
  accept_confirm m = the_confirm();
  m.smcd.dmbe_index = 200;
  m.smcd.size_code = 15;
  auto back = decode_accept_confirm(encoded(m));
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, m);

  m.smcd.first_contact = false;
  m.smcd.contact = {};
  EXPECT_EQ(encoded(m).size(), 78U);
  back = decode_accept_confirm(encoded(m));
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, m);

  m.smcd.first_contact = true;
  m.smcd.contact.release = 0;
  m.smcd.contact.features = 0;
  EXPECT_EQ(encoded(m).size(), 114U);
  back = decode_accept_confirm(encoded(m));
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, m);
}

TEST(ClcAccept, NativeDevicesHaveNoExtendedGid) {
  accept_confirm m = the_accept();
  m.smcd.gid = {1, 2, 3};
  EXPECT_EQ(decode_accept_confirm(encoded(m))->smcd.gid, (smcd_gid{1, 0, 3}));
}

TEST(ClcAccept, EveryVectorComesBackByteForByte) {
  for (const char* name : {"acc_v1_r", "acc_v1_r_sub", "conf_v1_r", "acc_v1_d", "conf_v1_d",
                           "acc_v2_r", "acc_v2_r_sub", "conf_v2_r", "acc_v2_d"}) {
    const auto m = decode_accept_confirm(vector(name));
    ASSERT_TRUE(m) << name << ": " << to_string(m.error());
    EXPECT_EQ(encoded(*m), vector(name)) << name;
  }
}

TEST(ClcAccept, SmcDOfVersion1HasNoEidAndNoChid) {
  const auto m = decode_accept_confirm(vector("conf_v1_d"));
  ASSERT_TRUE(m);
  accept_confirm expected;
  expected.type = message_type::confirm;
  expected.version = 1;
  expected.smcd.gid.gid = 0x0a0b0c0d00000001;
  expected.smcd.token = 0x99aabbccddeeff00;
  expected.smcd.size_code = 1;
  expected.smcd.link_id = 0x00030000;
  expected.smcd.first_contact = true;
  EXPECT_EQ(*m, expected);
}

TEST(ClcAccept, DamagedMessagesAreRefused) {
  struct damage {
    const char* what;
    std::size_t at;
    std::uint8_t value;
    decode_error expected;
  };
  for (const damage& d : std::initializer_list<damage>{
           {"C2 eyecatcher of SMC-R", 3, 0xd9, decode_error::bad_eyecatcher},
           {"C3 version 0", 7, 0x09, decode_error::bad_version},
           {"C3 version 3", 7, 0x39, decode_error::bad_version},
           {"C3 type", 4, 1, decode_error::bad_type},
           {"C16 path none", 7, 0x2a, decode_error::bad_path},
           {"C16 path both", 7, 0x2b, decode_error::bad_path},
           {"C16 path R with the eyecatcher of D", 7, 0x28, decode_error::bad_eyecatcher},
           {"C19 no first contact, but its bytes", 7, 0x21, decode_error::bad_length},
           {"C19 release 0, but the bytes of 1", 75, 0x20, decode_error::bad_length},
           {"C6 trailer", 129, 0, decode_error::bad_trailer},
           {"C21 EID", 34, 0, decode_error::bad_eid}}) {
    bytes bad = vector("acc_v2_d");
    bad[d.at] = static_cast<std::byte>(d.value);
    const auto m = decode_accept_confirm(bad);
    ASSERT_FALSE(m) << d.what;
    EXPECT_EQ(m.error(), d.expected) << d.what << ": " << to_string(m.error());
  }
  bytes no_token = vector("acc_v2_d");
  std::fill(no_token.begin() + 16, no_token.begin() + 24, std::byte{0});
  EXPECT_EQ(decode_accept_confirm(no_token).error(), decode_error::bad_token);
}

TEST(ClcAccept, FirstContactTooShortForItsExtensionIsRefused) {
  accept_confirm m = the_accept();
  m.smcd.first_contact = false;
  bytes bad = encoded(m);
  bad[7] = std::byte{0x29};
  EXPECT_EQ(decode_accept_confirm(bad).error(), decode_error::bad_length);
}

TEST(ClcAccept, LongerExtensionOfANewerReleaseIsRead) {
  bytes longer = vector("acc_v2_d");
  longer[75] = std::byte{0x22};
  longer.insert(longer.end() - 4, 8, std::byte{0x77});
  longer[6] = static_cast<std::byte>(longer.size());
  const auto m = decode_accept_confirm(longer);
  ASSERT_TRUE(m);
  EXPECT_EQ(m->smcd.contact.release, 2);
}

TEST(ClcAccept, UnprintableHostNamesAreDiscarded) {
  bytes message = vector("acc_v2_d");
  message[80] = std::byte{0xc3};
  const auto m = decode_accept_confirm(message);
  ASSERT_TRUE(m);
  EXPECT_EQ(m->smcd.contact.host_name, "");

  accept_confirm mine = the_accept();
  mine.smcd.contact.host_name = std::string(40, 'h');
  EXPECT_EQ(decode_accept_confirm(encoded(mine))->smcd.contact.host_name, std::string(32, 'h'));
  mine.smcd.contact.host_name = "h\n";
  EXPECT_EQ(decode_accept_confirm(encoded(mine))->smcd.contact.host_name, "");
}

TEST(ClcAccept, IsNotEncodedOutOfRange) {
  for (int i = 0; i < 6; ++i) {
    accept_confirm m = the_accept();
    if (i == 0) m.type = message_type::proposal;
    if (i == 1) m.path = path_type::both;
    if (i == 2) m.smcd.token = 0;
    if (i == 3) m.smcd.size_code = 16;
    if (i == 4) m.smcd.contact.release = 2;
    if (i == 5) m.smcd.negotiated_eid = eid();
    EXPECT_THROW(encoded(m), std::invalid_argument) << i;
  }
}

TEST(ClcSizeCode, IsTheSmallestThatFits) {
  EXPECT_EQ(size_code_of(1), 0);
  EXPECT_EQ(size_code_of(16384), 0);
  EXPECT_EQ(size_code_of(16385), 1);
  EXPECT_EQ(size_code_of(32768), 1);
  EXPECT_EQ(size_code_of(65536), 2);
  EXPECT_EQ(size_code_of(65537), 3);
  EXPECT_EQ(size_code_of(1048577), 7);
  EXPECT_EQ(size_code_of(536870912), 15);
  EXPECT_EQ(size_code_of(UINT64_MAX), 15);
  EXPECT_EQ(size_of_code(15), 536870912U);
}

}  // namespace
}  // namespace smc::clc
