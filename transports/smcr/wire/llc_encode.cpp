#include <algorithm>
#include <stdexcept>
#include <type_traits>

#include "negotiation/byte_cursor.hpp"
#include "smcr/wire/llc.hpp"

namespace smc::llc {
namespace {

using writer = negotiation::byte_writer<std::endian::big>;

struct target {
  std::uint8_t version;
  std::endian order;
  std::vector<std::byte>& out;

  writer begin(message_type type, std::uint8_t flags, std::size_t length = message_size,
               std::uint8_t reason = 0) const {
    writer w(out);
    w.integer(encoded_header({type, version, length, reason, flags}, order));
    return w;
  }
};

void require(bool condition, const char* what) {
  if (!condition) throw std::invalid_argument(what);
}

constexpr std::uint8_t when(bool condition, std::uint8_t flags) noexcept {
  return condition ? flags : std::uint8_t{0};
}

void integer24(writer& w, std::uint32_t value) {
  require(value <= rdma::max_24_bits, "LLC: a number of 24 bits is larger");
  w.integer(static_cast<std::uint8_t>(value >> 16));
  w.integer(static_cast<std::uint16_t>(value & 0xffffU));
}

void pair(writer& w, const rkey_pair& p) {
  w.integer(p.reference_rkey);
  w.integer(p.new_rkey);
  w.integer(p.new_address);
}

void put(const confirm_link& m, const target& t) {
  require(m.link_number != 0, "CONFIRM LINK: no link number");
  writer w = t.begin(message_type::confirm_link,
                     when(m.response, flag::response) | when(m.no_eyecatchers, 0x03));
  w.array(m.sender.mac);
  w.array(m.sender.gid);
  integer24(w, m.sender.qpn);
  w.integer(m.link_number);
  w.array(m.link_uid);
  w.integer(m.max_links);
  w.integer(static_cast<std::uint8_t>(t.version == 2 ? m.max_connections : 0));
}

void put(const add_link& m, const target& t) {
  require(!m.extension || t.version == 2, "ADD LINK: the extension is version 2's");
  require(!m.rejected || m.response, "ADD LINK: only a response rejects");
  const std::size_t pairs = m.extension ? m.extension->pairs.size() : 0;
  require(pairs <= max_rkey_pairs, "ADD LINK: too many pairs");
  constexpr std::size_t extended_size = 72;
  const bool says_why = m.rejected && t.version == 1;
  writer w = t.begin(message_type::add_link,
                     when(m.response, flag::response) | when(m.rejected, flag::rejected),
                     m.extension ? extended_size + 16 * pairs : message_size,
                     says_why ? static_cast<std::uint8_t>(m.why) : std::uint8_t{0});
  w.array(m.sender.mac);
  w.zeroes(2);
  w.array(m.sender.gid);
  integer24(w, m.sender.qpn);
  w.integer(m.link_number);
  require(m.mtu_code <= 15 && static_cast<std::uint8_t>(m.why) <= 15,
          "ADD LINK: a number of four bits is larger");
  w.integer(m.mtu_code);
  integer24(w, m.psn);
  w.zeroes(8);
  if (!m.extension) return;
  w.integer(when(m.extension->direct, 0x80));
  w.zeroes(1);
  w.array(m.extension->target);
  w.zeroes(8);
  const auto count = static_cast<std::uint16_t>(pairs);
  w.integer(static_cast<std::uint16_t>(t.order == std::endian::big ? count : count << 8));
  for (const rkey_pair& p : m.extension->pairs) pair(w, p);
}

void put(const add_link_continuation& m, const target& t) {
  require(t.version == 1, "ADD LINK CONTINUATION: version 1 only");
  require(m.link_number != 0, "ADD LINK CONTINUATION: no link number");
  require(m.pairs.size() == std::min<std::size_t>(m.pairs_left, add_link_continuation::max_pairs),
          "ADD LINK CONTINUATION: the count does not fit the pairs");
  writer w = t.begin(message_type::add_link_continuation, when(m.response, flag::response));
  w.integer(m.link_number);
  w.integer(m.pairs_left);
  w.zeroes(2);
  for (const rkey_pair& p : m.pairs) pair(w, p);
}

void put(const delete_link& m, const target& t) {
  writer w =
      t.begin(message_type::delete_link, when(m.response, flag::response) | when(m.all, flag::all) |
                                             when(m.orderly, flag::orderly));
  w.integer(m.link_number);
  w.integer(static_cast<std::uint32_t>(m.reason));
}

void put(const request_add_link& m, const target& t) {
  require(t.version == 2, "REQ ADD LINK: version 2 only");
  require(m.gids.size() <= request_add_link::max_gids, "REQ ADD LINK: too many GIDs");
  constexpr std::size_t gids_offset = 28;
  writer w = t.begin(message_type::request_add_link, when(m.response, flag::response),
                     std::max(message_size, gids_offset + sizeof(rdma::gid) * m.gids.size()));
  w.zeroes(20);
  w.integer(static_cast<std::uint8_t>(m.gids.size()));
  w.zeroes(3);
  for (const rdma::gid& g : m.gids) w.array(g);
}

void put(const confirm_rkey& m, const target& t) {
  require(m.others.size() == std::min<std::size_t>(m.announced, confirm_rkey::max_others),
          "CONFIRM RKEY: the count does not fit the tokens");
  require(m.response || (!m.negative && !m.retry), "CONFIRM RKEY: only a response refuses");
  writer w = t.begin(message_type::confirm_rkey, when(m.response, flag::response) |
                                                     when(m.negative, flag::negative) |
                                                     when(m.retry, flag::retry));
  w.integer(m.announced);
  w.integer(m.token.rkey);
  w.integer(m.token.address);
  for (const link_rtoken& other : m.others) {
    w.integer(other.link_number);
    w.integer(other.token.rkey);
    w.integer(other.token.address);
  }
}

void put(const delete_rkey& m, const target& t) {
  constexpr std::size_t room_v2 = (message_size - 8) / sizeof(std::uint32_t);
  const std::size_t room = t.version == 1 ? delete_rkey::max_rkeys_v1 : room_v2;
  require(m.rkeys.size() == m.announced || (m.rkeys.size() < m.announced && m.rkeys.size() >= room),
          "DELETE RKEY: the count does not fit the keys");
  require(t.version == 2 || m.rkeys.size() <= room, "DELETE RKEY: too many keys");
  require(m.response || !m.negative, "DELETE RKEY: only a response refuses");
  constexpr std::size_t rkeys_offset = 8;
  const std::size_t length =
      t.version == 1
          ? message_size
          : std::max(message_size, rkeys_offset + sizeof(std::uint32_t) * m.rkeys.size());
  writer w = t.begin(message_type::delete_rkey,
                     when(m.response, flag::response) | when(m.negative, flag::negative), length);
  w.integer(m.announced);
  w.integer(m.unknown);
  w.zeroes(2);
  for (const std::uint32_t key : m.rkeys) w.integer(key);
}

void put(const test_link& m, const target& t) {
  writer w = t.begin(message_type::test_link, when(m.response, flag::response));
  w.array(m.data);
}

}  // namespace

void encode(const body& m, std::uint8_t version, std::vector<std::byte>& out, std::endian order) {
  require(version == 1 || version == 2, "LLC: no such version");
  const std::size_t before = out.size();
  try {
    std::visit([&](const auto& one) { put(one, target{version, order, out}); }, m);
  } catch (...) {
    out.resize(before);
    throw;
  }
  out.resize(std::max(out.size(), before + message_size));
}

}  // namespace smc::llc
