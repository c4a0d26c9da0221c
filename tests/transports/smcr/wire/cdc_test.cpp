#include "smcr/wire/cdc.hpp"

#include <gtest/gtest.h>

#include "vectors/vectors.hpp"

namespace smc::cdc {
namespace {

using test::bytes;
using test::vector;

bytes encoded(const message& m) {
  bytes out(message_size, std::byte{0xff});
  encode(m, std::span<std::byte, message_size>(out));
  return out;
}

struct known {
  const char* name;
  message meaning;
};

std::vector<known> all_known() {
  std::vector<known> all;
  const auto add = [&](const char* name, std::uint16_t seqno, std::uint32_t token) -> message& {
    return all.emplace_back(known{name, {seqno, token, {}, {}, {}, {}}}).meaning;
  };
  add("cdc_data", 1, 1).producer = {0, 1000};
  add("cdc_wnd", 1, 42).consumer = {0, 1000};
  message& wrap = add("cdc_wrap", 9, 1);
  wrap.producer = {1, 1000};
  wrap.consumer = {0, 1000};
  wrap.producing.writer_blocked = true;
  message& urgent = add("cdc_urg", 3, 1);
  urgent.producer = {0, 1500};
  urgent.producing.urgent_pending = urgent.producing.urgent_present = true;
  message& shut = add("cdc_shut", 10, 1);
  shut.producer = {1, 1000};
  shut.state.sending_done = true;
  message& close = add("cdc_close", 11, 1);
  close.producer = {1, 1000};
  close.state.closed = true;
  message& abort = add("cdc_abort", 12, 1);
  abort.producer = {1, 1000};
  abort.state.aborted = true;
  add("cdc_fail", 9, 1).producing.failover_validation = true;
  return all;
}

TEST(Cdc, EveryVectorIsReadAsWhatItMeans) {
  for (const known& k : all_known()) {
    const auto m = decode(vector(k.name));
    ASSERT_TRUE(m) << k.name << ": " << to_string(m.error());
    EXPECT_TRUE(*m == k.meaning) << k.name;
  }
}

TEST(Cdc, EveryVectorIsWrittenByteForByte) {
  for (const known& k : all_known()) EXPECT_EQ(encoded(k.meaning), vector(k.name)) << k.name;
}

TEST(Cdc, NoVectorIsLeftOut) {
  std::size_t cdc = 0;
  for (const auto& entry : test::vectors()) cdc += entry.first.starts_with("cdc_") ? 1 : 0;
  EXPECT_EQ(cdc, all_known().size());
}

TEST(Cdc, EachFlagHasItsOwnBit) {
  message m;
  m.seqno = 0xabcd;
  m.token = 0x12345678;
  m.producer = {0xffff, 0xfffffffe};
  m.consumer = {0x8000, 0x7fffffff};
  for (bool* flag :
       {&m.producing.writer_blocked, &m.producing.urgent_pending, &m.producing.urgent_present,
        &m.producing.update_requested, &m.producing.failover_validation, &m.state.sending_done,
        &m.state.closed, &m.state.aborted}) {
    *flag = true;
    EXPECT_EQ(*decode(encoded(m)), m);
    *flag = false;
  }
  m.producing.update_requested = true;
  EXPECT_EQ(encoded(m)[24], std::byte{0x10});
}

TEST(Cdc, MessagesOfAnotherLengthAreRefused) {
  bytes whole = vector("cdc_data");
  for (std::size_t n = 0; n < message_size; ++n) {
    const bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
    EXPECT_EQ(decode(cut).error(), decode_error::truncated) << n;
  }
  whole[1] = std::byte{45};
  EXPECT_EQ(decode(whole).error(), decode_error::bad_length);
  whole = vector("cdc_data");
  whole.push_back(std::byte{0});
  EXPECT_EQ(decode(whole).error(), decode_error::too_long);
}

TEST(Cdc, LlcMessagesAreToldApart) {
  EXPECT_TRUE(is_cdc(vector("cdc_data")));
  EXPECT_FALSE(is_cdc(vector("llc_test_req")));
  EXPECT_FALSE(is_cdc({}));
  EXPECT_EQ(decode(vector("llc_test_req")).error(), decode_error::unknown_type);
}

TEST(Cdc, SequenceNumbersAreComparedAcrossTheirWrap) {
  EXPECT_TRUE(is_older(1, 2));
  EXPECT_FALSE(is_older(2, 1));
  EXPECT_FALSE(is_older(7, 7));
  EXPECT_FALSE(is_older(2, 65535));
  EXPECT_TRUE(is_older(65535, 2));
}

TEST(Cdc, ConnectionFlagsStaySet) {
  const connection_flags done{true, false, false};
  const connection_flags closed{false, true, false};
  EXPECT_EQ(merged(done, {}), done);
  EXPECT_EQ(merged(done, closed), (connection_flags{true, true, false}));
  EXPECT_EQ(merged({}, {false, false, true}), (connection_flags{false, false, true}));
}

}  // namespace
}  // namespace smc::cdc
