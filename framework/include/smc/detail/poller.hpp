#pragma once

namespace smc::detail {

/// Something outside of the kernel that a loop looks at each turn: the ready rings of a link group,
/// a completion queue. All functions are called by the loop's thread; they must not add or remove
/// pollers.
class poller {
 public:
  /// Looks once. True if something was made ready, that is, nodes were pushed to the loop.
  virtual bool poll() noexcept = 0;
  /// Announces that the loop is going to sleep, then looks once more. False: something is there,
  /// don't sleep.
  virtual bool before_sleep() noexcept = 0;
  /// Takes the announcement back. Follows each before_sleep(), whatever it answered and whether the
  /// loop slept, before any handler runs.
  virtual void after_sleep() noexcept = 0;

 protected:
  ~poller() = default;
};

}  // namespace smc::detail
