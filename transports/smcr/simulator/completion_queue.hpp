#pragma once
// A simulated completion queue.
#include <cstdint>
#include <deque>

#include "smcr/device.hpp"
#include "smcr/simulator/event_queue.hpp"
#include "system/descriptor.hpp"

namespace smc::rdma::simulator {

class adapter;

/// A bell that may be waited for with poll() and the like; no descriptor is opened before somebody
/// asks for it.
class bell {
 public:
  void ring() noexcept;
  void silence() noexcept;
  bool rung() const noexcept { return rung_; }
  int descriptor() noexcept;

 private:
  system::descriptor event_;
  bool rung_ = false;
};

/// What a completion frees when it is polled.
struct slot_release {
  bool receive = false;
  std::uint64_t count = 0;  ///< requests of this queue pair's queue that are over
};

class completions final : public rdma::completion_queue {
 public:
  completions(adapter& owner, std::uint32_t depth) noexcept : owner_(owner), depth_(depth) {}
  completions(const completions&) = delete;
  ~completions() override;

  std::ptrdiff_t poll(std::span<completion> into) noexcept override;
  std::error_code arm(bool solicited_only) noexcept override;
  int descriptor() noexcept override { return bell_.descriptor(); }
  void acknowledge() noexcept override { bell_.silence(); }
  std::uint32_t depth() const noexcept override { return depth_; }

  /// By the device.
  void add(const completion& c, const slot_release& frees, bool solicited);
  void remove_all_of(std::uint32_t qpn) noexcept;

  bool broken() const noexcept { return broken_; }
  bool rung() const noexcept { return bell_.rung(); }
  std::uint64_t total() const noexcept { return total_; }
  std::size_t most() const noexcept { return most_; }

 private:
  enum class armed : std::uint8_t { no, solicited, any };
  struct entry {
    completion what;
    slot_release frees;
    bool wakes = false;  ///< also those who wait for solicited ones only
  };

  void show_next();
  void ring_for(const entry& e);

  adapter& owner_;
  std::uint32_t depth_;
  std::deque<entry> entries_;
  std::size_t visible_ = 0;
  moment busy_until_{0};
  armed armed_ = armed::no;
  bool broken_ = false;
  bell bell_;
  std::uint64_t total_ = 0;  ///< completions ever added
  std::size_t most_ = 0;     ///< most that it held at once
  std::deque<event_queue::handle> coming_;
};

}  // namespace smc::rdma::simulator
