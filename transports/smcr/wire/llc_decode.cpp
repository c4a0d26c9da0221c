#include <algorithm>

#include "negotiation/byte_cursor.hpp"
#include "smcr/wire/llc.hpp"

namespace smc::llc {
namespace {

using reader = negotiation::byte_reader<std::endian::big>;

constexpr std::size_t header_size = 4;
constexpr std::size_t extension_size = 28;
constexpr std::size_t pair_size = 16;
constexpr std::size_t rkeys_offset = 8;
constexpr std::size_t gids_offset = 28;

std::uint32_t integer24(reader& in) noexcept {
  const std::uint32_t high = in.integer<std::uint8_t>();
  return high << 16 | in.integer<std::uint16_t>();
}

template <std::size_t Size>
std::array<std::byte, Size> array_of(reader& in) noexcept {
  std::array<std::byte, Size> value{};
  const auto field = in.bytes(Size);
  std::copy(field.begin(), field.end(), value.begin());
  return value;
}

rkey_pair pair_of(reader& in) noexcept {
  rkey_pair p;
  p.reference_rkey = in.integer<std::uint32_t>();
  p.new_rkey = in.integer<std::uint32_t>();
  p.new_address = in.integer<std::uint64_t>();
  return p;
}

rtoken token_of(reader& in) noexcept {
  rtoken t;
  t.rkey = in.integer<std::uint32_t>();
  t.address = in.integer<std::uint64_t>();
  return t;
}

decoded<body> decode_confirm_link(const header& h, reader in) {
  confirm_link m;
  m.response = h.has(flag::response);
  m.no_eyecatchers = h.has(flag::no_eyecatchers);
  m.sender.mac = array_of<6>(in);
  m.sender.gid = array_of<16>(in);
  m.sender.qpn = integer24(in);
  m.link_number = in.integer<std::uint8_t>();
  if (m.link_number == 0) return decode_error::bad_link;
  m.link_uid = array_of<4>(in);
  m.max_links = in.integer<std::uint8_t>();
  const auto connections = in.integer<std::uint8_t>();
  if (h.version == 2) m.max_connections = connections;
  return body{m};
}

// The announced count is not looked at: a peer of the other byte order has it swapped, and Linux
// takes it from the number of connections before it knows how many buffers there are.
decoded<body> decode_extension(add_link&& m, reader in) {
  add_link_extension e;
  e.direct = (in.integer<std::uint8_t>() & 0x80U) != 0;
  in.skip(1);
  e.target = array_of<16>(in);
  in.skip(10);
  if (!in.ok() || in.remaining() % pair_size != 0) return decode_error::bad_length;
  const std::size_t pairs = in.remaining() / pair_size;
  if (pairs > max_rkey_pairs) return decode_error::bad_count;
  e.pairs.reserve(pairs);
  while (in.remaining() != 0) e.pairs.push_back(pair_of(in));
  m.extension = std::move(e);
  return body{std::move(m)};
}

decoded<body> decode_add_link(const header& h, reader in) {
  add_link m;
  m.response = h.has(flag::response);
  m.rejected = m.response && h.has(flag::rejected);
  if (m.rejected) m.why = static_cast<reject_reason>(h.reason);
  m.sender.mac = array_of<6>(in);
  in.skip(2);  // RFC 7609 has no such gap; every known sender has
  m.sender.gid = array_of<16>(in);
  m.sender.qpn = integer24(in);
  m.link_number = in.integer<std::uint8_t>();
  m.mtu_code = in.integer<std::uint8_t>() & 0x0fU;
  m.psn = integer24(in);
  in.skip(8);
  if (in.remaining() == 0) return body{std::move(m)};
  if (in.remaining() < extension_size) return decode_error::bad_length;
  return decode_extension(std::move(m), in);
}

decoded<body> decode_continuation(const header& h, reader in) {
  add_link_continuation m;
  m.response = h.has(flag::response);
  m.link_number = in.integer<std::uint8_t>();
  if (m.link_number == 0) return decode_error::bad_link;
  m.pairs_left = in.integer<std::uint8_t>();
  in.skip(2);
  const auto pairs = std::min<std::size_t>(m.pairs_left, add_link_continuation::max_pairs);
  for (std::size_t i = 0; i < pairs; ++i) m.pairs.push_back(pair_of(in));
  return body{std::move(m)};
}

decoded<body> decode_delete_link(const header& h, reader in) {
  delete_link m;
  m.response = h.has(flag::response);
  m.all = h.has(flag::all);
  m.orderly = h.has(flag::orderly);
  m.link_number = in.integer<std::uint8_t>();
  m.reason = static_cast<delete_reason>(in.integer<std::uint32_t>());
  return body{m};
}

decoded<body> decode_request_add_link(const header& h, reader in) {
  request_add_link m;
  m.response = h.has(flag::response);
  in.skip(20);
  const std::size_t count = in.integer<std::uint8_t>();
  in.skip(3);
  if (count > request_add_link::max_gids || gids_offset + sizeof(rdma::gid) * count > h.length) {
    return decode_error::bad_count;
  }
  for (std::size_t i = 0; i < count; ++i) m.gids.push_back(array_of<16>(in));
  return body{std::move(m)};
}

decoded<body> decode_confirm_rkey(const header& h, reader in) {
  confirm_rkey m;
  m.response = h.has(flag::response);
  m.negative = m.response && h.has(flag::negative);
  m.retry = m.response && h.has(flag::retry);
  m.announced = in.integer<std::uint8_t>();
  m.token = token_of(in);
  const auto others = std::min<std::size_t>(m.announced, confirm_rkey::max_others);
  for (std::size_t i = 0; i < others; ++i) {
    link_rtoken other;
    other.link_number = in.integer<std::uint8_t>();
    other.token = token_of(in);
    m.others.push_back(other);
  }
  return body{std::move(m)};
}

decoded<body> decode_delete_rkey(const header& h, reader in) {
  delete_rkey m;
  m.response = h.has(flag::response);
  m.negative = m.response && h.has(flag::negative);
  m.announced = in.integer<std::uint8_t>();
  m.unknown = in.integer<std::uint8_t>();
  in.skip(2);
  const std::size_t room = h.version == 1 ? delete_rkey::max_rkeys_v1
                                          : (h.length - rkeys_offset) / sizeof(std::uint32_t);
  const auto count = std::min<std::size_t>(m.announced, room);
  for (std::size_t i = 0; i < count; ++i) m.rkeys.push_back(in.integer<std::uint32_t>());
  return body{std::move(m)};
}

}  // namespace

decoded<body> decode(std::span<const std::byte> received, std::uint8_t version) {
  const auto h = decode_header(received, version);
  if (!h) return h.error();
  reader in(received.subspan(header_size, h->length - header_size));
  switch (h->type) {
    case message_type::confirm_link:
      return decode_confirm_link(*h, in);
    case message_type::add_link:
      return decode_add_link(*h, in);
    case message_type::add_link_continuation:
      return decode_continuation(*h, in);
    case message_type::delete_link:
      return decode_delete_link(*h, in);
    case message_type::request_add_link:
      return decode_request_add_link(*h, in);
    case message_type::confirm_rkey:
      return decode_confirm_rkey(*h, in);
    case message_type::delete_rkey:
      return decode_delete_rkey(*h, in);
    case message_type::test_link:
      return body{test_link{h->has(flag::response), array_of<16>(in)}};
    case message_type::confirm_rkey_continuation:
      break;
  }
  return decode_error::ignored_type;
}

reject_reason rejection_of(const add_link& request) noexcept {
  if (!rdma::mtu_of_code(request.mtu_code)) return reject_reason::bad_mtu;
  if (request.link_number == 0 || !is_reachable(request.sender)) {
    return reject_reason::no_alternate_path;
  }
  return reject_reason::none;
}

bool is_acceptable(const confirm_link& m) noexcept {
  return m.link_number != 0 && m.no_eyecatchers && is_reachable(m.sender);
}

bool is_acceptable(const confirm_rkey& m) noexcept {
  if (m.announced != m.others.size()) return false;
  for (const link_rtoken& other : m.others) {
    if (other.link_number == 0) return false;
  }
  return m.others.size() < 2 || m.others[0].link_number != m.others[1].link_number;
}

bool is_acceptable(const delete_rkey& m) noexcept {
  return m.announced != 0 && m.announced == m.rkeys.size();
}

}  // namespace smc::llc
