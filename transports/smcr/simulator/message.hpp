#pragma once
// What travels between queue pairs, and the arithmetic of packet sequence numbers.
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "smcr/address.hpp"
#include "smcr/simulator/event_queue.hpp"
#include "smcr/work_request.hpp"

namespace smc::rdma::simulator {

/// Signed distance of two sequence numbers of 24 bits.
constexpr std::int32_t psn_distance(std::uint32_t from, std::uint32_t to) noexcept {
  const std::uint32_t d = (to - from) & max_24_bits;
  return d < 0x800000 ? static_cast<std::int32_t>(d) : static_cast<std::int32_t>(d) - 0x1000000;
}

constexpr std::uint32_t psn_after(std::uint32_t psn, std::uint64_t packets) noexcept {
  return static_cast<std::uint32_t>((psn + packets) & max_24_bits);
}

/// An empty message is a packet too.
constexpr std::uint32_t packets_of(std::uint64_t bytes, mtu m) noexcept {
  return bytes == 0 ? 1 : static_cast<std::uint32_t>((bytes + bytes_of(m) - 1) / bytes_of(m));
}

struct address_pair {
  gid source{};
  gid destination{};
  std::uint32_t source_qpn = 0;
  std::uint32_t destination_qpn = 0;

  address_pair reversed() const noexcept {
    return {destination, source, destination_qpn, source_qpn};
  }
};

/// A SEND, or some packets of an RDMA WRITE.
struct message {
  address_pair route;
  operation what = operation::send;
  bool solicited = false;
  std::uint32_t psn = 0;
  std::uint32_t packets = 1;
  mtu path_mtu = mtu::b1024;
  std::uint32_t rkey = 0;
  std::uint64_t remote_address = 0;  ///< of these bytes
  std::uint64_t write_address = 0;   ///< of the whole write, which is checked as one
  std::uint64_t write_length = 0;
  std::vector<std::byte> bytes;
};

enum class answer : std::uint8_t {
  acknowledged,     ///< everything before `psn`
  out_of_sequence,  ///< `psn` was expected
  not_ready,        ///< no receive was posted for `psn`
  invalid_request,
  access_error,
  operation_error
};

struct reply {
  address_pair route;
  answer what = answer::acknowledged;
  std::uint32_t psn = 0;
  std::uint8_t rnr_timer = 0;  ///< code
};

/// What a timer code of RNR NAK stands for (InfiniBand, table 45).
constexpr moment rnr_delay(std::uint8_t code) noexcept {
  constexpr std::array<std::int32_t, 32> hundredths_of_ms{
      65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
      48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
      2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
  return moment(std::int64_t{hundredths_of_ms[code & 31U]} * 10'000);
}

/// What a sender waits for an acknowledgement; zero: for ever.
constexpr moment acknowledgement_timeout(std::uint8_t code) noexcept {
  return code == 0 ? moment(0) : moment(std::int64_t{4096} << (code & 31U));
}

}  // namespace smc::rdma::simulator
