#include "statistics/direction_counters.hpp"

namespace smc::detail {

void add_to(histogram& to, const request_histogram& from) {
  if (to.buckets.empty()) {
    to.buckets.reserve(request_histogram::bucket_count);
    for (std::size_t i = 0; i < request_histogram::bucket_count; ++i) {
      to.buckets.emplace_back(request_histogram::upper_bound(i), 0);
    }
  }
  for (std::size_t i = 0; i < request_histogram::bucket_count; ++i)
    to.buckets[i].second += from.count(i);
}

void direction_counters::add(const direction_counters& other) noexcept {
  bytes_.add(other.bytes_.value());
  buffer_full_.add(other.buffer_full_.value());
  buffer_too_small_.add(other.buffer_too_small_.value());
  request_sizes_.add(other.request_sizes_);
}

void direction_counters::add_to(direction_statistics& to,
                                const transport_counters& transport) const {
  to.bytes += bytes_.value();
  to.buffer_full += buffer_full_.value();
  to.buffer_full_remote += transport.buffer_full_remote;
  to.buffer_too_small += buffer_too_small_.value();
  to.buffer_too_small_remote += transport.buffer_too_small_remote;
  detail::add_to(to.request_sizes, request_sizes_);
  // Not a counter of its own: the histogram sums to the requests at any moment.
  to.requests = 0;
  for (const auto& [bound, count] : to.request_sizes.buckets) to.requests += count;
}

}  // namespace smc::detail
