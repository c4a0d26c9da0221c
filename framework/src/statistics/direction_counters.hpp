#pragma once
#include <cstddef>
#include <cstdint>
#include <smc/statistics.hpp>

#include "statistics/counter.hpp"
#include "statistics/request_histogram.hpp"
#include "stream/transport.hpp"

namespace smc::detail {

/// What the stream core counts for one direction of a connection. One thread at a time counts (the
/// one that uses the direction), any thread reads. On cache lines of its own: the other direction
/// may have another thread.
class alignas(64) direction_counters {
 public:
  /// A user call that moves bytes or waits to, by the size that it asks for; once per call.
  void request(std::size_t size) noexcept {
    request_sizes_.add(size);
    if (size > ring_size_) buffer_too_small_.add(1);
  }
  void transferred(std::size_t bytes) noexcept { bytes_.add(bytes); }
  /// The request had to wait: no space to write into, nothing to read. Once per request.
  void buffer_full() noexcept { buffer_full_.add(1); }
  /// What requests are compared with; 0: nothing is too large. Before the first request.
  void set_ring_size(std::size_t bytes) noexcept {
    ring_size_ = bytes != 0 ? bytes : static_cast<std::size_t>(-1);
  }

  void add(const direction_counters& other) noexcept;
  /// Adds these to `to`, and the transport's part with them.
  void add_to(direction_statistics& to, const transport_counters& transport) const;

 private:
  counter bytes_;
  counter buffer_full_;
  counter buffer_too_small_;
  request_histogram request_sizes_;
  std::size_t ring_size_ = static_cast<std::size_t>(-1);
};

/// Adds the counts of `from` to `to`, which may be empty.
void add_to(histogram& to, const request_histogram& from);

}  // namespace smc::detail
