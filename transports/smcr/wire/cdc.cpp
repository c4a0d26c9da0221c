#include "smcr/wire/cdc.hpp"

#include <algorithm>
#include <concepts>

#include "negotiation/byte_cursor.hpp"

namespace smc::cdc {
namespace {

namespace bit {
constexpr unsigned writer_blocked = 0x80;
constexpr unsigned urgent_pending = 0x40;
constexpr unsigned urgent_present = 0x20;
constexpr unsigned update_requested = 0x10;
constexpr unsigned failover_validation = 0x08;

constexpr unsigned sending_done = 0x80;
constexpr unsigned closed = 0x40;
constexpr unsigned aborted = 0x20;
}  // namespace bit

constexpr std::size_t producer_offset = 8;
constexpr std::size_t consumer_offset = 16;
constexpr std::size_t flags_offset = 24;

template <std::unsigned_integral T>
void store(std::span<std::byte, message_size> out, std::size_t at, T value) noexcept {
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    out[at + i] =
        static_cast<std::byte>(static_cast<std::uint8_t>(value >> 8 * (sizeof(T) - 1 - i)));
  }
}

void store(std::span<std::byte, message_size> out, std::size_t at, const cursor& c) noexcept {
  store(out, at + 2, c.wrap);
  store(out, at + 4, c.count);
}

cursor cursor_of(negotiation::byte_reader<std::endian::big>& in) noexcept {
  in.skip(2);
  cursor c;
  c.wrap = in.integer<std::uint16_t>();
  c.count = in.integer<std::uint32_t>();
  return c;
}

constexpr unsigned when(bool condition, unsigned b) noexcept { return condition ? b : 0; }

}  // namespace

decoded<message> decode(std::span<const std::byte> received) noexcept {
  if (received.size() < message_size) return decode_error::truncated;
  if (received.size() > message_size) return decode_error::too_long;
  negotiation::byte_reader<std::endian::big> in(received);
  if (in.integer<std::uint8_t>() != std::to_integer<std::uint8_t>(message_type)) {
    return decode_error::unknown_type;
  }
  if (in.integer<std::uint8_t>() != message_size) return decode_error::bad_length;

  message m;
  m.seqno = in.integer<std::uint16_t>();
  m.token = in.integer<std::uint32_t>();
  m.producer = cursor_of(in);
  m.consumer = cursor_of(in);
  const unsigned producing = in.integer<std::uint8_t>();
  m.producing = {(producing & bit::writer_blocked) != 0, (producing & bit::urgent_pending) != 0,
                 (producing & bit::urgent_present) != 0, (producing & bit::update_requested) != 0,
                 (producing & bit::failover_validation) != 0};
  const unsigned state = in.integer<std::uint8_t>();
  m.state = {(state & bit::sending_done) != 0, (state & bit::closed) != 0,
             (state & bit::aborted) != 0};
  return m;
}

void encode(const message& m, std::span<std::byte, message_size> out) noexcept {
  std::fill(out.begin(), out.end(), std::byte{0});
  out[0] = message_type;
  out[1] = static_cast<std::byte>(message_size);
  store(out, 2, m.seqno);
  store(out, 4, m.token);
  store(out, producer_offset, m.producer);
  store(out, consumer_offset, m.consumer);
  const producer_flags& p = m.producing;
  out[flags_offset] = static_cast<std::byte>(when(p.writer_blocked, bit::writer_blocked) |
                                             when(p.urgent_pending, bit::urgent_pending) |
                                             when(p.urgent_present, bit::urgent_present) |
                                             when(p.update_requested, bit::update_requested) |
                                             when(p.failover_validation, bit::failover_validation));
  out[flags_offset + 1] = static_cast<std::byte>(when(m.state.sending_done, bit::sending_done) |
                                                 when(m.state.closed, bit::closed) |
                                                 when(m.state.aborted, bit::aborted));
}

}  // namespace smc::cdc
