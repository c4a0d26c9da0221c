#include "negotiation/clc_decline.hpp"

#include <stdexcept>

#include "negotiation/byte_cursor.hpp"

namespace smc::clc {
namespace {

constexpr std::size_t length_v1 = 28;
constexpr std::size_t length_v2 = 44;

// Marks a further word as one of ours; the reason is in its low byte.
constexpr std::uint32_t reason_mark = 0x534d4300;

}  // namespace

void encode(const decline& d, std::vector<std::byte>& out) {
  if (d.version < 1 || d.version > 2 || d.os > 15) {
    throw std::invalid_argument("CLC DECLINE: no such version or system");
  }
  const bool v2 = d.version == 2;
  negotiation::byte_writer<std::endian::big> w(out);
  w.array(smcr_eyecatcher);
  w.integer(static_cast<std::uint8_t>(message_type::decline));
  w.integer(static_cast<std::uint16_t>(v2 ? length_v2 : length_v1));
  w.integer(static_cast<std::uint8_t>(unsigned{d.version} << 4 | (d.out_of_sync ? 8U : 0U)));
  w.array(d.peer_id);
  w.integer(static_cast<std::uint32_t>(d.code));
  w.integer(static_cast<std::uint8_t>(v2 ? unsigned{d.os} << 4 : 0U));
  w.zeroes(3);
  if (v2) {
    for (const std::uint32_t word : d.further) w.integer(word);
  }
  w.array(smcr_eyecatcher);
}

decoded<decline> decode_decline(std::span<const std::byte> message) {
  const auto h = decode_frame(message);
  if (!h) return h.error();
  if (h->type != message_type::decline) return decode_error::bad_type;
  const bool v2 = h->version >= 2;
  if (message.size() != (v2 ? length_v2 : length_v1)) return decode_error::bad_length;

  negotiation::byte_reader<std::endian::big> in(message.subspan(header_size));
  decline d;
  d.version = h->version;
  d.out_of_sync = h->flag();
  in.fill(d.peer_id);
  d.code = static_cast<diagnosis>(in.integer<std::uint32_t>());
  const auto os = static_cast<std::uint8_t>(in.integer<std::uint8_t>() >> 4);
  d.os = v2 ? os : std::uint8_t{0};
  in.skip(3);
  if (v2) {
    for (std::uint32_t& word : d.further) word = in.integer<std::uint32_t>();
  }
  return d;
}

decline decline_because(reason why) noexcept {
  decline d;
  d.code = to_diagnosis(why);
  d.further[0] = reason_mark | (static_cast<std::uint32_t>(why) & 0xffU);
  return d;
}

reason reason_of(const decline& d) noexcept {
  const std::uint32_t word = d.further[0];
  if ((word & ~0xffU) == reason_mark) {
    const auto why = static_cast<reason>(word & 0xffU);
    // remedy() knows which values are reasons.
    if (!remedy(why).empty()) return why;
  }
  return to_reason(d.code);
}

}  // namespace smc::clc
