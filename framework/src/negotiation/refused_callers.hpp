#pragma once
#include <sys/types.h>

#include <array>
#include <chrono>

namespace smc::negotiation {

/// The users who called an announcer lately and were refused, or hung up because they refuse its
/// user: the last few.
class refused_callers {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  /// Longer than a client keeps what it has found out (100 ms), so that each of its connections has
  /// a call that is remembered.
  static constexpr std::chrono::seconds remembered{1};

  void note(uid_t user, time_point now) noexcept {
    entry* oldest = &entries_.front();
    for (entry& each : entries_) {
      if (each.user == user) {
        each.until = now + remembered;
        return;
      }
      if (each.until < oldest->until) oldest = &each;
    }
    *oldest = {user, now + remembered};
  }
  bool any(time_point now) const noexcept {
    for (const entry& each : entries_) {
      if (each.until > now) return true;
    }
    return false;
  }
  bool contains(uid_t user, time_point now) const noexcept {
    for (const entry& each : entries_) {
      if (each.user == user && each.until > now) return true;
    }
    return false;
  }

 private:
  struct entry {
    uid_t user = static_cast<uid_t>(-1);
    time_point until{};
  };
  std::array<entry, 8> entries_;
};

}  // namespace smc::negotiation
