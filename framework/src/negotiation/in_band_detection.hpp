#pragma once
// The server's side of finding out whether a TCP connection begins with a CLC PROPOSAL. Only where
// one is expected: a rule names the peer, or its SYN carried the option.
//
// No socket, no clock: what lies in the socket's receive queue is shown (peeked, never taken), and
// a verdict comes back. Nothing is consumed here, so that whatever is no PROPOSAL is delivered as
// plain TCP with each of its bytes.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

namespace smc::negotiation {

class in_band_detection {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  using duration = std::chrono::steady_clock::duration;

  enum class verdict : std::uint8_t {
    unknown,    ///< look again when there are more bytes, or at limit()
    proposal,   ///< the first size() bytes are one, in a whole frame
    plain,      ///< there never will be one
    undecided,  ///< nothing came in time: TCP, but a PROPOSAL may come late
  };

  /// `detect_timeout`: for the first byte; `clc_timeout`: for the rest behind it.
  in_band_detection(time_point accepted, duration detect_timeout, duration clc_timeout) noexcept;

  /// `head`: the first bytes of the connection, at least as many as the time before, and
  /// clc::max_message_size of them where there are as many. `ended`: no more will come.
  verdict look(std::span<const std::byte> head, bool ended, time_point now) noexcept;
  /// At limit() or later, after everything that has arrived was looked at.
  verdict deadline(time_point now) noexcept;

  time_point limit() const noexcept { return limit_; }
  /// Bytes of the PROPOSAL, its frame included.
  std::size_t size() const noexcept { return size_; }

 private:
  verdict verdict_ = verdict::unknown;
  bool begun_ = false;
  std::size_t size_ = 0;
  time_point limit_;
  const duration clc_timeout_;
};

/// Whether bytes can be the beginning of a PROPOSAL; `size` is that of the whole, once that many
/// bytes are there that it can be told (8), else 0.
struct proposal_beginning {
  bool possible = false;
  std::size_t size = 0;
};
proposal_beginning examine_beginning(std::span<const std::byte> head) noexcept;

}  // namespace smc::negotiation
