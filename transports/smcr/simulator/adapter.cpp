#include "smcr/simulator/adapter.hpp"

#include <algorithm>
#include <new>

#include "smcr/simulator/domain.hpp"
#include "smcr/simulator/network.hpp"
#include "smcr/simulator/queue_pair.hpp"

namespace smc::rdma::simulator {

adapter::adapter(network& of, adapter_options options)
    : network_(of),
      options_(std::move(options)),
      memory_(static_cast<std::uint32_t>(of.random()), options_.max_locked),
      next_qpn_(static_cast<std::uint32_t>(16 + of.random() % 0x7fffff)) {
  options_.attributes.ports = static_cast<std::uint8_t>(options_.ports.size());
  for (const port_options& p : options_.ports) {
    ports_.emplace_back(*this, static_cast<std::uint8_t>(ports_.size() + 1), p);
  }
}

adapter::~adapter() = default;

std::error_code adapter::allow(call c) noexcept {
  if (failed_) return system::error_of(EIO);
  return on_call ? on_call(c) : std::error_code{};
}

simulator::port* adapter::find_port(std::uint8_t number) noexcept {
  return number == 0 || number > ports_.size() ? nullptr : &ports_[number - 1U];
}

simulator::port* adapter::port_of(int fabric, const gid& who) noexcept {
  const auto found = std::find_if(ports_.begin(), ports_.end(), [&](const simulator::port& p) {
    return p.options().fabric == fabric && p.has(who);
  });
  return found == ports_.end() ? nullptr : &*found;
}

system::result<port_attributes> adapter::port(std::uint8_t number) const noexcept {
  auto& self = const_cast<adapter&>(*this);
  if (const auto error = self.allow(call::query_port)) return error;
  const simulator::port* p = self.find_port(number);
  if (p == nullptr) return system::error_of(EINVAL);
  port_attributes a;
  a.state = p->active() ? port_state::active : port_state::down;
  a.active_mtu = p->options().active_mtu;
  return a;
}

system::result<std::vector<gid_entry>> adapter::gids(std::uint8_t port_number) const noexcept try {
  auto& self = const_cast<adapter&>(*this);
  if (const auto error = self.allow(call::query_gids)) return error;
  const simulator::port* p = self.find_port(port_number);
  if (p == nullptr) return system::error_of(EINVAL);
  return p->options().gids;
} catch (const std::bad_alloc&) {
  return system::error_of(ENOMEM);
}

created<protection_domain> adapter::allocate_domain() noexcept try {
  if (const auto error = allow(call::allocate_domain)) return error;
  if (domains_ >= options_.attributes.max_domains) return system::error_of(ENOMEM);
  auto made = std::make_unique<domain>(*this);
  ++domains_;
  return std::unique_ptr<protection_domain>(std::move(made));
} catch (const std::bad_alloc&) {
  return system::error_of(ENOMEM);
}

created<completion_queue> adapter::create_completion_queue(std::uint32_t depth) noexcept try {
  if (const auto error = allow(call::create_completion_queue)) return error;
  if (depth == 0 || depth > options_.attributes.max_completions) return system::error_of(EINVAL);
  if (queues_.size() >= options_.attributes.max_completion_queues) {
    return system::error_of(ENOMEM);
  }
  auto made = std::make_unique<completions>(*this, depth);
  queues_.insert(made.get());
  return std::unique_ptr<completion_queue>(std::move(made));
} catch (const std::bad_alloc&) {
  return system::error_of(ENOMEM);
}

std::size_t adapter::poll_events(std::span<asynchronous_event> into) noexcept {
  const std::size_t n = std::min(into.size(), happened_.size());
  std::copy_n(happened_.begin(), n, into.begin());
  happened_.erase(happened_.begin(), happened_.begin() + static_cast<std::ptrdiff_t>(n));
  if (happened_.empty()) event_bell_.silence();
  return n;
}

void adapter::happened(const asynchronous_event& event) {
  happened_.push_back(event);
  event_bell_.ring();
}

void adapter::set_port(std::uint8_t number, bool up) {
  find_port(number)->set_active(up);
  happened({up ? event_kind::port_active : event_kind::port_error, number, 0, nullptr});
}

void adapter::set_passing(std::uint8_t number, bool passing) {
  find_port(number)->set_passing(passing);
}

void adapter::add_gid(std::uint8_t port_number, const gid_entry& entry) {
  find_port(port_number)->options().gids.push_back(entry);
  happened({event_kind::gid_change, port_number, 0, nullptr});
}

void adapter::remove_gid(std::uint8_t port_number, std::uint32_t index) {
  std::erase_if(find_port(port_number)->options().gids,
                [&](const gid_entry& e) { return e.index == index; });
  happened({event_kind::gid_change, port_number, 0, nullptr});
}

link_model& adapter::link(std::uint8_t port_number) {
  return find_port(port_number)->options().link;
}

void adapter::fail() {
  if (failed_) return;
  failed_ = true;
  for (simulator::port& p : ports_) p.set_active(false);
  for (const auto& [qpn, p] : pairs_) p->break_down(!options_.flushes_when_failed);
  happened({event_kind::device_fatal, 0, 0, nullptr});
}

void adapter::overrun(completions& queue) {
  happened({event_kind::completion_queue_error, 0, 0, &queue});
  for (const auto& [qpn, p] : pairs_) {
    if (!p->feeds(queue) || p->state() == queue_pair_state::error) continue;
    p->break_down();
    happened({event_kind::queue_pair_fatal, 0, qpn, nullptr});
  }
}

completion_status adapter::inject_send(std::uint32_t qpn, std::span<const std::byte> bytes,
                                       bool solicited) {
  message m;
  m.what = operation::send;
  m.solicited = solicited;
  m.bytes.assign(bytes.begin(), bytes.end());
  return find_pair(qpn)->inject(std::move(m));
}

completion_status adapter::inject_write(std::uint32_t qpn, std::uint64_t address,
                                        std::uint32_t rkey, std::span<const std::byte> bytes) {
  message m;
  m.what = operation::rdma_write;
  m.rkey = rkey;
  m.remote_address = m.write_address = address;
  m.write_length = bytes.size();
  m.bytes.assign(bytes.begin(), bytes.end());
  return find_pair(qpn)->inject(std::move(m));
}

object_counts adapter::live() const noexcept {
  return {domains_, memory_.size(), queues_.size(), pairs_.size(), shared_.size()};
}

pair* adapter::find_pair(std::uint32_t qpn) const noexcept {
  const auto found = pairs_.find(qpn);
  return found == pairs_.end() ? nullptr : found->second;
}

bool adapter::owns(const completion_queue* queue) const noexcept { return queues_.contains(queue); }

// A number does not come again soon, so that what is late for a destroyed pair finds none.
std::uint32_t adapter::next_qpn() noexcept {
  do {
    next_qpn_ = next_qpn_ >= max_24_bits ? 2 : next_qpn_ + 1;
  } while (pairs_.contains(next_qpn_));
  return next_qpn_;
}

void adapter::made(pair& p) { pairs_.emplace(p.number(), &p); }
void adapter::made(shared_receives& queue) { shared_.insert(&queue); }

void adapter::destroyed(pair& p) noexcept {
  pairs_.erase(p.number());
  if (options_.keeps_completions_of_destroyed) return;
  p.send_queue().remove_all_of(p.number());
  p.receive_queue().remove_all_of(p.number());
}

void adapter::destroyed(const domain& d) noexcept {
  --domains_;
  if (memory_.count_of(d) != 0) misused("a domain was destroyed before its regions");
  for (const auto& [qpn, p] : pairs_) {
    if (&p->of() == &d) misused("a domain was destroyed before its queue pairs");
  }
}

void adapter::destroyed(const completions& queue) noexcept {
  queues_.erase(&queue);
  for (const auto& [qpn, p] : pairs_) {
    if (p->feeds(queue)) misused("a completion queue was destroyed before its queue pairs");
  }
}

void adapter::destroyed(const shared_receives& queue) noexcept {
  shared_.erase(&queue);
  for (const auto& [qpn, p] : pairs_) {
    if (p->options().shared == &queue) {
      misused("a shared receive queue was destroyed before its queue pairs");
    }
  }
}

void adapter::misused(const char* what) noexcept { misuses_.emplace_back(what); }

}  // namespace smc::rdma::simulator
