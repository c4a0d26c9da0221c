#pragma once
// What client and server say to each other beside the measured bytes. All messages have 64 bytes,
// numbers are little endian.
//
// The client's first message on every connection is a job. Except to a `request` the server answers
// with a welcome.
//   control  then: one byte asks for a report, as often as the client likes
//   echo     then: every message of `size` bytes is answered by one of the same size, until end of
//   stream sink     then: bytes are read and dropped until end of stream, answered by a receipt
//   request  the answer is one message of `size` bytes
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "smcperf/cpu_time.hpp"
#include "smcperf/options.hpp"

namespace smcperf {

using wire_message = std::array<unsigned char, 64>;

enum class job_kind : std::uint8_t { control = 0, echo = 1, sink = 2, request = 3 };

struct job {
  job_kind kind = job_kind::control;
  message_mode mode = message_mode::some;
  std::uint64_t size = 0;  ///< 1 byte … 1 GiB, 0 only for control
};

struct welcome {
  std::uint64_t pid = 0;
  std::string transport;  ///< as the server sees this connection, at most 16 characters
};

struct receipt {
  std::uint64_t bytes = 0;
};

struct server_report {
  cpu_time cpu;                ///< since the server began
  std::uint64_t accepted = 0;  ///< connections since the server began
  std::uint64_t open = 0;      ///< connections now
  std::uint64_t received = 0;  ///< bytes that sinks took since the server began
};

wire_message encode(const job&);
wire_message encode(const welcome&);
wire_message encode(const receipt&);
wire_message encode(const server_report&);

/// These throw std::runtime_error for anything that the other side of this version would not have
/// sent.
job decode_job(const wire_message&);
welcome decode_welcome(const wire_message&);
receipt decode_receipt(const wire_message&);
server_report decode_report(const wire_message&);

}  // namespace smcperf
