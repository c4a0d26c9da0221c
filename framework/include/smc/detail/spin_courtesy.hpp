#pragma once
// When a spinning loop lets others in: descriptors and timers, then the processes of its CPU.
#include <algorithm>
#include <chrono>

namespace smc::detail {

/// A peer on a CPU of its own answers soonest while nobody makes a system call. A peer that shares
/// this CPU can't answer before it is let in, and a peer that is about to connect speaks through a
/// descriptor first. Which of them the loop has shows in how its waits end: patient waits poll for
/// a while before they let others in, hasty ones do it almost at once. Two patient waits in vain
/// make the next ones hasty, until a patient one, tried now and then, pays. Where what is waited
/// for is there as soon as this CPU was given away, time and again, it is given away at once, but
/// for a trial now and then. Not thread-safe.
class spin_courtesy {
 public:
  using duration = std::chrono::nanoseconds;

  static constexpr duration hasty_poll = std::chrono::microseconds(2);
  static constexpr duration patient_poll = std::chrono::microseconds(25);
  static constexpr unsigned vain_waits_to_hasten = 2;
  static constexpr unsigned shortest_haste = 32;  // waits
  static constexpr unsigned longest_haste = 1024;
  static constexpr unsigned haste_after_descriptor = 8;
  static constexpr unsigned yields_to_trust = 8;  // in a row
  static constexpr unsigned waits_per_trial = 64;

  /// Whether the next wait lets others in before it has polled for long.
  bool at_once() noexcept {
    return trusted_yields_ == yields_to_trust && ++waits_at_once_ % waits_per_trial != 0;
  }

  /// How long the next wait polls at first. A peer that makes one of the system calls that take
  /// `call_cost` is not away.
  duration first_poll(duration call_cost) const noexcept {
    return hasty_waits_ != 0 ? hasty_poll : std::max(patient_poll, call_cost * 4);
  }

  /// A wait ended within its first poll.
  void paid() noexcept {
    trusted_yields_ = 0;
    if (hasty_waits_ != 0) {
      --hasty_waits_;
    } else {
      vain_waits_ = 0;
      haste_ = shortest_haste;
    }
  }

  /// A wait outlasted its first poll.
  void in_vain() noexcept {
    if (hasty_waits_ != 0) {
      --hasty_waits_;
    } else if (++vain_waits_ >= vain_waits_to_hasten) {
      hasty_waits_ = haste_;
      haste_ = std::min(longest_haste, haste_ * 2);
    }
  }

  /// What was waited for was, or was not, there when the CPU came back for the first time.
  void yielded(bool met) noexcept {
    trusted_yields_ = met ? std::min(trusted_yields_ + 1, yields_to_trust) : 0;
  }

  /// Something came that polling can't see.
  void descriptor_was_ready() noexcept {
    hasty_waits_ = std::max(hasty_waits_, haste_after_descriptor);
  }

 private:
  unsigned hasty_waits_ = 0;  // still to come
  unsigned vain_waits_ = 0;   // patient ones, in a row
  unsigned haste_ = shortest_haste;
  unsigned trusted_yields_ = 0;
  unsigned waits_at_once_ = 0;
};

}  // namespace smc::detail
