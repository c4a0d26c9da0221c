#pragma once
// Virtual time: events in the order of their time, and of their making where times are equal.
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

namespace smc::rdma::simulator {

/// Since the beginning of the simulation.
using moment = std::chrono::nanoseconds;

class event_queue {
 public:
  using handle = std::pair<moment, std::uint64_t>;
  using action = std::function<void()>;

  moment now() const noexcept { return now_; }

  /// A time that has passed is now.
  handle at(moment when, action what) {
    const handle h{when < now_ ? now_ : when, next_++};
    events_.emplace(h, std::move(what));
    return h;
  }
  handle after(moment delay, action what) { return at(now_ + delay, std::move(what)); }

  /// One that has happened is no error.
  void cancel(const handle& h) noexcept { events_.erase(h); }

  std::optional<moment> next() const noexcept {
    if (events_.empty()) return std::nullopt;
    return events_.begin()->first.first;
  }

  /// Goes to the next event and lets it happen; false where there is none.
  bool step() {
    if (events_.empty()) return false;
    auto node = events_.extract(events_.begin());
    now_ = node.key().first;
    node.mapped()();
    return true;
  }

  void run_until(moment when) {
    while (!events_.empty() && events_.begin()->first.first <= when) step();
    if (now_ < when) now_ = when;
  }

 private:
  moment now_{0};
  std::uint64_t next_ = 0;
  std::map<handle, action> events_;
};

}  // namespace smc::rdma::simulator
