#include "smcr/simulator/network.hpp"

#include "smcr/simulator/adapter.hpp"
#include "smcr/simulator/port.hpp"
#include "smcr/simulator/queue_pair.hpp"

namespace smc::rdma::simulator {

network::network(std::uint64_t seed) : random_(seed) {}
network::~network() = default;

adapter& network::add(adapter_options options) {
  adapters_.push_back(std::make_unique<adapter>(*this, std::move(options)));
  return *adapters_.back();
}

bool network::run(moment patience) {
  const moment end = now() + patience;
  while (const auto when = next()) {
    if (*when > end) return false;
    step();
  }
  return true;
}

fate network::fate_of(const port& from, flight f) {
  f.from = &from.owner();
  fate result;
  if (on_flight) result = on_flight(f);
  const double loss = from.options().link.loss;
  if (loss > 0 && std::generate_canonical<double, 53>(random_) < loss) result.lost = true;
  return result;
}

moment network::arrival(const port& from, moment sent, const fate& f, moment& not_before) {
  const link_model& link = from.options().link;
  moment when = sent + link.latency + f.delay;
  if (link.jitter > moment(0)) {
    when += moment(
        static_cast<moment::rep>(random_() % static_cast<std::uint64_t>(link.jitter.count() + 1)));
  }
  if (when < not_before) when = not_before;
  not_before = when;
  return when;
}

port* network::port_of(int fabric, const gid& who) noexcept {
  for (const auto& a : adapters_) {
    if (port* p = a->port_of(fabric, who)) return p;
  }
  return nullptr;
}

template <typename T>
void network::deliver(int fabric, T what, moment when) {
  // Shared, for an action must be copyable.
  events_.at(when, [this, fabric, m = std::make_shared<T>(std::move(what))] {
    port* to = port_of(fabric, m->route.destination);
    if (to == nullptr || !to->up()) return;
    if (pair* p = to->owner().find_pair(m->route.destination_qpn)) p->arrive(*m);
  });
}

void network::travel(port& from, message m, moment sent, moment& not_before) {
  flight f;
  f.source_qpn = m.route.source_qpn;
  f.destination_qpn = m.route.destination_qpn;
  f.what = m.what;
  f.remote_address = m.remote_address;
  f.bytes = m.bytes;
  const fate its = fate_of(from, f);
  const moment when = arrival(from, sent, its, not_before);
  const bool leaves = from.up() && from.has(m.route.source);
  if (its.lost || !leaves) {
    // Some packets of a write may have made it before one was lost.
    if (m.what != operation::rdma_write || m.packets < 2 || !leaves) return;
    m.packets = static_cast<std::uint32_t>(random_() % m.packets);
    if (m.packets == 0) return;
    m.bytes.resize(m.packets * bytes_of(m.path_mtu));
  }
  const int fabric = from.options().fabric;
  if (its.doubled) deliver(fabric, m, when);
  deliver(fabric, std::move(m), when);
}

void network::travel(port& from, reply r, moment& not_before) {
  flight f;
  f.source_qpn = r.route.source_qpn;
  f.destination_qpn = r.route.destination_qpn;
  f.acknowledgement = true;
  const fate its = fate_of(from, f);
  const moment when = arrival(from, now(), its, not_before);
  if (its.lost || !from.up() || !from.has(r.route.source)) return;
  if (its.doubled) deliver(from.options().fabric, r, when);
  deliver(from.options().fabric, r, when);
}

void network::rang(completions& queue) {
  if (on_ring) on_ring(queue);
}

}  // namespace smc::rdma::simulator
