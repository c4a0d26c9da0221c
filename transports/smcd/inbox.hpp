#pragma once
// The inbox of a link group's side: shared memory in which the peer says which connections have
// something new.
//
// Two rings of entries: one for the peer's loop thread, without a lock; one for all its other
// threads, which take a lock in their own process. A slot is one word: 0 is free, anything else an
// entry. The pusher fills the next slot, the owner empties it; neither reads the other's position.
//
// Sleeping and waking: system/doorbell.hpp.
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <smc/error.hpp>

#include "smc/counter.hpp"
#include "smcd/layout.hpp"
#include "system/descriptor.hpp"
#include "system/memory_budget.hpp"
#include "system/shared_block.hpp"

namespace smc::smcd {

/// The owner's side. Threading: one thread at a time.
class inbox {
 public:
  /// An inbox for so many entries in each ring (a power of two).
  reason create(std::size_t capacity, system::memory_budget& budget) noexcept;

  /// The next entry, or 0. Looks at one cache line in each ring.
  std::uint32_t take() noexcept;

  /// Announces sleep. False: there is an entry (and nothing is announced).
  bool before_sleep() noexcept;
  void after_sleep() noexcept;

  const system::descriptor& file() const noexcept { return memory_.file(); }
  std::size_t capacity() const noexcept { return mask_ + 1; }

 private:
  struct lane {
    shared_word* slots = nullptr;
    std::size_t next = 0;
  };
  std::uint32_t take_from(lane& from) noexcept;

  system::shared_block memory_;
  inbox_header* header_ = nullptr;
  std::size_t mask_ = 0;
  lane lanes_[2];
};

/// The pusher's side: the peer's inbox and its doorbell.
/// Threading: push(…, true) from one thread at a time, push(…, false) from any.
class outbox {
 public:
  /// Maps what the peer sent. protocol_error for what is no inbox or no doorbell.
  reason attach(system::descriptor file, system::descriptor doorbell, std::size_t max_connections,
                system::memory_budget& budget) noexcept;
  bool attached() const noexcept { return header_ != nullptr; }

  enum class outcome {
    quiet,  ///< the owner is awake
    rang,   ///< the owner slept: its doorbell was rung
    full    ///< there is no free slot: an honest owner always has one
  };
  outcome push(std::uint32_t word, bool on_loop_thread) noexcept;

  /// Doorbells rung, and entries that needed none.
  std::uint64_t wakeups_sent() const noexcept { return fast_.rang.get() + guarded_.rang.get(); }
  std::uint64_t wakeups_avoided() const noexcept {
    return fast_.quiet.get() + guarded_.quiet.get();
  }

 private:
  struct lane {
    shared_word* slots = nullptr;
    std::size_t next = 0;
    detail::single_writer_counter rang;
    detail::single_writer_counter quiet;
  };
  outcome push_to(lane& into, std::uint32_t word) noexcept;
  bool put(lane& into, std::uint32_t word) noexcept;

  system::shared_block memory_;
  system::descriptor doorbell_;
  inbox_header* header_ = nullptr;
  std::size_t mask_ = 0;
  lane fast_;
  lane guarded_;
  std::mutex mutex_;  // of guarded_
};

}  // namespace smc::smcd
