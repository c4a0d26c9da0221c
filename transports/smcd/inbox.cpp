#include "smcd/inbox.hpp"

#include <bit>
#include <new>
#include <utility>

#include "system/doorbell.hpp"

namespace smc::smcd {

namespace {

constexpr std::size_t max_capacity = inbox_capacity(std::size_t{1} << entry::number_bits);

shared_word* first_slot(std::byte* base) noexcept {
  return reinterpret_cast<shared_word*>(base + sizeof(inbox_header));
}

}  // namespace

reason inbox::create(std::size_t capacity, system::memory_budget& budget) noexcept {
  if (!std::has_single_bit(capacity) || capacity > max_capacity) return reason::no_memory;
  if (const auto why = memory_.create("smc-inbox", inbox_bytes(capacity), budget);
      why != reason::none) {
    return why;
  }
  header_ = new (memory_.data()) inbox_header{};
  mask_ = capacity - 1;
  lanes_[0].slots = first_slot(memory_.data());
  lanes_[1].slots = lanes_[0].slots + capacity;
  for (std::size_t i = 0; i < 2 * capacity; ++i) new (lanes_[0].slots + i) shared_word(0);
  header_->capacity.store(static_cast<std::uint32_t>(capacity), std::memory_order_relaxed);
  header_->version.store(layout_version, std::memory_order_relaxed);
  header_->magic.store(inbox_magic, std::memory_order_release);
  return reason::none;
}

std::uint32_t inbox::take_from(lane& from) noexcept {
  auto& slot = from.slots[from.next & mask_];
  const auto word = slot.load(std::memory_order_acquire);
  if (word == 0) return 0;
  slot.store(0, std::memory_order_release);
  ++from.next;
  return word;
}

std::uint32_t inbox::take() noexcept {
  const auto word = take_from(lanes_[0]);
  return word != 0 ? word : take_from(lanes_[1]);
}

bool inbox::before_sleep() noexcept {
  return system::announce_sleep(header_->sleeping, [this] {
    for (const lane& from : lanes_) {
      if (from.slots[from.next & mask_].load(std::memory_order_seq_cst) != 0) return false;
    }
    return true;
  });
}

void inbox::after_sleep() noexcept { system::end_sleep(header_->sleeping); }

reason outbox::attach(system::descriptor file, system::descriptor doorbell,
                      std::size_t max_connections, system::memory_budget& budget) noexcept {
  if (attached()) return reason::protocol_error;
  const auto capacity = inbox_capacity(max_connections);
  if (!std::has_single_bit(capacity) || capacity > max_capacity) return reason::protocol_error;
  if (!system::is_doorbell(doorbell)) return reason::protocol_error;
  system::shared_block memory;
  if (const auto why = memory.attach(std::move(file), inbox_bytes(capacity), budget);
      why != reason::none) {
    return why;
  }
  auto* header = reinterpret_cast<inbox_header*>(memory.data());
  if (header->magic.load(std::memory_order_acquire) != inbox_magic ||
      header->capacity.load(std::memory_order_relaxed) != capacity) {
    return reason::protocol_error;
  }
  if (header->version.load(std::memory_order_relaxed) != layout_version) {
    return reason::version_mismatch;
  }
  memory_ = std::move(memory);
  doorbell_ = std::move(doorbell);
  mask_ = capacity - 1;
  fast_.slots = first_slot(memory_.data());
  guarded_.slots = fast_.slots + capacity;
  header_ = header;
  return reason::none;
}

bool outbox::put(lane& into, std::uint32_t word) noexcept {
  auto& slot = into.slots[into.next & mask_];
  if (slot.load(std::memory_order_acquire) != 0) return false;
  slot.store(word, std::memory_order_seq_cst);
  ++into.next;
  return true;
}

outbox::outcome outbox::push_to(lane& into, std::uint32_t word) noexcept {
  if (!put(into, word)) return outcome::full;
  if (!system::ring_if_asleep(header_->sleeping, doorbell_)) {
    into.quiet.add(1);
    return outcome::quiet;
  }
  into.rang.add(1);
  return outcome::rang;
}

outbox::outcome outbox::push(std::uint32_t word, bool on_loop_thread) noexcept {
  if (on_loop_thread) return push_to(fast_, word);
  std::lock_guard lock(mutex_);
  return push_to(guarded_, word);
}

}  // namespace smc::smcd
