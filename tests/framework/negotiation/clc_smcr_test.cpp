// ACCEPT and CONFIRM of SMC-R.
#include <gtest/gtest.h>

#include <initializer_list>
#include <stdexcept>

#include "negotiation/clc.hpp"
#include "vectors/vectors.hpp"

namespace smc::clc {
namespace {

using test::bytes;
using test::vector;

template <std::size_t N>
std::array<std::byte, N> array_of(std::string_view hex) {
  const bytes content = test::from_hex(hex);
  std::array<std::byte, N> result{};
  std::copy_n(content.begin(), N, result.begin());
  return result;
}

accept_confirm the_confirm() {
  accept_confirm m;
  m.type = message_type::confirm;
  m.path = path_type::r;
  smcr_endpoint& e = m.smcr;
  e.peer_id = array_of<8>("1a2b02005e100001");
  e.gid = array_of<16>("00000000000000000000ffffc0000201");
  e.mac = array_of<6>("02005e100001");
  e.qpn = 0x000456;
  e.rkey = 0x0000beef;
  e.rmbe_index = 2;
  e.alert_token = 0x0100002a;
  e.size_code = 1;
  e.mtu_code = 3;
  e.rmb_address = 0x00007faa00010000;
  e.psn = 0x445566;
  return m;
}

TEST(ClcSmcR, FieldsAreWhereTheyBelong) {
  const auto m = decode_accept_confirm(vector("conf_v1_r"));
  ASSERT_TRUE(m);
  EXPECT_EQ(m->version, 1);
  EXPECT_EQ(m->path, path_type::r);
  EXPECT_TRUE(m->first_contact());
  const smcr_endpoint& e = m->smcr;
  EXPECT_EQ(e.peer_id, array_of<8>("1a2b02005e100001"));
  EXPECT_EQ(e.gid, array_of<16>("fe8000000000000000005efffe100001"));
  EXPECT_EQ(e.mac, array_of<6>("02005e100001"));
  EXPECT_EQ(e.qpn, 0x000456U);
  EXPECT_EQ(e.rkey, 0x00beef02U);
  EXPECT_EQ(e.rmbe_index, 1);
  EXPECT_EQ(e.alert_token, 0x0000002aU);
  EXPECT_EQ(e.size_code, 1);
  EXPECT_EQ(e.mtu_code, 3);
  EXPECT_EQ(e.rmb_address, 0x00007faa00010000U);
  EXPECT_EQ(e.psn, 0x445566U);
}

TEST(ClcSmcR, TheExtensionOfVersion2IsRead) {
  const auto accept = decode_accept_confirm(vector("acc_v2_r"));
  const auto confirm = decode_accept_confirm(vector("conf_v2_r"));
  ASSERT_TRUE(accept && confirm);
  EXPECT_EQ(accept->negotiated_eid().text(), "EXAMPLE.UEID-1");
  EXPECT_EQ(accept->contact(),
            (first_contact_info{true, first_contact_info::os_linux, 1, "server", 255, 2, 1}));
  EXPECT_TRUE(accept->smcr.gids.empty());
  EXPECT_EQ(confirm->contact().host_name, "client");
  ASSERT_EQ(confirm->smcr.gids.size(), 1U);
  EXPECT_EQ(confirm->smcr.gids[0], confirm->smcr.gid);
}

TEST(ClcSmcR, ComesBackAsItWent) {
  accept_confirm m = the_confirm();
  m.version = 1;
  EXPECT_EQ(encoded(m).size(), 68U);
  EXPECT_EQ(*decode_accept_confirm(encoded(m)), m);

  m.version = 2;
  m.smcr.negotiated_eid = *eid::from_text("A.B-1");
  EXPECT_EQ(encoded(m).size(), 108U);
  EXPECT_EQ(*decode_accept_confirm(encoded(m)), m);

  m.smcr.first_contact = true;
  m.smcr.contact.max_connections = 32;
  m.smcr.contact.max_links = 2;
  m.smcr.gids.assign(2, m.smcr.gid);
  EXPECT_EQ(encoded(m).size(), 164U + 32);
  EXPECT_EQ(*decode_accept_confirm(encoded(m)), m);

  m.type = message_type::accept;
  m.smcr.gids.clear();
  EXPECT_EQ(encoded(m).size(), 160U);
  EXPECT_EQ(*decode_accept_confirm(encoded(m)), m);

  m.smcr.contact = {};
  m.smcr.contact.release = 0;
  m.smcr.contact.features = 0;
  EXPECT_EQ(encoded(m).size(), 160U);
  EXPECT_EQ(*decode_accept_confirm(encoded(m)), m);
}

TEST(ClcSmcR, DamagedMessagesAreRefused) {
  struct damage {
    const char* what;
    const char* of;
    std::size_t at;
    std::uint8_t value;
    decode_error expected;
  };
  for (const damage& d : std::initializer_list<damage>{
           {"C2 eyecatcher of SMC-D", "acc_v1_r", 3, 0xc4, decode_error::bad_eyecatcher},
           {"C5 version 1 with the length of 2", "acc_v2_r_sub", 7, 0x10, decode_error::bad_length},
           {"C5 version 2 with the length of 1", "acc_v1_r", 7, 0x20, decode_error::bad_length},
           {"C19 no first contact, but its bytes", "acc_v2_r", 7, 0x20, decode_error::bad_length},
           {"C19 first contact without its bytes", "acc_v2_r_sub", 7, 0x28,
            decode_error::bad_length},
           {"C19 a CONFIRM without its list", "acc_v2_r", 4, 3, decode_error::bad_length},
           {"C19 an ACCEPT with a list", "conf_v2_r", 4, 2, decode_error::bad_length},
           {"C19 more GIDs than bytes", "conf_v2_r", 156, 2, decode_error::bad_length},
           {"C19 fewer GIDs than bytes", "conf_v2_r", 156, 0, decode_error::bad_length},
           {"C19 too many GIDs", "conf_v2_r", 156, 9, decode_error::bad_count},
           {"C21 EID", "acc_v2_r", 64, '-', decode_error::bad_eid},
           {"C6 trailer", "acc_v1_r", 67, 0, decode_error::bad_trailer}}) {
    bytes bad = vector(d.of);
    bad[d.at] = static_cast<std::byte>(d.value);
    const auto m = decode_accept_confirm(bad);
    ASSERT_FALSE(m) << d.what;
    EXPECT_EQ(m.error(), d.expected) << d.what << ": " << to_string(m.error());
  }
}

TEST(ClcSmcR, ALongerExtensionOfANewerReleaseIsRead) {
  for (const char* name : {"acc_v2_r", "conf_v2_r"}) {
    bytes longer = vector(name);
    longer[105] = std::byte{0x22};
    longer.insert(longer.end() - 4, 12, std::byte{0x77});
    longer[6] = static_cast<std::byte>(longer.size());
    const auto m = decode_accept_confirm(longer);
    ASSERT_TRUE(m) << name;
    EXPECT_EQ(m->contact().release, 2);
  }
}

TEST(ClcSmcR, IsNotEncodedOutOfRange) {
  for (int i = 0; i < 7; ++i) {
    accept_confirm m = the_confirm();
    m.smcr.negotiated_eid = *eid::from_text("A");
    if (i == 0) m.smcr.qpn = 1U << 24;
    if (i == 1) m.smcr.psn = 1U << 24;
    if (i == 2) m.smcr.size_code = 16;
    if (i == 3) m.smcr.mtu_code = 16;
    if (i == 4) m.smcr.gids.assign(1, m.smcr.gid);  // not the first contact
    if (i == 5) m.smcr.negotiated_eid = eid();
    if (i == 6) m.version = 3;
    EXPECT_THROW(encoded(m), std::invalid_argument) << i;
  }
  accept_confirm m = the_confirm();
  m.smcr.negotiated_eid = *eid::from_text("A");
  m.smcr.first_contact = true;
  m.smcr.gids.assign(9, m.smcr.gid);
  EXPECT_THROW(encoded(m), std::invalid_argument);
}

}  // namespace
}  // namespace smc::clc
