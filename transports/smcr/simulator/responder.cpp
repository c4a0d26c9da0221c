#include "smcr/simulator/responder.hpp"

#include <algorithm>
#include <numeric>

#include "smcr/simulator/adapter.hpp"
#include "smcr/simulator/completion_queue.hpp"
#include "smcr/simulator/domain.hpp"
#include "smcr/simulator/network.hpp"
#include "smcr/simulator/queue_pair.hpp"

namespace smc::rdma::simulator {
namespace {

// What is new of a message that partly came before.
message rest_of(const message& m, std::uint32_t packets_before) {
  message rest = m;
  const std::size_t skipped = packets_before * bytes_of(m.path_mtu);
  rest.psn = psn_after(m.psn, packets_before);
  rest.packets -= packets_before;
  rest.remote_address += skipped;
  rest.bytes.erase(rest.bytes.begin(), rest.bytes.begin() + static_cast<std::ptrdiff_t>(skipped));
  return rest;
}

}  // namespace

responder::responder(pair& owner) noexcept
    : owner_(owner), own_(owner.options().max_receives, owner.options().max_receive_parts) {}

void responder::received(const message& m) {
  const std::int32_t ahead = psn_distance(expected_, m.psn);
  if (ahead > 0) {
    if (refused_) return;
    refused_ = true;
    return respond(answer::out_of_sequence);
  }
  if (ahead < 0) {
    const auto before = static_cast<std::uint32_t>(-ahead);
    if (before >= m.packets) return respond(answer::acknowledged);
    if (m.what == operation::send) return;  // no sender cuts one where we did not
    return received(rest_of(m, before));
  }
  if (!heard_ && owner_.state() == queue_pair_state::ready_to_receive) {
    owner_.owner().happened({event_kind::communication_established, 0, owner_.number(), nullptr});
  }
  heard_ = true;
  const answer a = perform(m);
  refused_ = a != answer::acknowledged;
  if (!refused_) expected_ = psn_after(expected_, m.packets);
  // The completion overran its queue.
  if (owner_.state() == queue_pair_state::error) return;
  if (a == answer::not_ready) ++owner_.owner().counted().receivers_not_ready;
  respond(a);
  suffer(a);
}

completion_status responder::inject(const message& m) {
  const answer a = perform(m);
  suffer(a);
  switch (a) {
    case answer::acknowledged:
      return completion_status::success;
    case answer::not_ready:
      return completion_status::receiver_not_ready_exceeded;
    case answer::access_error:
      return completion_status::remote_access_error;
    case answer::operation_error:
      return completion_status::remote_operation_error;
    case answer::out_of_sequence:
    case answer::invalid_request:
      break;
  }
  return completion_status::remote_invalid_request;
}

answer responder::perform(const message& m) {
  // Packets of another size than agreed on.
  const mtu agreed = owner_.path().path_mtu;
  if ((m.packets > 1 || m.bytes.size() > bytes_of(agreed)) && m.path_mtu != agreed) {
    return answer::invalid_request;
  }
  return m.what == operation::rdma_write ? place(m) : accept(m);
}

answer responder::place(const message& m) {
  if (m.write_length == 0) return answer::acknowledged;
  const memory_table& memory = owner_.owner().memory();
  if (memory.remote(owner_.of(), m.rkey, m.write_address, m.write_length) == nullptr) {
    return answer::access_error;
  }
  std::byte* to = memory.remote(owner_.of(), m.rkey, m.remote_address, m.bytes.size());
  std::copy(m.bytes.begin(), m.bytes.end(), to);
  return answer::acknowledged;
}

answer responder::accept(const message& m) {
  auto* const shared = static_cast<shared_receives*>(owner_.options().shared);
  receive_list& list = shared != nullptr ? shared->list() : own_;
  if (list.empty()) return answer::not_ready;
  const receive_list::receive r = list.take();
  if (shared != nullptr) list.released(r.count);
  const auto room =
      std::accumulate(r.parts.begin(), r.parts.end(), std::uint64_t{0},
                      [](std::uint64_t sum, const memory_part& p) { return sum + p.length; });
  if (m.bytes.size() > room) {
    complete(r, completion_status::local_length_error, nullptr);
    return answer::invalid_request;
  }
  if (!scatter(m, r)) {
    complete(r, completion_status::local_protection_error, nullptr);
    return answer::operation_error;
  }
  complete(r, completion_status::success, &m);
  return answer::acknowledged;
}

bool responder::scatter(const message& m, const receive_list::receive& r) const noexcept {
  std::size_t at = 0;
  for (const memory_part& part : r.parts) {
    if (at == m.bytes.size()) break;
    std::byte* to = owner_.owner().memory().local(owner_.of(), part, access::local_write);
    if (to == nullptr) return false;
    const auto n = std::min<std::size_t>(part.length, m.bytes.size() - at);
    std::copy_n(m.bytes.begin() + static_cast<std::ptrdiff_t>(at), n, to);
    at += n;
  }
  return true;
}

void responder::complete(const receive_list::receive& r, completion_status status,
                         const message* m) {
  completion c;
  c.id = r.id;
  c.status = status;
  c.what = completed_operation::receive;
  c.qpn = owner_.number();
  if (m != nullptr) {
    c.length = static_cast<std::uint32_t>(m->bytes.size());
    c.source_qpn = m->route.source_qpn;
  }
  owner_.receive_queue().add(c, {true, r.count}, m != nullptr && m->solicited);
}

void responder::respond(answer what) {
  owner_.owner().net().travel(
      owner_.via(), reply{owner_.route(), what, expected_, owner_.path().min_rnr_timer}, arrival_);
}

// What an answer means to this end: after most refusals the queue pair is of no use any more.
void responder::suffer(answer what) {
  adapter& device = owner_.owner();
  switch (what) {
    case answer::acknowledged:
    case answer::out_of_sequence:
    case answer::not_ready:
      return;
    case answer::access_error:
      device.happened({event_kind::queue_pair_access_error, 0, owner_.number(), nullptr});
      break;
    case answer::invalid_request:
      device.happened({event_kind::queue_pair_request_error, 0, owner_.number(), nullptr});
      break;
    case answer::operation_error:
      break;
  }
  owner_.break_down();
}

void responder::flush(bool silent) {
  if (owner_.options().shared != nullptr) {
    owner_.owner().happened({event_kind::last_request_reached, 0, owner_.number(), nullptr});
    return;
  }
  if (silent) return own_.clear();
  while (!own_.empty()) complete(own_.take(), completion_status::flushed, nullptr);
}

}  // namespace smc::rdma::simulator
