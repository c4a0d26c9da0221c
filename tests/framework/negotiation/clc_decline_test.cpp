#include "negotiation/clc_decline.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "negotiation/clc.hpp"
#include "vectors/vectors.hpp"

namespace smc::clc {
namespace {

using test::bytes;
using test::vector;

TEST(ClcDecline, VectorsComeBackByteForByte) {
  for (const char* name : {"decl_v1", "decl_v1_sync", "decl_v2"}) {
    const auto d = decode_decline(vector(name));
    ASSERT_TRUE(d) << name;
    EXPECT_EQ(encoded(*d), vector(name)) << name;
  }
}

TEST(ClcDecline, DecodesItsFields) {
  auto d = decode_decline(vector("decl_v2"));
  EXPECT_EQ(d->version, 2);
  EXPECT_EQ(d->code, diagnosis::no_smcr_device);
  EXPECT_EQ(d->os, 2);
  EXPECT_FALSE(d->out_of_sync);
  EXPECT_EQ(reason_of(*d), reason::no_device);

  d = decode_decline(vector("decl_v1_sync"));
  EXPECT_EQ(d->version, 1);
  EXPECT_EQ(d->code, diagnosis::out_of_sync);
  EXPECT_TRUE(d->out_of_sync);
}

TEST(ClcDecline, WrongLengthForItsVersionIsRefused) {
  bytes bad = vector("decl_v2");
  bad[7] = std::byte{0x10};
  EXPECT_EQ(decode_decline(bad).error(), decode_error::bad_length);
  bad = vector("decl_v1");
  bad[7] = std::byte{0x20};
  EXPECT_EQ(decode_decline(bad).error(), decode_error::bad_length);
  bad = vector("decl_v1");
  bad.back() = std::byte{0};
  EXPECT_EQ(decode_decline(bad).error(), decode_error::bad_trailer);
  EXPECT_EQ(decode_decline(vector("acc_v2_d")).error(), decode_error::bad_type);
}

TEST(ClcDecline, IsNotEncodedForUnknownVersions) {
  decline d;
  d.version = 3;
  EXPECT_THROW(encoded(d), std::invalid_argument);
}

TEST(ClcDecline, CarriesEachReasonExactlyBetweenPeersOfThisLibrary) {
  for (int value = 1; value <= static_cast<int>(reason::not_permitted); ++value) {
    const auto why = static_cast<reason>(value);
    const auto back = decode_decline(encoded(decline_because(why)));
    ASSERT_TRUE(back);
    EXPECT_EQ(reason_of(*back), why) << value;
    EXPECT_EQ(back->code, to_diagnosis(why));
  }
}

TEST(ClcDecline, MarkedWordsThatAreNoReasonAreIgnored) {
  decline d = decline_because(reason::no_memory);
  d.further[0] |= 0xff;
  EXPECT_EQ(reason_of(d), reason::no_memory);
  d.further[0] &= ~0xffU;
  EXPECT_EQ(reason_of(d), reason::no_memory);
}

TEST(ClcDiagnosis, ReasonsWithACodeOfTheirOwnComeBack) {
  for (const reason r :
       {reason::no_memory, reason::mapping_limit, reason::handshake_timed_out,
        reason::not_configured, reason::peer_unknown, reason::other_host, reason::no_device,
        reason::no_common_eid, reason::version_mismatch, reason::link_failed,
        reason::registration_failed, reason::protocol_error, reason::declined_by_peer}) {
    EXPECT_EQ(to_reason(to_diagnosis(r)), r) << static_cast<int>(r);
  }
}

TEST(ClcDiagnosis, UnknownCodesAreADeclineByThePeer) {
  EXPECT_EQ(to_reason(static_cast<diagnosis>(0x12345678)), reason::declined_by_peer);
}

TEST(ClcDiagnosis, MalformedMessagesAbortInsteadOfDeclining) {
  EXPECT_EQ(to_diagnosis(decode_error::bad_length), std::nullopt);
  EXPECT_EQ(to_diagnosis(decode_error::bad_trailer), std::nullopt);
  EXPECT_EQ(to_diagnosis(decode_error::bad_eid), diagnosis::no_ueid);
}

TEST(ClcHeader, CanBeReadBeforeTheRestHasArrived) {
  const bytes& whole = vector("acc_v2_d");
  const auto h = decode_header(std::span(whole).first(8));
  ASSERT_TRUE(h);
  EXPECT_TRUE(h->smcd);
  EXPECT_EQ(h->type, message_type::accept);
  EXPECT_EQ(h->length, 130);
  EXPECT_EQ(h->version, 2);
  EXPECT_TRUE(h->flag());
  EXPECT_EQ(h->v1_bits, path_type::d);
  EXPECT_EQ(decode_header(std::span(whole).first(7)).error(), decode_error::truncated);
}

TEST(ClcMessage, EveryVectorDecodesToItsType) {
  for (const auto& [name, content] : test::vectors()) {
    const std::string kind = name.substr(0, name.find('_'));
    if (kind != "prop" && kind != "acc" && kind != "conf" && kind != "decl") continue;
    const auto m = decode(content);
    ASSERT_TRUE(m) << name << ": " << to_string(m.error());
    EXPECT_EQ(std::holds_alternative<proposal>(*m), kind == "prop") << name;
    EXPECT_EQ(std::holds_alternative<decline>(*m), kind == "decl") << name;
    EXPECT_EQ(std::visit([](const auto& each) { return encoded(each); }, *m), content) << name;
  }
}

}  // namespace
}  // namespace smc::clc
