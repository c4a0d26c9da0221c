#include "smcr/simulator/completion_queue.hpp"

#include <algorithm>

#include "smcr/simulator/adapter.hpp"
#include "smcr/simulator/network.hpp"
#include "smcr/simulator/queue_pair.hpp"
#include "system/events.hpp"

namespace smc::rdma::simulator {

void bell::ring() noexcept {
  rung_ = true;
  if (event_) static_cast<void>(system::ring(event_));
}

void bell::silence() noexcept {
  rung_ = false;
  if (event_) static_cast<void>(system::clear(event_));
}

int bell::descriptor() noexcept {
  if (!event_) {
    event_ = system::create_event().value;
    if (rung_ && event_) static_cast<void>(system::ring(event_));
  }
  return event_.get();
}

completions::~completions() {
  for (const auto& h : coming_) owner_.net().events().cancel(h);
  owner_.destroyed(*this);
}

std::ptrdiff_t completions::poll(std::span<completion> into) noexcept {
  if (broken_) return -1;
  const std::size_t n = std::min(into.size(), visible_);
  for (std::size_t i = 0; i < n; ++i) {
    const entry& e = entries_.front();
    into[i] = e.what;
    if (pair* p = owner_.find_pair(e.what.qpn)) p->polled(e.frees);
    entries_.pop_front();
  }
  visible_ -= n;
  return static_cast<std::ptrdiff_t>(n);
}

std::error_code completions::arm(bool solicited_only) noexcept {
  if (owner_.failed()) return system::error_of(EIO);
  // Waiting for everything is never narrowed down.
  if (armed_ != armed::any) armed_ = solicited_only ? armed::solicited : armed::any;
  return {};
}

void completions::add(const completion& c, const slot_release& frees, bool solicited) {
  if (broken_) return;
  if (entries_.size() == depth_) {
    broken_ = true;
    owner_.overrun(*this);
    return;
  }
  ++total_;
  entries_.push_back({c, frees, solicited || c.status != completion_status::success});
  most_ = std::max(most_, entries_.size());
  event_queue& events = owner_.net().events();
  const moment cost = owner_.options().cost_per_completion;
  if (cost == moment(0)) {
    show_next();
    return;
  }
  busy_until_ = std::max(busy_until_, events.now()) + cost;
  coming_.push_back(events.at(busy_until_, [this] {
    coming_.pop_front();
    show_next();
  }));
}

void completions::show_next() {
  if (visible_ == entries_.size()) return;  // it was removed
  ring_for(entries_[visible_++]);
}

void completions::ring_for(const entry& e) {
  if (armed_ == armed::no || (armed_ == armed::solicited && !e.wakes)) return;
  armed_ = armed::no;
  bell_.ring();
  owner_.net().rang(*this);
}

void completions::remove_all_of(std::uint32_t qpn) noexcept {
  for (std::size_t i = entries_.size(); i-- > 0;) {
    if (entries_[i].what.qpn != qpn) continue;
    entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(i));
    if (i < visible_) --visible_;
  }
}

}  // namespace smc::rdma::simulator
