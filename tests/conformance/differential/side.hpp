#pragma once
// What a script knows of one of its peers, from the steps so far: enough to say what the next one
// must do.
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "conformance/operation.hpp"

namespace smc::test {

/// A read that waits for bytes.
struct pending_read {
  std::size_t step;  ///< that began it
  std::size_t size;
  bool composed;
  std::size_t got = 0;                      ///< what a composed one has so far
  std::shared_ptr<std::string> into;        ///< its memory
  std::shared_ptr<std::size_t> progress{};  ///< what a composed one says it has so far
  operation op;
};

struct side {
  bool open = true;
  bool sending_ended = false;    ///< by its own shutdown
  bool receiving_ended = false;  ///< by its own shutdown
  bool end_comes = false;        ///< the peer's end, behind what is unread
  bool reset_comes = false;      ///< the peer's reset, behind what is unread
  std::size_t unread = 0;        ///< written by the peer and not read yet
  std::size_t written = 0;       ///< position in its stream of bytes
  std::size_t read = 0;          ///< position in the peer's
  std::deque<pending_read> reads;
  std::optional<operation> wait;  ///< for reading

  bool idle() const { return reads.empty() && !wait; }
  /// A read that finds nothing ends.
  bool at_end() const { return receiving_ended || end_comes || reset_comes; }
  bool live() const { return open && !sending_ended && !at_end(); }
};

}  // namespace smc::test
