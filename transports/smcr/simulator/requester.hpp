#pragma once
// The sending half of a simulated queue pair: requests, retransmission, completion.
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "smcr/device.hpp"
#include "smcr/simulator/message.hpp"

namespace smc::rdma::simulator {

class pair;

class requester {
 public:
  explicit requester(pair& owner) noexcept : owner_(owner) {}

  void start(const sending& how) noexcept;
  /// One request; or the error that refuses it.
  std::error_code post(const send_request& r);
  /// So many requests, from the first on, are over and polled.
  void released(std::uint64_t count) noexcept;

  bool has_to_send() const noexcept;
  /// The next packets; nothing where there are none, or where the memory was not to be read.
  std::optional<message> next_message();
  void answered(const reply& r);

  /// Completes all requests as flushed; without completions where `silent`.
  void flush(bool silent);
  void stop_timer() noexcept;

  /// When the last message arrives.
  moment& arrival() noexcept { return arrival_; }

 private:
  // Packets are numbered from 0 on; on the wire are the lowest 24 bits of the sum with the first
  // PSN.
  using packet_number = std::uint64_t;

  struct request {
    std::uint64_t id = 0;
    operation what = operation::send;
    std::uint32_t flags = 0;
    std::uint64_t remote_address = 0;
    std::uint32_t rkey = 0;
    std::vector<memory_part> parts;
    std::vector<std::byte> inline_bytes;
    std::uint64_t length = 0;
    packet_number first = 0;
    std::uint32_t packets = 1;
  };

  std::error_code take_inline(request& to) const;
  std::uint32_t psn_of(packet_number n) const noexcept;
  packet_number number_of(std::uint32_t psn) const noexcept;
  bool gather(const request& r, std::uint64_t offset, std::span<std::byte> into) const noexcept;
  void acknowledge_before(packet_number n);
  void complete_front(completion_status status);
  void fail_front(completion_status status);
  void fail_front_if_unreadable();
  void send_again_from(packet_number n);
  bool use_retry();
  void start_timer(moment delay, void (requester::*what)());
  void await_answer();
  void timed_out();
  void wait_for_receiver(packet_number n, moment delay);
  void resume();

  pair& owner_;
  sending how_;
  std::deque<request> requests_;             ///< not completed, oldest first
  std::uint64_t completed_ = 0;              ///< requests
  std::uint64_t freed_ = 0;                  ///< requests whose room in the queue is free again
  packet_number next_ = 0;                   ///< of the next request posted
  packet_number unacknowledged_ = 0;         ///< everything before was acknowledged
  packet_number to_send_ = 0;                ///< everything before was sent
  packet_number most_sent_ = 0;              ///< likewise, before it was to be sent again
  bool paused_ = false;                      ///< the receiver was not ready
  std::optional<std::uint64_t> unreadable_;  ///< number of a request whose memory is not readable
  std::uint8_t retries_ = 0;
  std::uint8_t rnr_retries_ = 0;
  std::optional<event_queue::handle> timer_;
  moment arrival_{0};
};

}  // namespace smc::rdma::simulator
