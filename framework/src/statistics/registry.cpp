#include "statistics/registry.hpp"

#include <pthread.h>

namespace smc::detail {
namespace {

// Without a destructor: connections may end after the objects of static storage.
constinit registry the_registry;

void accumulate(transport_counters& to, const transport_counters& from) noexcept {
  to.buffer_full_remote += from.buffer_full_remote;
  to.buffer_too_small_remote += from.buffer_too_small_remote;
  to.wakeups_sent += from.wakeups_sent;
  to.wakeups_avoided += from.wakeups_avoided;
}

void add_wakeups(auto& to, const transport_counters& from) noexcept {
  to.wakeups_sent += from.wakeups_sent;
  to.wakeups_avoided += from.wakeups_avoided;
}

}  // namespace

registry& process_registry() noexcept { return the_registry; }

// A child forked while another thread held the lock would find it held for ever.
void registry::hold_over_fork() {
  static const int once =
      ::pthread_atfork([] { the_registry.mutex_.lock(); }, [] { the_registry.mutex_.unlock(); },
                       [] { the_registry.mutex_.unlock(); });
  (void)once;
}

void registry::opened(connection_record& record) noexcept {
  hold_over_fork();
  const transport_counters sent = record.connection_->counters(direction::write);
  const transport_counters received = record.connection_->counters(direction::read);
  record.sent.set_ring_size(sent.ring_size);
  record.received.set_ring_size(received.ring_size);
  const std::scoped_lock lock(mutex_);
  record.next_ = first_open_;
  if (first_open_ != nullptr) first_open_->previous_ = &record;
  first_open_ = &record;
  ++connections_[static_cast<std::size_t>(record.kind_)];
  ++open_connections_[static_cast<std::size_t>(record.kind_)];
  for (const std::size_t size : {sent.ring_size, received.ring_size}) {
    if (size != 0) ring_sizes_.add(size);
  }
}

void registry::ended(connection_record& record) noexcept {
  const std::scoped_lock lock(mutex_);
  if (record.connection_ == nullptr) return;
  record.last_sent_ = record.connection_->counters(direction::write);
  record.last_received_ = record.connection_->counters(direction::read);
  record.connection_ = nullptr;

  (record.previous_ != nullptr ? record.previous_->next_ : first_open_) = record.next_;
  if (record.next_ != nullptr) record.next_->previous_ = record.previous_;
  --open_connections_[static_cast<std::size_t>(record.kind_)];

  ended_sent_.add(record.sent);
  ended_received_.add(record.received);
  accumulate(ended_transport_sent_, record.last_sent_);
  accumulate(ended_transport_received_, record.last_received_);
}

connection_statistics registry::snapshot_of(const connection_record& record) {
  const std::scoped_lock lock(mutex_);
  connection_statistics result;
  const auto sent = record.transport_part(direction::write);
  const auto received = record.transport_part(direction::read);
  record.sent.add_to(result.sent, sent);
  record.received.add_to(result.received, received);
  result.sent.ring_size = sent.ring_size;
  result.received.ring_size = received.ring_size;
  add_wakeups(result, sent);
  add_wakeups(result, received);
  return result;
}

process_statistics registry::snapshot() {
  process_statistics result;
  {
    const std::scoped_lock lock(mutex_);
    const auto add = [&result](const direction_counters& sent,
                               const transport_counters& transport_sent,
                               const direction_counters& received,
                               const transport_counters& transport_received) {
      sent.add_to(result.sent, transport_sent);
      received.add_to(result.received, transport_received);
      add_wakeups(result, transport_sent);
      add_wakeups(result, transport_received);
    };
    add(ended_sent_, ended_transport_sent_, ended_received_, ended_transport_received_);
    for (const auto* record = first_open_; record != nullptr; record = record->next_) {
      add(record->sent, record->transport_part(direction::write), record->received,
          record->transport_part(direction::read));
    }
    add_to(result.ring_sizes, ring_sizes_);
    for (std::size_t i = 0; i < kinds; ++i) {
      result.connections[static_cast<transport_kind>(i)] = connections_[i];
      result.open_connections[static_cast<transport_kind>(i)] = open_connections_[i];
    }
  }
  for (std::size_t i = 0; i < reasons; ++i) {
    const std::uint64_t count = fallbacks_[i].load(std::memory_order_relaxed);
    if (count != 0) result.fallbacks[static_cast<reason>(i)] = count;
  }
  result.link_groups = link_groups_.load(std::memory_order_relaxed);
  return result;
}

void registry::fell_back(reason why) noexcept {
  if (why == reason::none) return;
  auto index = static_cast<std::size_t>(why);
  if (index >= reasons) index = static_cast<std::size_t>(reason::protocol_error);
  fallbacks_[index].fetch_add(1, std::memory_order_relaxed);
}

void count_fallback(reason why) noexcept { process_registry().fell_back(why); }

connection_record::connection_record(transport_kind kind, const connection& connection) noexcept
    : registry_(process_registry()), kind_(kind), connection_(&connection) {
  registry_.opened(*this);
}

void connection_record::finish() noexcept { registry_.ended(*this); }

connection_statistics connection_record::snapshot() const {
  return registry_.snapshot_of(*this);
}

transport_counters connection_record::transport_part(direction d) const noexcept {
  if (connection_ != nullptr) return connection_->counters(d);
  return d == direction::write ? last_sent_ : last_received_;
}

}  // namespace smc::detail

namespace smc {

process_statistics statistics() { return detail::process_registry().snapshot(); }

}  // namespace smc
