#include "smcperf/protocol.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace smcperf {
namespace {

TEST(Protocol, EveryMessageComesBackAsItWent) {
  const job j = decode_job(encode(job{job_kind::sink, message_mode::zero_copy, 123456789}));
  EXPECT_EQ(j.kind, job_kind::sink);
  EXPECT_EQ(j.mode, message_mode::zero_copy);
  EXPECT_EQ(j.size, 123456789u);
  EXPECT_EQ(decode_job(encode(job{})).kind, job_kind::control);
  const welcome w = decode_welcome(encode(welcome{77, "smc-d"}));
  EXPECT_EQ(w.pid, 77u);
  EXPECT_EQ(w.transport, "smc-d");
  EXPECT_EQ(decode_receipt(encode(receipt{~std::uint64_t{0}})).bytes, ~std::uint64_t{0});
  const server_report r = decode_report(encode(server_report{{1, 2}, 3, 4, 5}));
  EXPECT_EQ(r.cpu.user_ns, 1u);
  EXPECT_EQ(r.cpu.system_ns, 2u);
  EXPECT_EQ(r.accepted, 3u);
  EXPECT_EQ(r.open, 4u);
  EXPECT_EQ(r.received, 5u);
}

TEST(Protocol, ALongTransportNameIsCutNotSpilled) {
  EXPECT_EQ(decode_welcome(encode(welcome{1, std::string(40, 'x')})).transport,
            std::string(16, 'x'));
}

TEST(Protocol, RubbishAndOtherMessagesAreRefused) {
  EXPECT_THROW(decode_job(wire_message{}), std::runtime_error);
  EXPECT_THROW(decode_job(encode(receipt{1})), std::runtime_error);
  EXPECT_THROW(decode_report(encode(welcome{})), std::runtime_error);
}

TEST(Protocol, AnotherVersionIsNamed) {
  wire_message message = encode(receipt{1});
  message[8] = 9;
  try {
    decode_receipt(message);
    ADD_FAILURE();
  } catch (const std::runtime_error& e) {
    EXPECT_NE(std::string(e.what()).find("version 9"), std::string::npos);
  }
}

TEST(Protocol, JobsThatDoNotExistAreRefused) {
  const auto with = [](std::size_t offset, unsigned char value) {
    wire_message message = encode(job{job_kind::echo, message_mode::some, 1});
    message[offset] = value;
    return message;
  };
  EXPECT_NO_THROW(decode_job(with(0, 's')));
  EXPECT_THROW(decode_job(with(16, 4)), std::runtime_error);  // kind
  EXPECT_THROW(decode_job(with(24, 3)), std::runtime_error);  // mode
  EXPECT_THROW(decode_job(with(32, 0)), std::runtime_error);  // nothing to echo
  EXPECT_THROW(decode_job(with(36, 1)), std::runtime_error);  // 4 GiB
  EXPECT_THROW(decode_job(with(16, 0)), std::runtime_error);  // control has no size
}

}  // namespace
}  // namespace smcperf
