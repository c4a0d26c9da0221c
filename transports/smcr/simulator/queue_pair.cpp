#include "smcr/simulator/queue_pair.hpp"

#include <new>

#include "smcr/simulator/adapter.hpp"
#include "smcr/simulator/completion_queue.hpp"
#include "smcr/simulator/domain.hpp"
#include "smcr/simulator/network.hpp"

namespace smc::rdma::simulator {

pair::pair(adapter& owner, domain& of, const queue_pair_options& options, std::uint32_t number)
    : owner_(owner),
      domain_(of),
      options_(options),
      number_(number),
      requester_(*this),
      responder_(*this) {
  owner_.made(*this);
}

pair::~pair() {
  requester_.stop_timer();
  owner_.destroyed(*this);
}

std::error_code pair::initialize(std::uint8_t port_number) noexcept {
  if (const auto error = owner_.allow(call::modify_queue_pair)) return error;
  simulator::port* const p = owner_.find_port(port_number);
  if (state_ != queue_pair_state::reset || p == nullptr) return system::error_of(EINVAL);
  port_ = p;
  state_ = queue_pair_state::init;
  return {};
}

std::error_code pair::receive_from(const rdma::path& from) noexcept {
  if (const auto error = owner_.allow(call::modify_queue_pair)) return error;
  if (state_ != queue_pair_state::init) return system::error_of(EINVAL);
  const gid_entry* own = port_->at(from.own_gid_index);
  if (own == nullptr || !mtu_of_code(static_cast<std::uint8_t>(from.path_mtu)) ||
      from.path_mtu > port_->options().active_mtu || from.remote_qpn > max_24_bits ||
      from.receive_psn > max_24_bits || from.min_rnr_timer > 31) {
    return system::error_of(EINVAL);
  }
  own_gid_ = own->gid;
  path_ = from;
  responder_.start(from.receive_psn);
  state_ = queue_pair_state::ready_to_receive;
  return {};
}

std::error_code pair::send_with(const sending& how) noexcept {
  if (const auto error = owner_.allow(call::modify_queue_pair)) return error;
  if (state_ != queue_pair_state::ready_to_receive || how.send_psn > max_24_bits ||
      how.timeout > 31 || how.retries > 7 || how.rnr_retries > 7) {
    return system::error_of(EINVAL);
  }
  requester_.start(how);
  state_ = queue_pair_state::ready_to_send;
  return {};
}

std::error_code pair::fail() noexcept {
  if (const auto error = owner_.allow(call::modify_queue_pair)) return error;
  break_down();
  return {};
}

std::error_code pair::post_send(send_request& first, send_request** refused) noexcept try {
  auto error = owner_.allow(call::post_send);
  const bool broken = state_ == queue_pair_state::error;
  if (!error && !broken && state_ != queue_pair_state::ready_to_send) {
    error = system::error_of(EINVAL);
  }
  if (error) {
    if (refused != nullptr) *refused = &first;
    return error;
  }
  error = post_each(first, refused, [&](const send_request& r) {
    const auto refusal = requester_.post(r);
    if (!refusal) ++owner_.counted().requests;
    return refusal;
  });
  if (broken) {
    requester_.flush(false);
  } else if (has_to_send()) {
    port_->enqueue(number_);
  }
  return error;
} catch (const std::bad_alloc&) {
  return system::error_of(ENOMEM);
}

std::error_code pair::post_receive(receive_request& first, receive_request** refused) noexcept try {
  auto error = owner_.allow(call::post_receive);
  if (!error && (state_ == queue_pair_state::reset || options_.shared != nullptr)) {
    error = system::error_of(EINVAL);
  }
  if (error) {
    if (refused != nullptr) *refused = &first;
    return error;
  }
  error = post_each(first, refused, [&](const receive_request& r) { return responder_.post(r); });
  if (state_ == queue_pair_state::error) responder_.flush(false);
  return error;
} catch (const std::bad_alloc&) {
  return system::error_of(ENOMEM);
}

completions& pair::send_queue() const noexcept {
  return static_cast<completions&>(*options_.sends);
}

completions& pair::receive_queue() const noexcept {
  return static_cast<completions&>(*options_.receives);
}

bool pair::feeds(const completions& queue) const noexcept {
  return options_.sends == &queue || options_.receives == &queue;
}

void pair::polled(const slot_release& frees) noexcept {
  if (frees.receive) {
    responder_.released(frees.count);
  } else {
    requester_.released(frees.count);
  }
}

std::optional<moment> pair::transmit(simulator::port& by) {
  auto m = requester_.next_message();
  if (!m) return std::nullopt;
  traffic_counts& counted = owner_.counted();
  ++counted.messages;
  counted.bytes += m->bytes.size();
  network& net = owner_.net();
  const moment duration = by.options().link.duration(m->bytes.size(), m->packets);
  net.travel(by, std::move(*m), net.now() + duration, requester_.arrival());
  return duration;
}

void pair::arrive(const message& m) {
  const address_pair expected = route().reversed();
  if (receives() && m.route.source == expected.source &&
      m.route.source_qpn == expected.source_qpn && m.route.destination == expected.destination) {
    responder_.received(m);
  }
}

void pair::arrive(const reply& r) {
  const address_pair expected = route().reversed();
  if (receives() && r.route.source == expected.source &&
      r.route.source_qpn == expected.source_qpn) {
    requester_.answered(r);
  }
}

completion_status pair::inject(message m) {
  if (!receives()) return completion_status::retry_exceeded;
  m.route = route().reversed();
  m.path_mtu = path_.path_mtu;
  m.packets = packets_of(m.bytes.size(), m.path_mtu);
  return responder_.inject(m);
}

void pair::break_down(bool silent) {
  if (state_ == queue_pair_state::error) return;
  state_ = queue_pair_state::error;
  requester_.flush(silent);
  responder_.flush(silent);
}

}  // namespace smc::rdma::simulator
