#pragma once
// What a test wants to go wrong on the in-memory transport (memory_transport.hpp).
//
//   injected_faults faults({.server = {.reads = {.blocked_tries = 3}}});
//   … connect, transfer …
//   EXPECT_EQ(faults.left().server.reads.blocked_tries, 0u);
//
// Faults are the process's: they hold for connections that live already and for those to come,
// until they are set anew or the scope ends. What is counted counts down, so that a test can see
// whether it happened. Threading: any thread.
#include <cstddef>
#include <smc/error.hpp>

#include "stream/transport.hpp"

namespace smc::test {

inline constexpr std::size_t unlimited = static_cast<std::size_t>(-1);

enum class memory_side : unsigned char { client, server };

struct direction_faults {
  std::size_t blocked_tries = 0;  ///< so many tries answer would_block for nothing
  std::size_t idle_wakeups = 0;   ///< so many armed waiters are told for nothing
  std::size_t most = unlimited;   ///< bytes that one transfer moves
};

struct side_faults {
  direction_faults reads{};
  direction_faults writes{};
  std::size_t breaks_after = unlimited;  ///< bytes that this side writes: then both are reset
};

/// A step of the handshake that fails the number-th time it comes; 0: never.
struct failing_call {
  unsigned number = 0;
  reason why = reason::none;
};

struct memory_faults {
  reason probe = reason::none;
  failing_call answer{};
  failing_call confirm{};
  failing_call establish{};
  side_faults client{};
  side_faults server{};
};

/// Sets the faults, and at its end none.
class injected_faults {
 public:
  explicit injected_faults(const memory_faults& wanted = {}) { set(wanted); }
  ~injected_faults() { set({}); }
  injected_faults(const injected_faults&) = delete;
  injected_faults& operator=(const injected_faults&) = delete;

  static void set(const memory_faults& wanted);
  /// What has not happened yet.
  static memory_faults left();
};

/// For the transport: what happens now, counted down.
namespace faults {

reason probe();
reason at_step(failing_call memory_faults::*step);
bool takes_blocked_try(memory_side side, detail::direction d);
bool takes_idle_wakeup(memory_side side, detail::direction d);
std::size_t most(memory_side side, detail::direction d);
std::size_t left_before_break(memory_side side);
void written(memory_side side, std::size_t n);

}  // namespace faults

}  // namespace smc::test
