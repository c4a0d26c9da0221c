#include "smcr/simulator/port.hpp"

#include "smcr/simulator/adapter.hpp"
#include "smcr/simulator/network.hpp"
#include "smcr/simulator/queue_pair.hpp"

namespace smc::rdma::simulator {

void port::enqueue(std::uint32_t qpn) {
  if (std::find(waiting_.begin(), waiting_.end(), qpn) != waiting_.end()) return;
  waiting_.push_back(qpn);
  if (busy_) return;
  // Not within the caller's call: it may post more, and the device reads the memory later.
  busy_ = true;
  owner_.net().events().after(moment(0), [this] {
    busy_ = false;
    transmit();
  });
}

void port::transmit() {
  if (busy_) return;
  while (!waiting_.empty()) {
    pair* const p = owner_.find_pair(waiting_.front());
    waiting_.pop_front();
    if (p == nullptr) continue;
    const auto duration = p->transmit(*this);
    if (!duration) continue;
    if (p->has_to_send()) waiting_.push_back(p->number());
    busy_ = true;
    owner_.net().events().after(*duration, [this] {
      busy_ = false;
      transmit();
    });
    return;
  }
}

}  // namespace smc::rdma::simulator
