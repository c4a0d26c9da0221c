#pragma once
// A script: what two connected peers do, step by step. Random, the same for a seed everywhere.
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace smc::test {

enum class verb {
  write,           ///< asio::async_write
  write_some,      ///< async_write_some
  write_now,       ///< write_some in the calling thread, non-blocking
  write_in_place,  ///< prepare and commit; for the reference: write
  read,            ///< asio::async_read
  read_some,       ///< async_read_some
  read_now,        ///< read_some in the calling thread, non-blocking
  read_in_place,   ///< data and consume; for the reference: read
  wait_read,
  wait_write,
  cancel_one,  ///< a pending operation by its slot
  cancel_all,
  available,
  shutdown_send,
  shutdown_receive,
  shutdown_both,
  close,
  reset,     ///< close with a linger of zero
  exchange,  ///< more than any buffer holds, in one direction or both, read meanwhile
  overfill,  ///< writes until there is no room, and cancels one more write
  reconnect
};

/// What of it can be done depends on what was done before; the rest is left out (play()). So any
/// part of a script is a script.
struct step {
  verb what = verb::write;
  bool by_client = false;
  std::size_t size = 0;    ///< bytes; how many cannot be more than the buffers hold
  std::size_t pieces = 1;  ///< buffers that they are spread over
  unsigned variant = 0;    ///< chooses between what the verb leaves open
};

using script = std::vector<step>;

script random_script(std::uint64_t seed);

std::ostream& operator<<(std::ostream& to, const step& what);

}  // namespace smc::test
