#pragma once
#include <smc/statistics.hpp>
#include <smc/transport_kind.hpp>

#include "statistics/direction_counters.hpp"
#include "stream/transport.hpp"

namespace smc::detail {

/// An established connection's place in the statistics: counted as open from construction to
/// finish(), with its figures kept beyond that.
///
/// Requires: `connection` lives until finish() or destruction, and its counters() may be called by
/// any thread. Threading: sent and received as direction_counters; finish() when nobody counts any
/// more; the rest any thread.
class registry;

class connection_record {
 public:
  connection_record(transport_kind kind, const connection& connection) noexcept;
  ~connection_record() { finish(); }
  connection_record(const connection_record&) = delete;
  connection_record& operator=(const connection_record&) = delete;

  /// The connection ends: adds its figures to the process's and looks at it no more. Again:
  /// nothing.
  void finish() noexcept;

  connection_statistics snapshot() const;

  direction_counters sent;
  direction_counters received;

 private:
  friend class registry;

  transport_counters transport_part(direction d) const noexcept;

  // Where two shared libraries contain this one, what one of them opened may end in the other's code.
  registry& registry_;
  const transport_kind kind_;
  const connection* connection_;  // guarded by the registry's lock, as what follows; null: finished
  transport_counters last_sent_;
  transport_counters last_received_;
  connection_record* previous_ = nullptr;
  connection_record* next_ = nullptr;
};

}  // namespace smc::detail
