#include "smc/close_state.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace smc::detail {
namespace {

constexpr std::uint32_t done = close_flag::sending_done;
constexpr std::uint32_t closed = close_flag::closed;
constexpr std::uint32_t aborted = close_flag::aborted;

TEST(CloseState, PhasesAreThoseOfTheKernel) {
  struct row {
    std::uint32_t sent, received;
    close_phase phase;
  };
  const std::vector<row> table{
      {0, 0, close_phase::active},
      {done, 0, close_phase::peer_close_wait},
      {closed, 0, close_phase::peer_close_wait},
      {done | closed, 0, close_phase::peer_close_wait},
      {0, done, close_phase::app_close_wait},
      {0, closed, close_phase::app_close_wait},
      {done, done, close_phase::app_close_wait},
      {done, closed, close_phase::app_fin_close_wait},
      {done, done | closed, close_phase::app_fin_close_wait},
      {closed, done, close_phase::peer_fin_close_wait},
      {0, aborted, close_phase::process_abort},
      {done, aborted, close_phase::process_abort},
      {closed, closed, close_phase::closed},
      {aborted, closed, close_phase::closed},
      {closed, aborted, close_phase::closed},
      {done | closed, done | aborted, close_phase::closed},
  };
  for (const auto& r : table) {
    EXPECT_EQ((close_state{r.sent, r.received}.phase()), r.phase) << r.sent << ' ' << r.received;
  }
}

TEST(CloseState, PhasesOnlyGoForward) {
  // Whatever flag is added by either side: buffers that may be reused stay so, and nobody may send
  // again.
  for (std::uint32_t s = 0; s < 8; ++s) {
    for (std::uint32_t r = 0; r < 8; ++r) {
      const close_state now{s << 5, r << 5};
      for (std::uint32_t bit = 0; bit < 3; ++bit) {
        for (const auto& later : {close_state{now.sent | 32u << bit, now.received},
                                  close_state{now.sent, now.received | 32u << bit}}) {
          EXPECT_TRUE(!now.buffers_reusable() || later.buffers_reusable());
          EXPECT_TRUE(now.can_send() || !later.can_send());
          EXPECT_TRUE(!now.peer_aborted() || later.peer_aborted());
        }
      }
    }
  }
}

TEST(CloseState, APublishedEndOfStreamWinsOverAnAbort) {
  EXPECT_TRUE(close_state::orderly_end(done));
  EXPECT_TRUE(close_state::orderly_end(closed));
  EXPECT_TRUE(close_state::orderly_end(done | aborted));
  EXPECT_FALSE(close_state::orderly_end(aborted));
  EXPECT_FALSE(close_state::orderly_end(0));
}

TEST(CloseState, UnreadInputTurnsACloseIntoAnAbort) {
  EXPECT_EQ(close_state::flags_of_close(0, false), closed);
  EXPECT_EQ(close_state::flags_of_close(0, true), aborted);
  EXPECT_EQ(close_state::flags_of_close(done, false), done | closed) << "as on the wire: C0";
  EXPECT_EQ(close_state::flags_of_close(done, true), done | aborted);
}

}  // namespace
}  // namespace smc::detail
