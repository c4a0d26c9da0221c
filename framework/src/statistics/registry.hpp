#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <smc/error.hpp>
#include <smc/statistics.hpp>

#include "statistics/connection_record.hpp"

namespace smc::detail {

/// The process's statistics: open connections, and the sums of those that have ended. Any thread.
class registry {
 public:
  constexpr registry() = default;

  void opened(connection_record& record) noexcept;
  void ended(connection_record& record) noexcept;
  connection_statistics snapshot_of(const connection_record& record);
  process_statistics snapshot();

  void fell_back(reason why) noexcept;
  void link_group_opened() noexcept { link_groups_.fetch_add(1, std::memory_order_relaxed); }
  void link_group_closed() noexcept { link_groups_.fetch_sub(1, std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kinds = static_cast<std::size_t>(transport_kind::other) + 1;
  static constexpr std::size_t reasons = static_cast<std::size_t>(reason::not_permitted) + 1;

  static void hold_over_fork();

  // Guarded by mutex_:
  std::mutex mutex_;
  connection_record* first_open_ = nullptr;
  direction_counters ended_sent_;
  direction_counters ended_received_;
  transport_counters ended_transport_sent_;
  transport_counters ended_transport_received_;
  request_histogram ring_sizes_;
  std::array<std::uint64_t, kinds> connections_{};
  std::array<std::uint64_t, kinds> open_connections_{};

  std::array<std::atomic<std::uint64_t>, reasons> fallbacks_{};
  std::atomic<std::uint64_t> link_groups_{0};
};

registry& process_registry() noexcept;

/// A connection that is TCP although something faster was wanted. Reasons of later versions count
/// as protocol_error.
void count_fallback(reason why) noexcept;

/// Counts a link group while it exists.
class link_group_record {
 public:
  link_group_record() noexcept { process_registry().link_group_opened(); }
  ~link_group_record() { process_registry().link_group_closed(); }
  link_group_record(const link_group_record&) = delete;
  link_group_record& operator=(const link_group_record&) = delete;
};

}  // namespace smc::detail
