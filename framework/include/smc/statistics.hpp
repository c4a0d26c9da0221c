#pragma once
// What was moved, in which sizes, how often it had to wait, and why connections are not faster.
//
// stream.statistics() tells about one connection, statistics() about the process: all its
// connections since it started, open and closed. Figures are read while others count: each is
// exact, but two of them may be a few operations apart. Counting costs the data path no atomic
// read-modify-write.
#include <cstddef>
#include <cstdint>
#include <map>
#include <smc/error.hpp>
#include <smc/transport_kind.hpp>
#include <utility>
#include <vector>

namespace smc {

/// Counts by size: (upper bound in bytes, count), rising; the bounds are 8 KiB, 16 KiB … 512 MiB.
/// An entry counts what is at most its bound and more than the bound before; the last one counts
/// all that is larger, too.
struct histogram {
  std::vector<std::pair<std::size_t, std::uint64_t>> buckets;

  bool operator==(const histogram&) const = default;
};

/// One direction. "Full" and "too small" are about requests; a request is counted in each at most
/// once.
struct direction_statistics {
  std::uint64_t bytes = 0;
  /// User calls that moved bytes, or waited to; one for each commit or consume.
  std::uint64_t requests = 0;
  /// Sent: found no space to write into. Received: found nothing to read.
  std::uint64_t buffer_full = 0;
  /// The same, of the peer's ring where it is another one than the local buffer.
  std::uint64_t buffer_full_remote = 0;
  /// Larger than the ring.
  std::uint64_t buffer_too_small = 0;
  std::uint64_t buffer_too_small_remote = 0;
  /// By the size that was asked for; sums to `requests`.
  histogram request_sizes;
  /// Bytes, of a connection; 0 on TCP and in the process's sums.
  std::size_t ring_size = 0;
};

struct connection_statistics {
  direction_statistics sent;
  direction_statistics received;
  /// Wake-ups of the peer that cost a system call, and those that were not needed since it was
  /// awake.
  std::uint64_t wakeups_sent = 0;
  std::uint64_t wakeups_avoided = 0;
};

struct process_statistics {
  direction_statistics sent;
  direction_statistics received;
  /// Of all connections with rings, one entry for each direction's ring.
  histogram ring_sizes;
  /// Established since the process started, and of these those that are open. Each kind has an
  /// entry.
  std::map<transport_kind, std::uint64_t> connections;
  std::map<transport_kind, std::uint64_t> open_connections;
  /// Connections that are TCP although something faster was wanted; only reasons that occurred.
  std::map<reason, std::uint64_t> fallbacks;
  /// That exist now.
  std::uint64_t link_groups = 0;
  std::uint64_t wakeups_sent = 0;
  std::uint64_t wakeups_avoided = 0;
};

/// A snapshot of the process, in time proportional to the open connections (about 0.1 µs each). Any
/// thread.
process_statistics statistics();

}  // namespace smc
