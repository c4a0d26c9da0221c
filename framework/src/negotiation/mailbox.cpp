#include "negotiation/mailbox.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "negotiation/envelope.hpp"

namespace smc::negotiation {

namespace {

constexpr std::uint64_t mailbox_magic = 0x31786f626c636d73;  // "smclbox1"
constexpr std::size_t record_header = sizeof(std::uint64_t);

static_assert((mailbox_capacity & (mailbox_capacity - 1)) == 0 &&
              mailbox_capacity >= 2 * max_message_size);

constexpr std::size_t record_size(std::size_t message) noexcept {
  return record_header + (message + 7) / 8 * 8;
}

std::byte* records_of(const system::shared_block& memory) noexcept {
  return memory.data() + (mailbox_size - mailbox_capacity);
}

/// Records may go round the end of the ring.
void copy_in(std::byte* ring, std::uint64_t at, std::span<const std::byte> from) noexcept {
  const std::size_t offset = at % mailbox_capacity;
  const std::size_t first = std::min(from.size(), mailbox_capacity - offset);
  std::memcpy(ring + offset, from.data(), first);
  std::memcpy(ring, from.data() + first, from.size() - first);
}

void copy_out(const std::byte* ring, std::uint64_t at, std::span<std::byte> into) noexcept {
  const std::size_t offset = at % mailbox_capacity;
  const std::size_t first = std::min(into.size(), mailbox_capacity - offset);
  std::memcpy(into.data(), ring + offset, first);
  std::memcpy(into.data() + first, ring, into.size() - first);
}

}  // namespace

reason mailbox::create(system::memory_budget& budget) noexcept {
  if (const auto why = memory_.create("smc-mailbox", mailbox_size, budget); why != reason::none)
    return why;
  header_ = new (memory_.data()) mailbox_header{};
  header_->version.store(mailbox_version, std::memory_order_relaxed);
  header_->magic.store(mailbox_magic, std::memory_order_release);
  return reason::none;
}

mailbox::outcome mailbox::take(std::span<std::byte> into, std::size_t& size) noexcept {
  const std::uint64_t taken = taken_.load(std::memory_order_relaxed);
  const std::uint64_t there = header_->written.load(std::memory_order_acquire) - taken;
  if (there == 0) return outcome::none;
  // Nothing of what the peer wrote is believed: not the cursor, not the length.
  if (there > mailbox_capacity || there < record_header) return outcome::violation;
  const std::byte* ring = records_of(memory_);
  std::uint64_t length = 0;
  copy_out(ring, taken, std::as_writable_bytes(std::span(&length, 1)));
  if (length > into.size() || record_size(static_cast<std::size_t>(length)) > there)
    return outcome::violation;
  size = static_cast<std::size_t>(length);
  copy_out(ring, taken + record_header, into.first(size));
  taken_.store(taken + record_size(size), std::memory_order_relaxed);
  header_->taken.store(taken + record_size(size), std::memory_order_release);
  return outcome::taken;
}

reason mail_sender::attach(system::descriptor file, system::descriptor doorbell,
                           system::memory_budget& budget) noexcept {
  if (attached() || !system::is_doorbell(doorbell)) return reason::protocol_error;
  system::shared_block memory;
  if (const auto why = memory.attach(std::move(file), mailbox_size, budget); why != reason::none)
    return why;
  auto* header = reinterpret_cast<mailbox_header*>(memory.data());
  if (header->magic.load(std::memory_order_acquire) != mailbox_magic) return reason::protocol_error;
  if (header->version.load(std::memory_order_relaxed) != mailbox_version)
    return reason::version_mismatch;
  memory_ = std::move(memory);
  doorbell_ = std::move(doorbell);
  header_ = header;
  return reason::none;
}

bool mail_sender::send(std::span<const std::byte> packet, bool wake) noexcept {
  const std::size_t size = record_size(packet.size());
  const std::uint64_t used = written_ - header_->taken.load(std::memory_order_acquire);
  if (used > mailbox_capacity || mailbox_capacity - used < size) return false;
  const std::uint64_t length = packet.size();
  std::byte* ring = records_of(memory_);
  copy_in(ring, written_, std::as_bytes(std::span(&length, 1)));
  copy_in(ring, written_ + record_header, packet);
  written_ += size;
  header_->written.store(written_, std::memory_order_seq_cst);
  if (wake) system::ring_if_asleep(header_->sleeping, doorbell_);
  return true;
}

}  // namespace smc::negotiation
