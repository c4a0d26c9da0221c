#pragma once
// How a connection ends. Each side sets flags, one after the other, never clears one; what a side
// may still do, and which error it gets, follows from its own flags and the peer's (RFC 7609
// section 4.8; states of Linux's net/smc).
#include <cstdint>

namespace smc::detail {

namespace close_flag {
inline constexpr std::uint32_t sending_done = 0x80;  ///< no more data, still reads
inline constexpr std::uint32_t closed = 0x40;        ///< no more data, reads nothing more
inline constexpr std::uint32_t aborted = 0x20;       ///< as closed, and data was thrown away
inline constexpr std::uint32_t all = sending_done | closed | aborted;
}  // namespace close_flag

/// A connection's state as the kernel names it, reduced to what shared memory needs: there is
/// nothing to flush, so the states that wait for a flush fall together with those behind them.
enum class close_phase : unsigned char {
  active,
  peer_close_wait,      ///< we sent done or closed, nothing from the peer
  app_close_wait,       ///< the peer sent done or closed; we have not closed
  app_fin_close_wait,   ///< we sent done, the peer closed; we have not closed
  peer_fin_close_wait,  ///< we closed, the peer sent done and has not closed
  process_abort,        ///< the peer aborted; we have not closed
  closed                ///< both closed or aborted: buffers may be reused
};

/// What one side knows.
struct close_state {
  std::uint32_t sent = 0;
  std::uint32_t received = 0;

  static constexpr bool ended(std::uint32_t flags) noexcept {
    return (flags & (close_flag::closed | close_flag::aborted)) != 0;
  }
  /// No more bytes will come after those published before.
  static constexpr bool sending_over(std::uint32_t flags) noexcept {
    return (flags & close_flag::all) != 0;
  }
  /// The bytes end with an end of stream rather than with a reset: it was published before a later
  /// abort, and wins.
  static constexpr bool orderly_end(std::uint32_t flags) noexcept {
    return (flags & (close_flag::sending_done | close_flag::closed)) != 0;
  }

  constexpr bool can_send() const noexcept { return !sending_over(sent) && !ended(received); }
  constexpr bool peer_aborted() const noexcept { return (received & close_flag::aborted) != 0; }
  /// Both sides are through: rings may serve another connection (RFC 7609 section 4.4.2).
  constexpr bool buffers_reusable() const noexcept { return ended(sent) && ended(received); }

  constexpr close_phase phase() const noexcept {
    if (buffers_reusable()) return close_phase::closed;
    if (ended(sent)) {
      return sending_over(received) ? close_phase::peer_fin_close_wait
                                    : close_phase::peer_close_wait;
    }
    if (peer_aborted()) return close_phase::process_abort;
    if (ended(received)) {
      return sending_over(sent) ? close_phase::app_fin_close_wait : close_phase::app_close_wait;
    }
    if (sending_over(received)) return close_phase::app_close_wait;
    return sending_over(sent) ? close_phase::peer_close_wait : close_phase::active;
  }

  /// The flags that close() sends: an orderly close, or an abort where received bytes are thrown
  /// away.
  static constexpr std::uint32_t flags_of_close(std::uint32_t sent_so_far,
                                                bool unread_input) noexcept {
    return sent_so_far | (unread_input ? close_flag::aborted : close_flag::closed);
  }
};

}  // namespace smc::detail
