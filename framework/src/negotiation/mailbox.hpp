#pragma once
// The way of a link's messages between peers that are awake: shared memory, no system call.
//
// The memory belongs to the receiver; only this link's peer gets it. It holds one ring of records:
// length (8 bytes), then a message of the envelope, rounded up to 8 bytes. Cursors count bytes
// since the beginning and have a line for each side. Sleeping and waking: system/doorbell.hpp.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <smc/error.hpp>
#include <span>

#include "system/descriptor.hpp"
#include "system/doorbell.hpp"
#include "system/memory_budget.hpp"
#include "system/shared_block.hpp"

namespace smc::negotiation {

inline constexpr std::uint32_t mailbox_version = 1;
inline constexpr std::size_t mailbox_capacity = 16384;  ///< bytes of records
inline constexpr std::size_t mailbox_size = 4096 + mailbox_capacity;

struct mailbox_header {
  alignas(128) std::atomic<std::uint64_t> magic;
  std::atomic<std::uint32_t> version;
  alignas(128) std::atomic<std::uint64_t> written;  ///< the sender's cursor
  alignas(128) std::atomic<std::uint64_t> taken;    ///< the receiver's cursor
  alignas(128) system::sleep_word sleeping;
};
static_assert(sizeof(mailbox_header) == 4 * 128);

/// The receiver's side. Threading: one thread at a time; has_mail() and the sleeping: any.
class mailbox {
 public:
  reason create(system::memory_budget& budget) noexcept;
  const system::descriptor& file() const noexcept { return memory_.file(); }

  bool has_mail() const noexcept {
    return header_->written.load(std::memory_order_acquire) !=
           taken_.load(std::memory_order_relaxed);
  }

  enum class outcome { none, taken, violation };
  /// Copies the next message out: what is decoded must not change under the decoder's eyes.
  outcome take(std::span<std::byte> into, std::size_t& size) noexcept;

  bool before_sleep() noexcept {
    return system::announce_sleep(header_->sleeping, [this] {
      return header_->written.load(std::memory_order_seq_cst) ==
             taken_.load(std::memory_order_relaxed);
    });
  }
  void after_sleep() noexcept { system::end_sleep(header_->sleeping); }

 private:
  system::shared_block memory_;
  mailbox_header* header_ = nullptr;
  std::atomic<std::uint64_t> taken_{0};  // ours: the peer can write over the one in the header
};

/// The sender's side: the peer's mailbox and doorbell. Threading: one thread at a time.
class mail_sender {
 public:
  /// protocol_error for what is no mailbox or no doorbell.
  reason attach(system::descriptor file, system::descriptor doorbell,
                system::memory_budget& budget) noexcept;
  bool attached() const noexcept { return header_ != nullptr; }

  /// False: there is no room now. `wake`: a receiver that sleeps is to read it at once.
  bool send(std::span<const std::byte> packet, bool wake) noexcept;

 private:
  system::shared_block memory_;
  system::descriptor doorbell_;
  mailbox_header* header_ = nullptr;
  std::uint64_t written_ = 0;
};

}  // namespace smc::negotiation
