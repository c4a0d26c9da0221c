#pragma once
// A simulated queue pair: what its user calls, and its two halves.
#include <cstdint>
#include <optional>

#include "smcr/device.hpp"
#include "smcr/simulator/completion_queue.hpp"
#include "smcr/simulator/message.hpp"
#include "smcr/simulator/requester.hpp"
#include "smcr/simulator/responder.hpp"

namespace smc::rdma::simulator {

class adapter;
class domain;
class port;
class shared_receives;

class pair final : public rdma::queue_pair {
 public:
  pair(adapter& owner, domain& of, const queue_pair_options& options, std::uint32_t number);
  pair(const pair&) = delete;
  ~pair() override;

  std::uint32_t number() const noexcept override { return number_; }
  queue_pair_state state() const noexcept override { return state_; }
  const queue_pair_options& options() const noexcept override { return options_; }

  std::error_code initialize(std::uint8_t port_number) noexcept override;
  std::error_code receive_from(const path& from) noexcept override;
  std::error_code send_with(const sending& how) noexcept override;
  std::error_code fail() noexcept override;
  std::error_code post_send(send_request& first, send_request** refused) noexcept override;
  std::error_code post_receive(receive_request& first, receive_request** refused) noexcept override;

  // For the parts of the simulation.

  adapter& owner() const noexcept { return owner_; }
  domain& of() const noexcept { return domain_; }
  const rdma::path& path() const noexcept { return path_; }
  /// Requires initialize().
  simulator::port& via() const noexcept { return *port_; }
  address_pair route() const noexcept {
    return {own_gid_, path_.remote_gid, number_, path_.remote_qpn};
  }
  bool receives() const noexcept {
    return state_ == queue_pair_state::ready_to_receive ||
           state_ == queue_pair_state::ready_to_send;
  }

  completions& send_queue() const noexcept;
  completions& receive_queue() const noexcept;
  bool feeds(const completions& queue) const noexcept;
  void polled(const slot_release& frees) noexcept;

  bool has_to_send() const noexcept { return requester_.has_to_send(); }
  /// Sends the next packets; how long the port is busy with them, or nothing where there are none.
  std::optional<moment> transmit(simulator::port& by);
  void arrive(const message& m);
  void arrive(const reply& r);
  /// Bytes of a peer that keeps to no rules: in sequence, without an answer.
  completion_status inject(message m);

  /// To error, flushing all requests; without completions where `silent`.
  void break_down(bool silent = false);

 private:
  friend class requester;
  friend class responder;

  adapter& owner_;
  domain& domain_;
  queue_pair_options options_;
  std::uint32_t number_;
  queue_pair_state state_ = queue_pair_state::reset;
  simulator::port* port_ = nullptr;
  gid own_gid_{};
  rdma::path path_;
  requester requester_;
  responder responder_;
};

}  // namespace smc::rdma::simulator
