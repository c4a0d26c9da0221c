#include "smcr/wire/llc.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "vectors/vectors.hpp"

namespace smc::llc {
namespace {

using test::bytes;
using test::vector;

bytes encoded(const body& m, std::uint8_t version, std::endian order = std::endian::native) {
  bytes out;
  encode(m, version, out, order);
  return out;
}

template <typename T>
T decoded_as(const bytes& message, std::uint8_t version) {
  const auto m = decode(message, version);
  if (!m) throw std::runtime_error(std::string(to_string(m.error())));
  return std::get<T>(*m);
}

decode_error refusal(const bytes& message, std::uint8_t version) {
  const auto m = decode(message, version);
  return m ? decode_error{} : m.error();
}

rdma::gid gid_of(const char* hex) {
  rdma::gid g{};
  const bytes b = test::from_hex(hex);
  std::copy(b.begin(), b.end(), g.begin());
  return g;
}

link_address address_of(const char* mac, const char* gid, std::uint32_t qpn) {
  link_address a{{}, gid_of(gid), qpn};
  const bytes b = test::from_hex(mac);
  std::copy(b.begin(), b.end(), a.mac.begin());
  return a;
}

confirm_link confirm(const link_address& sender, bool response) {
  confirm_link m;
  m.response = response;
  m.sender = sender;
  m.link_number = 1;
  m.link_uid = {std::byte{0}, std::byte{0}, std::byte{1}, std::byte{1}};
  return m;
}

add_link add(const link_address& sender) {
  add_link m;
  m.sender = sender;
  m.link_number = 2;
  m.mtu_code = 3;
  m.psn = 0xaabbcc;
  return m;
}

const rkey_pair example_pair{0x00abcd01, 0x00abce01, 0x00007f1200000000};
const link_address server = address_of("02005e100002", "fe8000000000000000005efffe100002", 0x123);
const link_address client = address_of("02005e100001", "fe8000000000000000005efffe100001", 0x456);
const link_address server_v2 =
    address_of("02005e100002", "00000000000000000000ffffc0000202", 0x123);

// Every vector as the struct that it stands for, with the version and byte order of its sender.
struct known {
  const char* name;
  std::uint8_t version;
  std::endian order;
  body meaning;
};

std::vector<known> all_known() {
  constexpr auto le = std::endian::little;
  constexpr auto be = std::endian::big;
  std::vector<known> all;
  const auto v1 = [&](const char* name, body m) { all.push_back({name, 1, le, std::move(m)}); };

  v1("llc_conf_req", confirm(server, false));
  v1("llc_conf_rsp", confirm(client, true));
  const link_address second = address_of("02005e100012", "fe8000000000000000005efffe100012", 0x789);
  v1("llc_add_req", add(second));
  link_address same = server;
  same.qpn = 0x789;
  v1("llc_add_req_same", add(same));
  add_link rejection = add(same);
  rejection.response = rejection.rejected = true;
  rejection.why = reject_reason::no_alternate_path;
  v1("llc_add_rej", rejection);
  add_link answer = add(address_of("02005e100011", "fe8000000000000000005efffe100011", 0xabc));
  answer.response = true;
  answer.psn = 0x010203;
  v1("llc_add_rsp", answer);
  v1("llc_addc_req", add_link_continuation{false, 2, 1, {example_pair}});

  confirm_rkey key;
  key.token = {0x00beef03, 0x00007faa00030000};
  key.announced = 1;
  key.others = {{2, {0x00bef003, 0x00007faa00030000}}};
  v1("llc_rkey_req", key);
  key.response = true;
  v1("llc_rkey_rsp", key);
  key.negative = key.retry = true;
  v1("llc_rkey_neg", key);
  v1("llc_drkey_req", delete_rkey{false, false, 1, 0, {0x00beef03}});
  v1("llc_drkey_neg", delete_rkey{true, true, 1, 0x80, {0x00beef03}});
  v1("llc_test_req", test_link{false, {}});
  v1("llc_test_rsp", test_link{true, {}});
  v1("llc_del_req", delete_link{false, false, true, 2, delete_reason::lost_path});
  v1("llc_del_rsp", delete_link{true, false, true, 2, delete_reason::none});
  v1("llc_del_all", delete_link{false, true, true, 0, delete_reason::program_initiated});

  confirm_link first = confirm(server_v2, false);
  first.max_connections = 255;
  const request_add_link wish{
      false,
      {gid_of("00000000000000000000ffffc0000201"), gid_of("00000000000000000000ffffc000020b")}};
  add_link extended = add(address_of("02005e100012", "00000000000000000000ffffc0000216", 0x789));
  extended.extension = add_link_extension{true, extended.sender.gid, {example_pair}};
  for (const auto& [order, suffix] : {std::pair{le, "_le"}, std::pair{be, "_be"}}) {
    const bool little = order == le;
    all.push_back({little ? "llc2_conf_req_le" : "llc2_conf_req_be", 2, order, first});
    all.push_back({little ? "llc2_req_add_le" : "llc2_req_add_be", 2, order, wish});
    all.push_back({little ? "llc2_add_le" : "llc2_add_be", 2, order, extended});
  }
  return all;
}

TEST(Llc, EveryVectorIsReadAsWhatItMeans) {
  for (const known& k : all_known()) {
    const auto m = decode(vector(k.name), k.version);
    ASSERT_TRUE(m) << k.name << ": " << to_string(m.error());
    EXPECT_TRUE(*m == k.meaning) << k.name;
  }
}

TEST(Llc, EveryVectorIsWrittenByteForByteInTheOrderOfItsSender) {
  for (const known& k : all_known()) {
    EXPECT_EQ(encoded(k.meaning, k.version, k.order), vector(k.name)) << k.name;
  }
}

TEST(Llc, NoVectorIsLeftOut) {
  std::size_t llc = 0;
  for (const auto& entry : test::vectors()) llc += entry.first.starts_with("llc") ? 1 : 0;
  EXPECT_EQ(llc, all_known().size());
}

TEST(Llc, LengthAndCountAreSentInTheOrderOfThisMachine) {
  const char* name = std::endian::native == std::endian::little ? "llc2_add_le" : "llc2_add_be";
  EXPECT_EQ(encoded(*decode(vector(name), 2), 2), vector(name));
}

TEST(Llc, ConfirmLinkFromALittleEndianLinuxIsRead) {
  EXPECT_EQ(decoded_as<confirm_link>(vector("llc2_conf_req_le"), 2),
            decoded_as<confirm_link>(vector("llc2_conf_req_be"), 2));
}

TEST(Llc, WrongReadingOfALengthThatWouldAlsoFitIsNotTaken) {
  // 0x0110 = 272 bytes; read in the other order it is 0x1001 = 4097.
  bytes message = vector("llc2_add_be");
  message.resize(272);
  message[1] = std::byte{0x10};
  message[2] = std::byte{0x01};
  EXPECT_EQ(refusal(message, 2), decode_error::bad_length);  // 200 bytes of pairs: 12 and a half
  message.resize(4097, std::byte{0});
  EXPECT_EQ(refusal(message, 2), decode_error::bad_length);  // 4097 are no whole number of pairs
  message.resize(280);
  message[1] = std::byte{0x18};
  EXPECT_EQ(decoded_as<add_link>(message, 2).extension->pairs.size(), 13U);
}

TEST(Llc, BytesBehindTheLengthOfVersion2AreNotLookedAt) {
  bytes message = vector("llc2_add_le");
  message.resize(message.size() + 7, std::byte{0xff});
  EXPECT_EQ(decoded_as<add_link>(message, 2), decoded_as<add_link>(vector("llc2_add_le"), 2));
}

TEST(Llc, MessagesOfAnotherLengthAreRefused) {
  for (const known& k : all_known()) {
    const bytes whole = vector(k.name);
    for (std::size_t n = 0; n < whole.size(); ++n) {
      const bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
      EXPECT_EQ(refusal(cut, k.version),
                n < message_size ? decode_error::truncated : decode_error::bad_length)
          << k.name << ' ' << n;
    }
  }
  bytes longer = vector("llc_test_req");
  longer.push_back(std::byte{0});
  EXPECT_EQ(refusal(longer, 1), decode_error::too_long);
  bytes huge = vector("llc2_add_le");
  huge.resize(max_message_size + 1);
  EXPECT_EQ(refusal(huge, 2), decode_error::too_long);
}

TEST(Llc, LengthFieldThatDoesNotFitWhatCameIsRefused) {
  bytes message = vector("llc_test_req");
  message[1] = std::byte{43};
  EXPECT_EQ(refusal(message, 1), decode_error::bad_length);
  for (const char* name : {"llc2_conf_req_le", "llc2_conf_req_be"}) {
    message = vector(name);
    message[name[14] == 'l' ? 1 : 2] = std::byte{45};
    EXPECT_EQ(refusal(message, 2), decode_error::bad_length) << name;
    message[name[14] == 'l' ? 1 : 2] = std::byte{43};
    EXPECT_EQ(refusal(message, 2), decode_error::bad_length) << name;
  }
}

TEST(Llc, MessageOfTheOtherVersionIsRefused) {
  EXPECT_EQ(refusal(vector("llc_conf_req"), 2), decode_error::bad_version);
  EXPECT_EQ(refusal(vector("llc2_conf_req_le"), 1), decode_error::bad_version);
}

TEST(Llc, UnknownTypesAreToldFromThoseThatMayBeIgnored) {
  bytes message = vector("llc_test_req");
  for (const unsigned type : {0x00U, 0x05U, 0x0aU, 0x10U, 0x31U, 0x40U, 0xffU}) {
    message[0] = static_cast<std::byte>(type);
    EXPECT_EQ(refusal(message, 1), decode_error::unknown_type) << type;
  }
  for (const unsigned type : {0x08U, 0x80U, 0xbfU}) {
    message[0] = static_cast<std::byte>(type);
    EXPECT_EQ(refusal(message, 1), decode_error::ignored_type) << type;
  }
  message = vector("llc2_conf_req_le");
  for (const unsigned type : {0x20U, 0x23U, 0x28U, 0x2aU}) {
    message[0] = static_cast<std::byte>(type);
    EXPECT_EQ(refusal(message, 2), decode_error::unknown_type) << type;
  }
}

TEST(Llc, RejectionInVersion2HasNoRoomForItsReason) {
  add_link m = decoded_as<add_link>(vector("llc_add_rej"), 1);
  EXPECT_EQ(m.why, reject_reason::no_alternate_path);
  m.extension.reset();
  const add_link back = decoded_as<add_link>(encoded(m, 2), 2);
  EXPECT_TRUE(back.rejected);
  EXPECT_EQ(back.why, reject_reason::none);
  EXPECT_FALSE(back.extension);
}

TEST(Llc, PairsAreCountedByTheLengthNotByTheCount) {
  for (const unsigned count : {0U, 7U, 0xffU}) {
    bytes message = vector("llc2_add_le");
    message[70] = static_cast<std::byte>(count);
    message[71] = static_cast<std::byte>(count);
    const add_link m = decoded_as<add_link>(message, 2);
    EXPECT_EQ(m.extension->pairs, std::vector{example_pair}) << count;
  }
}

TEST(Llc, AddLinkTakesAsManyPairsAsAGroupHasBuffers) {
  add_link m = add(server_v2);
  m.extension.emplace().pairs.assign(max_rkey_pairs, example_pair);
  const bytes longest = encoded(m, 2);
  EXPECT_EQ(longest.size(), 72U + 16 * 255);
  EXPECT_EQ(decoded_as<add_link>(longest, 2), m);

  bytes beyond = longest;
  beyond.resize(beyond.size() + 16);
  const bool little = std::endian::native == std::endian::little;
  beyond[little ? 1 : 2] = static_cast<std::byte>(beyond.size() & 0xff);
  beyond[little ? 2 : 1] = static_cast<std::byte>(beyond.size() >> 8);
  EXPECT_EQ(refusal(beyond, 2), decode_error::bad_count);
  m.extension->pairs.push_back(example_pair);
  EXPECT_THROW(encoded(m, 2), std::invalid_argument);
}

TEST(Llc, ContinuationCarriesTwoPairsAtMost) {
  add_link_continuation m{true, 2, 200, {example_pair, {1, 2, 3}}};
  EXPECT_EQ(decoded_as<add_link_continuation>(encoded(m, 1), 1), m);
  m.pairs_left = 0;
  m.pairs.clear();
  EXPECT_EQ(decoded_as<add_link_continuation>(encoded(m, 1), 1), m);
  m.pairs_left = 1;
  EXPECT_THROW(encoded(m, 1), std::invalid_argument);
}

TEST(Llc, LinkZeroIsRefusedWhereALinkMustBeNamed) {
  bytes message = vector("llc_conf_req");
  message[29] = std::byte{0};
  EXPECT_EQ(refusal(message, 1), decode_error::bad_link);
  message = vector("llc_addc_req");
  message[4] = std::byte{0};
  EXPECT_EQ(refusal(message, 1), decode_error::bad_link);
}

TEST(Llc, PeerThatUsesEyecatchersIsRecognised) {
  bytes message = vector("llc_conf_req");
  for (const unsigned bits : {1U, 2U, 3U}) {
    message[3] = static_cast<std::byte>(bits);
    EXPECT_TRUE(is_acceptable(decoded_as<confirm_link>(message, 1))) << bits;
  }
  message[3] = std::byte{0};
  const auto m = decoded_as<confirm_link>(message, 1);
  EXPECT_FALSE(m.no_eyecatchers);
  EXPECT_FALSE(is_acceptable(m));
}

TEST(Llc, AddressesThatNoLinkCanHaveAreNotAcceptable) {
  const confirm_link good = confirm(server, false);
  EXPECT_TRUE(is_acceptable(good));
  const auto with = [&](auto change) {
    confirm_link m = good;
    change(m.sender);
    return is_acceptable(m);
  };
  EXPECT_FALSE(with([](link_address& a) { a.qpn = 0; }));
  EXPECT_FALSE(with([](link_address& a) { a.qpn = 1; }));
  EXPECT_FALSE(with([](link_address& a) { a.mac = {}; }));
  EXPECT_FALSE(with([](link_address& a) { a.mac[0] |= std::byte{1}; }));
  EXPECT_FALSE(with([](link_address& a) { a.gid = {}; }));
  EXPECT_FALSE(with([](link_address& a) { a.gid[0] = std::byte{0xff}; }));
}

TEST(Llc, AddLinkIsRejectedForItsMtuOrItsAddress) {
  add_link m = add(server);
  EXPECT_EQ(rejection_of(m), reject_reason::none);
  for (const unsigned code : {0U, 6U, 15U}) {
    m.mtu_code = static_cast<std::uint8_t>(code);
    EXPECT_EQ(rejection_of(m), reject_reason::bad_mtu) << code;
  }
  m = add(server);
  m.link_number = 0;
  EXPECT_EQ(rejection_of(m), reject_reason::no_alternate_path);
  m = add(server);
  m.sender.qpn = 0;
  EXPECT_EQ(rejection_of(m), reject_reason::no_alternate_path);
}

TEST(Llc, ConfirmRkeyWithTooManyTokensIsAnsweredNegatively) {
  bytes message = vector("llc_rkey_req");
  message[4] = std::byte{3};
  auto m = decoded_as<confirm_rkey>(message, 1);
  EXPECT_FALSE(is_acceptable(m));
  // As Linux does it: the request comes back with flags.
  m.response = m.negative = m.retry = true;
  message[3] = std::byte{0xb0};
  EXPECT_EQ(encoded(m, 1), message);
}

TEST(Llc, ConfirmRkeyNamesDifferentLinks) {
  confirm_rkey m;
  m.token = {1, 2};
  EXPECT_TRUE(is_acceptable(m));
  m.announced = 2;
  m.others = {{2, {3, 4}}, {3, {5, 6}}};
  EXPECT_TRUE(is_acceptable(m));
  EXPECT_EQ(decoded_as<confirm_rkey>(encoded(m, 2), 2), m);
  m.others[1].link_number = 2;
  EXPECT_FALSE(is_acceptable(m));
  m.others[1].link_number = 0;
  EXPECT_FALSE(is_acceptable(m));
}

TEST(Llc, DeleteRkeyNamesEightKeysInVersion1AndManyInVersion2) {
  delete_rkey m;
  for (std::uint32_t key = 1; key <= 255; ++key) {
    m.rkeys.push_back(key);
    m.announced = static_cast<std::uint8_t>(key);
    if (key <= 8) {
      EXPECT_EQ(decoded_as<delete_rkey>(encoded(m, 1), 1), m);
    }
    const bytes v2 = encoded(m, 2);
    EXPECT_EQ(v2.size(), std::max<std::size_t>(44, 8 + 4 * key));
    EXPECT_EQ(decoded_as<delete_rkey>(v2, 2), m);
    EXPECT_TRUE(is_acceptable(m));
  }
  EXPECT_THROW(encoded(m, 1), std::invalid_argument);
}

TEST(Llc, DeleteRkeyThatAnnouncesMoreThanItCarriesIsNotAcceptable) {
  bytes message = vector("llc_drkey_req");
  message[4] = std::byte{9};
  auto m = decoded_as<delete_rkey>(message, 1);
  EXPECT_EQ(m.rkeys.size(), 8U);
  EXPECT_FALSE(is_acceptable(m));
  message[4] = std::byte{0};
  EXPECT_FALSE(is_acceptable(decoded_as<delete_rkey>(message, 1)));

  message = encoded(delete_rkey{false, false, 1, 0, {7}}, 2);
  message[4] = std::byte{200};
  m = decoded_as<delete_rkey>(message, 2);
  EXPECT_EQ(m.rkeys.size(), 9U);
  EXPECT_FALSE(is_acceptable(m));
}

TEST(Llc, RequestForALinkNamesNoMoreGidsThanItCarries) {
  bytes message = vector("llc2_req_add_le");
  message[24] = std::byte{3};
  EXPECT_EQ(refusal(message, 2), decode_error::bad_count);
  request_add_link m;
  m.gids.assign(8, server.gid);
  const bytes longest = encoded(m, 2);
  EXPECT_EQ(decoded_as<request_add_link>(longest, 2), m);
  message = longest;
  message[24] = std::byte{9};
  message.resize(28 + 16 * 9);
  message[std::endian::native == std::endian::little ? 1 : 2] = static_cast<std::byte>(28 + 16 * 9);
  EXPECT_EQ(refusal(message, 2), decode_error::bad_count);
  m.gids.push_back(server.gid);
  EXPECT_THROW(encoded(m, 2), std::invalid_argument);
}

TEST(Llc, ResponseToARequestForALinkIsEmpty) {
  const bytes message = encoded(request_add_link{true, {}}, 2);
  EXPECT_EQ(message.size(), message_size);
  EXPECT_EQ(decoded_as<request_add_link>(message, 2), (request_add_link{true, {}}));
}

TEST(Llc, TestLinkDataComesBack) {
  test_link m;
  for (std::size_t i = 0; i < m.data.size(); ++i) m.data[i] = static_cast<std::byte>(i + 1);
  auto echo = decoded_as<test_link>(encoded(m, 1), 1);
  EXPECT_EQ(echo, m);
  echo.response = true;
  EXPECT_EQ(decoded_as<test_link>(encoded(echo, 2), 2).data, m.data);
}

TEST(Llc, UnknownReasonsOfADeletionAreKept) {
  const delete_link m{false, false, false, 9, static_cast<delete_reason>(0x12345678)};
  EXPECT_EQ(decoded_as<delete_link>(encoded(m, 1), 1), m);
}

TEST(Llc, WhatCanNotBeWrittenLeavesTheOutputAlone) {
  bytes out{std::byte{1}};
  const auto refused = [&](const body& m, std::uint8_t version) {
    EXPECT_THROW(encode(m, version, out), std::invalid_argument);
    EXPECT_EQ(out, bytes{std::byte{1}});
  };
  confirm_link c = confirm(server, false);
  c.sender.qpn = 0x1000000;
  refused(c, 1);
  c = confirm(server, false);
  c.link_number = 0;
  refused(c, 1);
  refused(confirm(server, false), 3);
  add_link a = add(server);
  a.mtu_code = 16;
  refused(a, 1);
  a = add(server);
  a.rejected = true;
  refused(a, 1);
  a = add(server);
  a.extension.emplace();
  refused(a, 1);
  refused(request_add_link{}, 1);
  refused(add_link_continuation{false, 2, 0, {}}, 2);
  refused(confirm_rkey{false, true, false, {}, 0, {}}, 1);
  refused(delete_rkey{false, true, 0, 0, {}}, 1);
}

TEST(Llc, MessagesAreAppended) {
  bytes out{std::byte{1}};
  encode(test_link{}, 1, out);
  EXPECT_EQ(out.size(), 1 + message_size);
}

}  // namespace
}  // namespace smc::llc
