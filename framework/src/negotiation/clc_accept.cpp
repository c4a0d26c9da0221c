#include "negotiation/clc_accept.hpp"

#include <stdexcept>

#include "negotiation/byte_cursor.hpp"

namespace smc::clc {
namespace {

using reader = negotiation::byte_reader<std::endian::big>;
using writer = negotiation::byte_writer<std::endian::big>;

// Without the first contact extension.
struct lengths {
  std::size_t version_1;
  std::size_t version_2;
};
constexpr lengths smcd_lengths{48, 78};
constexpr lengths smcr_lengths{68, 108};
// The extension stands before the trailer.
constexpr std::size_t release_in_extension = 1;
constexpr std::size_t gid_list_size = 4;
constexpr std::size_t gid_size = 16;

void require(bool condition, const char* what) {
  if (!condition) throw std::invalid_argument(what);
}

bool fits_24_bits(std::uint32_t n) noexcept { return n >> 24 == 0; }

void write_24_bits(writer& w, std::uint32_t n) {
  w.integer(static_cast<std::uint8_t>(n >> 16));
  w.integer(static_cast<std::uint16_t>(n));
}

std::uint32_t read_24_bits(reader& in) {
  const std::uint32_t high = in.integer<std::uint8_t>();
  return high << 16 | in.integer<std::uint16_t>();
}

bool has_extension(const accept_confirm& m) noexcept { return m.version == 2 && m.first_contact(); }
bool has_gid_list(const accept_confirm& m) noexcept {
  return has_extension(m) && m.path == path_type::r && m.type == message_type::confirm;
}
std::size_t extension_size(path_type path, std::uint8_t release) noexcept {
  return path == path_type::d && release == 0 ? first_contact_size_0 : first_contact_size;
}

std::size_t length_of(const accept_confirm& m) {
  const auto& plain = m.path == path_type::d ? smcd_lengths : smcr_lengths;
  std::size_t length = m.version == 1 ? plain.version_1 : plain.version_2;
  if (has_extension(m)) length += extension_size(m.path, m.contact().release);
  if (has_gid_list(m)) length += gid_list_size + m.smcr.gids.size() * gid_size;
  return length;
}

void check_fields(const accept_confirm& m) {
  require(m.type == message_type::accept || m.type == message_type::confirm,
          "CLC ACCEPT or CONFIRM: wrong type");
  require(m.version == 1 || m.version == 2, "CLC ACCEPT or CONFIRM: no such version");
  require(m.path == path_type::d || m.path == path_type::r,
          "CLC ACCEPT or CONFIRM: neither SMC-D nor SMC-R");
  require(m.version == 1 || !m.negotiated_eid().empty(), "CLC ACCEPT or CONFIRM: no EID");
  require(m.contact().release <= newest_release && m.contact().os <= 15,
          "CLC ACCEPT or CONFIRM: no such release or system");
  if (m.path == path_type::d) {
    require(m.smcd.token != 0, "CLC ACCEPT or CONFIRM: no token");
    require(m.smcd.size_code <= max_size_code, "CLC ACCEPT or CONFIRM: no such size code");
  } else {
    require(m.smcr.size_code <= max_size_code, "CLC ACCEPT or CONFIRM: no such size code");
    require(m.smcr.mtu_code <= 15, "CLC ACCEPT or CONFIRM: no such MTU code");
    require(fits_24_bits(m.smcr.qpn) && fits_24_bits(m.smcr.psn),
            "CLC ACCEPT or CONFIRM: a queue pair's number has 24 bits");
    require(m.smcr.gids.size() <= (has_gid_list(m) ? smcr_endpoint::max_gids : 0),
            "CLC ACCEPT or CONFIRM: too many GIDs");
  }
}

void write_body(writer& w, const smcd_endpoint& e, std::uint8_t version) {
  w.integer(e.gid.gid);
  w.integer(e.token);
  w.integer(e.dmbe_index);
  w.integer(static_cast<std::uint8_t>(unsigned{e.size_code} << 4));
  w.zeroes(2);
  w.integer(e.link_id);
  if (version == 1) {
    w.zeroes(12);
    return;
  }
  w.integer(e.gid.chid);
  w.array(e.negotiated_eid.wire());
  w.integer(e.gid.emulated() ? e.gid.extended : std::uint64_t{0});
}

void write_body(writer& w, const smcr_endpoint& e, std::uint8_t version) {
  w.array(e.peer_id);
  w.array(e.gid);
  w.array(e.mac);
  write_24_bits(w, e.qpn);
  w.integer(e.rkey);
  w.integer(e.rmbe_index);
  w.integer(e.alert_token);
  w.integer(static_cast<std::uint8_t>(unsigned{e.size_code} << 4 | e.mtu_code));
  w.zeroes(1);
  w.integer(e.rmb_address);
  w.zeroes(1);
  write_24_bits(w, e.psn);
  if (version == 1) return;
  w.array(e.negotiated_eid.wire());
  w.zeroes(8);
}

decoded<eid> read_negotiated_eid(reader& in) {
  std::array<char, eid::size> name{};
  in.fill(name);
  if (!in.ok()) return decode_error::bad_length;
  const auto negotiated = eid::from_wire(name);
  if (!negotiated) return decode_error::bad_eid;
  return *negotiated;
}

decoded<smcd_endpoint> read_smcd(reader& in, std::uint8_t version) {
  smcd_endpoint e;
  e.gid.gid = in.integer<std::uint64_t>();
  e.token = in.integer<std::uint64_t>();
  if (e.token == 0) return decode_error::bad_token;
  e.dmbe_index = in.integer<std::uint8_t>();
  e.size_code = static_cast<std::uint8_t>(in.integer<std::uint8_t>() >> 4);
  in.skip(2);
  e.link_id = in.integer<std::uint32_t>();
  if (version == 1) {
    in.skip(12);
    return e;
  }
  e.gid.chid = in.integer<std::uint16_t>();
  const auto negotiated = read_negotiated_eid(in);
  if (!negotiated) return negotiated.error();
  e.negotiated_eid = *negotiated;
  const auto extended = in.integer<std::uint64_t>();
  if (e.gid.emulated()) e.gid.extended = extended;
  return e;
}

decoded<smcr_endpoint> read_smcr(reader& in, std::uint8_t version) {
  smcr_endpoint e;
  in.fill(e.peer_id);
  in.fill(e.gid);
  in.fill(e.mac);
  e.qpn = read_24_bits(in);
  e.rkey = in.integer<std::uint32_t>();
  e.rmbe_index = in.integer<std::uint8_t>();
  e.alert_token = in.integer<std::uint32_t>();
  const auto codes = in.integer<std::uint8_t>();
  e.size_code = static_cast<std::uint8_t>(codes >> 4);
  e.mtu_code = codes & 0x0fU;
  in.skip(1);
  e.rmb_address = in.integer<std::uint64_t>();
  in.skip(1);
  e.psn = read_24_bits(in);
  if (version == 1) return e;
  const auto negotiated = read_negotiated_eid(in);
  if (!negotiated) return negotiated.error();
  e.negotiated_eid = *negotiated;
  in.skip(8);
  return e;
}

decoded<std::vector<std::array<std::byte, 16>>> read_gid_list(reader& in) {
  const std::size_t count = in.integer<std::uint8_t>();
  in.skip(gid_list_size - 1);
  if (count > smcr_endpoint::max_gids) return decode_error::bad_count;
  std::vector<std::array<std::byte, 16>> gids(count);
  for (auto& gid : gids) in.fill(gid);
  return gids;
}

}  // namespace

void encode(const accept_confirm& m, std::vector<std::byte>& out) {
  check_fields(m);
  const auto& mark = m.path == path_type::d ? smcd_eyecatcher : smcr_eyecatcher;
  writer w(out);
  w.array(mark);
  w.integer(static_cast<std::uint8_t>(m.type));
  w.integer(static_cast<std::uint16_t>(length_of(m)));
  w.integer(static_cast<std::uint8_t>(unsigned{m.version} << 4 | (m.first_contact() ? 8U : 0U) |
                                      static_cast<unsigned>(m.path)));
  m.path == path_type::d ? write_body(w, m.smcd, m.version) : write_body(w, m.smcr, m.version);
  if (has_extension(m)) {
    write_first_contact(w, m.contact(), extension_size(m.path, m.contact().release));
  }
  if (has_gid_list(m)) {
    w.integer(static_cast<std::uint8_t>(m.smcr.gids.size()));
    w.zeroes(gid_list_size - 1);
    for (const auto& gid : m.smcr.gids) w.array(gid);
  }
  w.array(mark);
}

decoded<accept_confirm> decode_accept_confirm(std::span<const std::byte> message) {
  const auto h = decode_frame(message);
  if (!h) return h.error();
  if (h->type != message_type::accept && h->type != message_type::confirm) {
    return decode_error::bad_type;
  }
  if (h->version > 2) return decode_error::bad_version;
  if (h->v1_bits != path_type::r && h->v1_bits != path_type::d) return decode_error::bad_path;
  if (h->smcd != (h->v1_bits == path_type::d)) return decode_error::bad_eyecatcher;

  accept_confirm m{h->type, h->version, h->v1_bits, {}, {}};
  reader in(message.subspan(header_size, message.size() - header_size - trailer_size));
  if (m.path == path_type::d) {
    auto end = read_smcd(in, m.version);
    if (!end) return end.error();
    m.smcd = *std::move(end);
    m.smcd.first_contact = h->flag();
  } else {
    auto end = read_smcr(in, m.version);
    if (!end) return end.error();
    m.smcr = *std::move(end);
    m.smcr.first_contact = h->flag();
  }
  bool may_go_on = false;
  if (has_extension(m)) {
    const auto extension = message.subspan(message.size() - trailer_size - in.remaining());
    if (in.remaining() < first_contact_size_0) return decode_error::bad_length;
    const unsigned release = std::to_integer<unsigned>(extension[release_in_extension]) & 0x0fU;
    // A release newer than ours may have appended to its extension; the release check declines it
    // afterwards.
    may_go_on = release > newest_release;
    auto& contact = m.path == path_type::d ? m.smcd.contact : m.smcr.contact;
    contact = read_first_contact(in, extension_size(m.path, static_cast<std::uint8_t>(release)));
    if (has_gid_list(m) && !may_go_on) {
      auto gids = read_gid_list(in);
      if (!gids) return gids.error();
      m.smcr.gids = *std::move(gids);
    }
  }
  if (!in.ok() || (in.remaining() != 0 && !may_go_on)) return decode_error::bad_length;
  return m;
}

}  // namespace smc::clc
