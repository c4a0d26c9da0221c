#include "negotiation/clc_agreement.hpp"

#include <gtest/gtest.h>

#include "negotiation/clc.hpp"
#include "vectors/vectors.hpp"

namespace smc::clc {
namespace {

using test::vector;

const eid example = *eid::from_text("EXAMPLE.UEID-1");
const smcd_gid client_gid{5, 6, smcd_gid::loopback_chid};

proposal the_proposal() {
  proposal p;
  p.v2x.emplace();
  p.v2x->eids = {example};
  p.v2x->smcd.emplace();
  p.v2x->smcd->gids = {client_gid};
  return p;
}

accept_confirm the_accept() { return *decode_accept_confirm(vector("acc_v2_d")); }

accept_confirm the_confirm() {
  accept_confirm m = the_accept();
  m.type = message_type::confirm;
  m.smcd.gid = client_gid;
  m.smcd.token = 42;
  return m;
}

TEST(ClcAccept, ClientChecksItAgainstItsProposal) {
  const proposal sent = the_proposal();
  EXPECT_EQ(check_accept(sent, the_accept()), std::nullopt);

  proposal other = sent;
  other.v2x->smcd.reset();
  EXPECT_EQ(check_accept(other, the_accept()), diagnosis::mode_unsupported);
  other = sent;
  other.v2x->eids = {*eid::from_text("OTHER")};
  EXPECT_EQ(check_accept(other, the_accept()), diagnosis::no_ueid);
  other.v2x->smcd->system_eid = example;
  EXPECT_EQ(check_accept(other, the_accept()), std::nullopt);
  other = sent;
  other.v2x->release = 0;
  EXPECT_EQ(check_accept(other, the_accept()), diagnosis::release_mismatch);
  other = sent;
  other.v2x->smcd->gids[0].chid = 1;
  EXPECT_EQ(check_accept(other, the_accept()), diagnosis::no_smcd_v2_device);
}

TEST(ClcConfirm, ServerChecksItAgainstProposalAndAccept) {
  const proposal p = the_proposal();
  EXPECT_EQ(check_confirm(p, the_accept(), the_confirm()), std::nullopt);

  accept_confirm c = the_confirm();
  c.path = path_type::r;
  EXPECT_EQ(check_confirm(p, the_accept(), c), diagnosis::mode_unsupported);
  c = the_confirm();
  c.version = 1;
  EXPECT_EQ(check_confirm(p, the_accept(), c), diagnosis::version_mismatch);
  c = the_confirm();
  c.smcd.first_contact = false;
  EXPECT_EQ(check_confirm(p, the_accept(), c), diagnosis::out_of_sync);
  c = the_confirm();
  c.smcd.contact.release = 0;
  EXPECT_EQ(check_confirm(p, the_accept(), c), diagnosis::release_mismatch);
  c = the_confirm();
  c.smcd.negotiated_eid = *eid::from_text("OTHER");
  EXPECT_EQ(check_confirm(p, the_accept(), c), diagnosis::no_ueid);
  c = the_confirm();
  c.smcd.gid.gid = 99;
  EXPECT_EQ(check_confirm(p, the_accept(), c), diagnosis::no_smcd_v2_device);
}

// SMC-R: PROPOSAL, ACCEPT and CONFIRM of the vectors belong together.

struct handshake {
  proposal proposed;
  accept_confirm accept;
  accept_confirm confirm;
};

handshake smcr_handshake(const std::string& version) {
  return {*decode_proposal(vector("prop_" + version + "_r")),
          *decode_accept_confirm(vector("acc_" + version + "_r")),
          *decode_accept_confirm(vector("conf_" + version + "_r"))};
}

TEST(ClcAgreement, TheVectorsOfSmcRAgree) {
  for (const char* version : {"v1", "v2"}) {
    const handshake h = smcr_handshake(version);
    EXPECT_EQ(check_accept(h.proposed, h.accept), std::nullopt) << version;
    EXPECT_EQ(check_confirm(h.proposed, h.accept, h.confirm), std::nullopt) << version;
  }
}

TEST(ClcAgreement, WhatWasNotOfferedIsNotAccepted) {
  const handshake v1 = smcr_handshake("v1"), v2 = smcr_handshake("v2");
  EXPECT_EQ(check_accept(v1.proposed, v2.accept), diagnosis::mode_unsupported);
  EXPECT_EQ(check_accept(*decode_proposal(vector("prop_v2_rn")), v1.accept),
            diagnosis::mode_unsupported);
  EXPECT_EQ(check_accept(v2.proposed, the_accept()), diagnosis::mode_unsupported);
  EXPECT_EQ(check_accept(v1.proposed, *decode_accept_confirm(vector("acc_v1_d"))),
            diagnosis::mode_unsupported);
  EXPECT_EQ(check_accept(*decode_proposal(vector("prop_v1_b")),
                         *decode_accept_confirm(vector("acc_v1_d"))),
            std::nullopt);
}

TEST(ClcAgreement, TheServerMayLowerTheGroupsLimitsButNotRaiseOrStarveThem) {
  struct limits {
    int connections;
    int links;
    std::optional<diagnosis> expected;
  };
  handshake h = smcr_handshake("v2");
  h.proposed.v2x->max_connections = 100;
  for (const limits& l :
       {limits{100, 2, std::nullopt}, limits{16, 1, std::nullopt},
        limits{15, 2, diagnosis::max_connections}, limits{101, 2, diagnosis::max_connections},
        limits{100, 0, diagnosis::max_links}, limits{100, 3, diagnosis::max_links}}) {
    h.accept.smcr.contact.max_connections = static_cast<std::uint8_t>(l.connections);
    h.accept.smcr.contact.max_links = static_cast<std::uint8_t>(l.links);
    EXPECT_EQ(check_accept(h.proposed, h.accept), l.expected) << l.connections << ", " << l.links;
  }
  // Release 0 has no such numbers.
  h.accept.smcr.contact.release = 0;
  EXPECT_EQ(check_accept(h.proposed, h.accept), std::nullopt);
}

TEST(ClcAgreement, TheConfirmRepeatsWhatTheAcceptChose) {
  const handshake good = smcr_handshake("v2");
  for (int i = 0; i < 7; ++i) {
    handshake h = good;
    diagnosis expected{};
    if (i == 0) h.confirm.smcr.first_contact = false, expected = diagnosis::out_of_sync;
    if (i == 1) h.confirm.smcr.contact.release = 0, expected = diagnosis::release_mismatch;
    if (i == 2) h.confirm.smcr.contact.max_connections = 16, expected = diagnosis::max_connections;
    if (i == 3) h.confirm.smcr.contact.max_links = 1, expected = diagnosis::max_links;
    if (i == 4) h.confirm.smcr.negotiated_eid = *eid::from_text("B"), expected = diagnosis::no_ueid;
    if (i == 5) h.confirm.version = 1, expected = diagnosis::version_mismatch;
    if (i == 6) h.proposed.v2x.reset(), expected = diagnosis::mode_unsupported;
    EXPECT_EQ(check_confirm(h.proposed, h.accept, h.confirm), expected) << i;
  }
}

TEST(ClcAgreement, InVersion1AConfirmNeedNotRepeatTheFirstContact) {
  handshake h = smcr_handshake("v1");
  h.confirm.smcr.first_contact = false;
  EXPECT_EQ(check_confirm(h.proposed, h.accept, h.confirm), std::nullopt);
}

TEST(ClcAgreement, AnEndThatNoConnectionCanBeMadeWithIsDeclined) {
  const handshake good = smcr_handshake("v2");
  for (int i = 0; i < 11; ++i) {
    handshake h = good;
    for (smcr_endpoint* e : {&h.accept.smcr, &h.confirm.smcr}) {
      if (i == 0) e->mtu_code = 0;
      if (i == 1) e->mtu_code = 6;
      if (i == 2) e->mtu_code = 15;
      if (i == 3) e->rmbe_index = 0;
      if (i == 4) e->alert_token = 0;
      if (i == 5) e->qpn = 0;
      if (i == 6) e->qpn = 1;
      if (i == 7) e->gid = {};
      if (i == 8) e->gid[0] = std::byte{0xff};
      if (i == 9) e->mac[0] = std::byte{0x01};
      if (i == 10) e->rmb_address = ~std::uint64_t{0} - 65535, e->size_code = 2;
    }
    EXPECT_EQ(check_accept(h.proposed, h.accept), diagnosis::configuration) << i;
    EXPECT_EQ(check_confirm(h.proposed, h.accept, h.confirm), diagnosis::configuration) << i;
  }
}

}  // namespace
}  // namespace smc::clc
