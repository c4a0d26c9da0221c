#include "negotiation/clc_accept.hpp"

#include <algorithm>
#include <stdexcept>

#include "negotiation/byte_cursor.hpp"

namespace smc::clc {
namespace {

using reader = negotiation::byte_reader<std::endian::big>;
using writer = negotiation::byte_writer<std::endian::big>;

constexpr std::size_t host_name_size = 32;
constexpr std::size_t plain_length = 78;
// With the first contact extension: of release 0, and of all later ones.
constexpr std::size_t first_contact_length_0 = 114;
constexpr std::size_t first_contact_length = 130;
constexpr std::size_t release_offset = 75;

std::size_t length_of(const smcd_endpoint& e) noexcept {
  if (!e.first_contact) return plain_length;
  return e.contact.release == 0 ? first_contact_length_0 : first_contact_length;
}

// A release newer than ours may have appended to its extension; the release check declines it
// afterwards.
bool length_fits(std::size_t length, bool first_contact, std::uint8_t release) noexcept {
  if (!first_contact) return length == plain_length;
  if (release == 0) return length == first_contact_length_0;
  return release <= newest_release ? length == first_contact_length
                                   : length >= first_contact_length;
}

bool printable(char c) noexcept { return c >= 0x20 && c <= 0x7e; }

std::string host_name_of(const std::array<char, host_name_size>& padded) {
  std::string name(padded.begin(), padded.end());
  if (!std::all_of(name.begin(), name.end(), printable)) return {};
  name.erase(name.find_last_not_of(' ') + 1);
  return name;
}

std::array<char, host_name_size> padded(const std::string& name) {
  std::array<char, host_name_size> result;
  result.fill(' ');
  if (std::all_of(name.begin(), name.end(), printable)) {
    std::copy_n(name.begin(), std::min(name.size(), host_name_size), result.begin());
  }
  return result;
}

void require(bool condition, const char* what) {
  if (!condition) throw std::invalid_argument(what);
}

bool offered(const proposal& p, const smcd_endpoint& chosen) {
  const auto& eids = p.v2x->eids;
  return std::find(eids.begin(), eids.end(), chosen.negotiated_eid) != eids.end() ||
         p.v2x->smcd->system_eid == chosen.negotiated_eid;
}

}  // namespace

void encode(const accept_confirm& m, std::vector<std::byte>& out) {
  const smcd_endpoint& e = m.smcd;
  require(m.type == message_type::accept || m.type == message_type::confirm,
          "CLC ACCEPT or CONFIRM: wrong type");
  require(m.version == 2 && m.path == path_type::d,
          "CLC ACCEPT or CONFIRM: only SMC-D version 2 can be encoded");
  require(e.token != 0, "CLC ACCEPT or CONFIRM: no token");
  require(!e.negotiated_eid.empty(), "CLC ACCEPT or CONFIRM: no EID");
  require(e.size_code <= max_size_code, "CLC ACCEPT or CONFIRM: no such size code");
  require(e.contact.release <= newest_release && e.contact.os <= 15,
          "CLC ACCEPT or CONFIRM: no such release or system");

  writer w(out);
  w.array(smcd_eyecatcher);
  w.integer(static_cast<std::uint8_t>(m.type));
  w.integer(static_cast<std::uint16_t>(length_of(e)));
  w.integer(static_cast<std::uint8_t>(unsigned{m.version} << 4 | (e.first_contact ? 8U : 0U) |
                                      static_cast<unsigned>(m.path)));
  w.integer(e.gid.gid);
  w.integer(e.token);
  w.integer(e.dmbe_index);
  w.integer(static_cast<std::uint8_t>(unsigned{e.size_code} << 4));
  w.zeroes(2);
  w.integer(e.link_id);
  w.integer(e.gid.chid);
  w.array(e.negotiated_eid.wire());
  w.integer(e.gid.emulated() ? e.gid.extended : std::uint64_t{0});
  if (e.first_contact) {
    const first_contact_info& c = e.contact;
    w.integer(static_cast<std::uint8_t>(c.direct ? 0x80U : 0U));
    w.integer(static_cast<std::uint8_t>(unsigned{c.os} << 4 | c.release));
    w.zeroes(2);
    w.array(padded(c.host_name));
    if (c.release > 0) {
      w.integer(c.max_connections);
      w.integer(c.max_links);
      w.integer(c.features);
      w.zeroes(12);
    }
  }
  w.array(smcd_eyecatcher);
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
  if (h->version == 1 || h->v1_bits == path_type::r) return decode_error::unsupported;

  const bool first_contact = h->flag();
  std::uint8_t release = 0;
  if (first_contact) {
    if (message.size() < first_contact_length_0) return decode_error::bad_length;
    release = std::to_integer<std::uint8_t>(message[release_offset]) & 0x0fU;
  }
  if (!length_fits(message.size(), first_contact, release)) return decode_error::bad_length;

  reader in(message.subspan(header_size));
  smcd_gid gid;
  gid.gid = in.integer<std::uint64_t>();
  const auto token = in.integer<std::uint64_t>();
  if (token == 0) return decode_error::bad_token;
  const auto dmbe_index = in.integer<std::uint8_t>();
  const auto size_code = static_cast<std::uint8_t>(in.integer<std::uint8_t>() >> 4);
  in.skip(2);
  const auto link_id = in.integer<std::uint32_t>();
  gid.chid = in.integer<std::uint16_t>();
  std::array<char, eid::size> name{};
  in.fill(name);
  const auto negotiated = eid::from_wire(name);
  if (!negotiated) return decode_error::bad_eid;
  const auto extended = in.integer<std::uint64_t>();
  if (gid.emulated()) gid.extended = extended;

  first_contact_info contact;
  if (first_contact) {
    contact.direct = (in.integer<std::uint8_t>() & 0x80U) != 0;
    contact.os = static_cast<std::uint8_t>(in.integer<std::uint8_t>() >> 4);
    contact.release = release;
    in.skip(2);
    std::array<char, host_name_size> host{};
    in.fill(host);
    contact.host_name = host_name_of(host);
    contact.features = 0;
    if (release > 0) {
      contact.max_connections = in.integer<std::uint8_t>();
      contact.max_links = in.integer<std::uint8_t>();
      contact.features = in.integer<std::uint16_t>();
    }
  }
  if (!in.ok()) return decode_error::bad_length;
  return accept_confirm{h->type, h->version, h->v1_bits,
                        smcd_endpoint{gid, token, dmbe_index, size_code, link_id, *negotiated,
                                      first_contact, std::move(contact)}};
}

std::optional<diagnosis> check_accept(const proposal& sent, const accept_confirm& received) {
  const smcd_endpoint& e = received.smcd;
  if (received.path != path_type::d || received.version != 2 || !sent.offers_d_v2()) {
    return diagnosis::mode_unsupported;
  }
  if (e.first_contact && e.contact.release > sent.v2x->release) return diagnosis::release_mismatch;
  if (!offered(sent, e)) return diagnosis::no_ueid;
  const auto& gids = sent.v2x->smcd->gids;
  const bool known_device = std::any_of(gids.begin(), gids.end(),
                                        [&](const smcd_gid& g) { return g.chid == e.gid.chid; });
  if (!known_device) return diagnosis::no_smcd_v2_device;
  return std::nullopt;
}

std::optional<diagnosis> check_confirm(const proposal& proposed, const accept_confirm& sent,
                                       const accept_confirm& received) {
  const smcd_endpoint& mine = sent.smcd;
  const smcd_endpoint& theirs = received.smcd;
  if (received.path != sent.path) return diagnosis::mode_unsupported;
  if (received.version != sent.version) return diagnosis::version_mismatch;
  if (theirs.first_contact != mine.first_contact) return diagnosis::out_of_sync;
  if (mine.first_contact && theirs.contact.release != mine.contact.release) {
    return diagnosis::release_mismatch;
  }
  if (theirs.negotiated_eid != mine.negotiated_eid) return diagnosis::no_ueid;
  if (!proposed.offers_d_v2()) return diagnosis::mode_unsupported;
  const auto& gids = proposed.v2x->smcd->gids;
  if (theirs.gid.chid != mine.gid.chid ||
      std::find(gids.begin(), gids.end(), theirs.gid) == gids.end()) {
    return diagnosis::no_smcd_v2_device;
  }
  return std::nullopt;
}

}  // namespace smc::clc
