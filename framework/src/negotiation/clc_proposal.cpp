#include "negotiation/clc_proposal.hpp"

#include <algorithm>
#include <stdexcept>

#include "negotiation/byte_cursor.hpp"

namespace smc::clc {
namespace {

using reader = negotiation::byte_reader<std::endian::big>;
using writer = negotiation::byte_writer<std::endian::big>;

// Sizes in bytes, and offsets from the start of the message.
constexpr std::size_t fixed_size = 40;
constexpr std::size_t smcd_area_size = 40;
constexpr std::size_t prefix_area_size = 8;
constexpr std::size_t prefix_entry_size = 17;
constexpr std::size_t v2_extension_size = 40;
constexpr std::size_t smcd_v2_extension_size = 48;
constexpr std::size_t gid_entry_size = 10;
constexpr std::size_t smcd_area_offset = fixed_size;
// The offset to the version 2 extension counts from behind its own field.
constexpr std::size_t v2_offset_base = 52;
// The same for the SMC-D extension, from the start of the version 2 extension.
constexpr std::size_t smcd_v2_offset_base = 8;

std::size_t entries(const smcd_gid& g) noexcept { return g.emulated() ? 2 : 1; }

std::optional<decode_error> read_prefixes(reader& in, prefix_area& area) {
  area.subnet = in.integer<std::uint32_t>();
  area.subnet_length = in.integer<std::uint8_t>();
  in.skip(2);
  const auto count = in.integer<std::uint8_t>();
  if (count > max_ipv6_prefixes) return decode_error::bad_count;
  if (count == 0 && area.subnet_length > 32) return decode_error::bad_prefix;
  area.ipv6.resize(count);
  for (auto& p : area.ipv6) {
    in.fill(p.address);
    p.length = in.integer<std::uint8_t>();
    if (p.length > 128) return decode_error::bad_prefix;
  }
  if (!in.ok()) return decode_error::bad_length;
  return std::nullopt;
}

// An emulated device is two entries of one CHID in a row; halves alone are left out.
std::vector<smcd_gid> read_gids(reader& in, std::size_t count) {
  std::vector<smcd_gid> gids;
  std::optional<smcd_gid> half;
  for (std::size_t i = 0; i < count; ++i) {
    smcd_gid g;
    g.gid = in.integer<std::uint64_t>();
    g.chid = in.integer<std::uint16_t>();
    if (half && half->chid == g.chid) {
      half->extended = g.gid;
      gids.push_back(*half);
      half.reset();
    } else if (g.emulated()) {
      half = g;
    } else {
      half.reset();
      gids.push_back(g);
    }
  }
  return gids;
}

std::optional<eid> read_eid(reader& in) {
  std::array<char, eid::size> padded{};
  in.fill(padded);
  return eid::from_wire(padded);
}

struct v2_counts {
  std::size_t eids;
  std::size_t gid_entries;
  std::size_t smcd_offset;
};

// Reads the extension at `in`, the SMC-D part included if it is where it has to be.
std::optional<decode_error> read_v2(reader& in, bool with_smcd, v2_offer& offer) {
  v2_counts n{};
  n.eids = in.integer<std::uint8_t>();
  n.gid_entries = in.integer<std::uint8_t>();
  in.skip(1);
  offer.release = static_cast<std::uint8_t>(in.integer<std::uint8_t>() >> 4);
  in.skip(2);
  n.smcd_offset = in.integer<std::uint16_t>();
  in.fill(offer.roce_gid);
  offer.max_connections = in.integer<std::uint8_t>();
  offer.max_links = in.integer<std::uint8_t>();
  offer.features = in.integer<std::uint16_t>();
  in.skip(12);
  if (n.eids > max_eids) return decode_error::bad_count;
  for (std::size_t i = 0; i < n.eids; ++i) {
    if (const auto e = read_eid(in)) offer.eids.push_back(*e);
  }
  if (with_smcd) {
    if (n.gid_entries > max_gid_entries) return decode_error::bad_count;
    smcd_v2_offer smcd;
    smcd.system_eid = read_eid(in);
    in.skip(16);
    smcd.gids = read_gids(in, n.gid_entries);
    const bool in_place =
        n.smcd_offset + smcd_v2_offset_base == v2_extension_size + n.eids * eid::size;
    if (in_place) offer.smcd = std::move(smcd);
  }
  if (!in.ok()) return decode_error::bad_length;
  return std::nullopt;
}

void require(bool condition, const char* what) {
  if (!condition) throw std::invalid_argument(what);
}

std::size_t gid_entries_of(const v2_offer& v2) noexcept {
  std::size_t n = 0;
  if (v2.smcd) {
    for (const auto& g : v2.smcd->gids) n += entries(g);
  }
  return n;
}

void check_prefixes(const prefix_area& area) {
  require(area.ipv6.size() <= max_ipv6_prefixes, "CLC PROPOSAL: too many prefixes");
  require(!area.ipv6.empty() || area.subnet_length <= 32, "CLC PROPOSAL: no such prefix");
  require(std::all_of(area.ipv6.begin(), area.ipv6.end(),
                      [](const ipv6_prefix& each) { return each.length <= 128; }),
          "CLC PROPOSAL: no such prefix");
}

void check_v2(const v2_offer& v2) {
  require(v2.eids.size() <= max_eids, "CLC PROPOSAL: too many EIDs");
  require(std::none_of(v2.eids.begin(), v2.eids.end(), [](const eid& e) { return e.empty(); }),
          "CLC PROPOSAL: an EID is empty");
  require(gid_entries_of(v2) <= max_gid_entries, "CLC PROPOSAL: too many GIDs");
  require(v2.release <= 15, "CLC PROPOSAL: no such release");
}

/// Only RFC 7609's own form, which has nothing but SMC-R, does without the area.
bool has_smcd_area(const proposal& p) noexcept { return p.version >= 2 || includes_d(p.v1); }

void check_fields(const proposal& p) {
  require(p.version == 1 || p.version == 2, "CLC PROPOSAL: no such version");
  require(p.version == 2 || (p.v1 != path_type::none && p.v2 == path_type::none),
          "CLC PROPOSAL: version 1 offers nothing of version 2, and something of its own");
  require(p.prefixes.has_value() == (p.v1 != path_type::none),
          "CLC PROPOSAL: prefixes go with version 1");
  require(!p.native_ism || (has_smcd_area(p) && p.native_ism->gid != 0),
          "CLC PROPOSAL: no place for the device, or no device");
  require(!includes_d(p.v1) || p.native_ism, "CLC PROPOSAL: the device of version 1 is missing");
  require(p.v2x.has_value() == (p.v2 != path_type::none),
          "CLC PROPOSAL: the extension goes with version 2");
  require(!p.v2x || p.v2x->smcd.has_value() == includes_d(p.v2),
          "CLC PROPOSAL: the SMC-D extension goes with SMC-D");
  if (p.prefixes) check_prefixes(*p.prefixes);
  if (p.v2x) check_v2(*p.v2x);
}

std::size_t size_of(const prefix_area& area) noexcept {
  return prefix_area_size + area.ipv6.size() * prefix_entry_size;
}

std::size_t size_of(const v2_offer& v2) noexcept {
  const std::size_t smcd =
      v2.smcd ? smcd_v2_extension_size + gid_entries_of(v2) * gid_entry_size : 0;
  return v2_extension_size + v2.eids.size() * eid::size + smcd;
}

void write_smcd_area(writer& w, const proposal& p) {
  const std::size_t prefixes = p.prefixes ? size_of(*p.prefixes) : 0;
  const std::size_t v2_place = smcd_area_offset + smcd_area_size + prefixes;
  w.integer(p.native_ism ? p.native_ism->gid : std::uint64_t{0});
  w.integer(p.native_ism ? p.native_ism->chid : std::uint16_t{0});
  w.integer(static_cast<std::uint16_t>(p.v2x ? v2_place - v2_offset_base : 0));
  w.zeroes(smcd_area_size - 12);
}

void write_prefixes(writer& w, const prefix_area& area) {
  w.integer(area.subnet);
  w.integer(area.subnet_length);
  w.zeroes(2);
  w.integer(static_cast<std::uint8_t>(area.ipv6.size()));
  for (const auto& each : area.ipv6) {
    w.array(each.address);
    w.integer(each.length);
  }
}

void write_smcd_v2(writer& w, const smcd_v2_offer& smcd) {
  if (smcd.system_eid) {
    w.array(smcd.system_eid->wire());
  } else {
    w.zeroes(eid::size);
  }
  w.zeroes(16);
  for (const auto& g : smcd.gids) {
    w.integer(g.gid);
    w.integer(g.chid);
    if (g.emulated()) {
      w.integer(g.extended);
      w.integer(g.chid);
    }
  }
}

void write_v2(writer& w, const v2_offer& v2) {
  const bool system_eid = v2.smcd && v2.smcd->system_eid;
  const std::size_t smcd_place = v2_extension_size + v2.eids.size() * eid::size;
  w.integer(static_cast<std::uint8_t>(v2.eids.size()));
  w.integer(static_cast<std::uint8_t>(gid_entries_of(v2)));
  w.zeroes(1);
  w.integer(static_cast<std::uint8_t>(unsigned{v2.release} << 4 | (system_eid ? 1U : 0U)));
  w.zeroes(2);
  w.integer(static_cast<std::uint16_t>(v2.smcd ? smcd_place - smcd_v2_offset_base : 0));
  w.array(v2.roce_gid);
  w.integer(v2.max_connections);
  w.integer(v2.max_links);
  w.integer(v2.features);
  w.zeroes(12);
  for (const auto& e : v2.eids) w.array(e.wire());
  if (v2.smcd) write_smcd_v2(w, *v2.smcd);
}

}  // namespace

void encode(const proposal& p, std::vector<std::byte>& out) {
  check_fields(p);
  const std::size_t area_size = has_smcd_area(p) ? smcd_area_size : 0;
  const std::size_t length = fixed_size + area_size + (p.prefixes ? size_of(*p.prefixes) : 0) +
                             (p.v2x ? size_of(*p.v2x) : 0) + trailer_size;
  writer w(out);
  w.array(smcr_eyecatcher);
  w.integer(static_cast<std::uint8_t>(message_type::proposal));
  w.integer(static_cast<std::uint16_t>(length));
  // A version 1 message has nothing where version 2 has its own offer.
  const unsigned v2_bits = p.version == 1 ? 0U : static_cast<unsigned>(p.v2) << 2;
  w.integer(
      static_cast<std::uint8_t>(unsigned{p.version} << 4 | v2_bits | static_cast<unsigned>(p.v1)));
  w.array(p.peer_id);
  w.array(p.roce_gid);
  w.array(p.roce_mac);
  w.integer(static_cast<std::uint16_t>(p.prefixes ? area_size : 0));
  if (area_size != 0) write_smcd_area(w, p);
  if (p.prefixes) write_prefixes(w, *p.prefixes);
  if (p.v2x) write_v2(w, *p.v2x);
  w.array(smcr_eyecatcher);
}

decoded<proposal> decode_proposal(std::span<const std::byte> message) {
  const auto h = decode_frame(message);
  if (!h) return h.error();
  if (h->type != message_type::proposal) return decode_error::bad_type;
  if (h->smcd) return decode_error::bad_eyecatcher;

  proposal p;
  p.version = h->version;
  p.v1 = h->v1_bits;
  p.v2 = p.version >= 2 ? static_cast<path_type>(h->v2_bits) : path_type::none;
  if (p.version == 1 && p.v1 == path_type::none) return decode_error::bad_path;

  const auto body = message.first(message.size() - trailer_size);
  reader in(body.subspan(header_size));
  in.fill(p.peer_id);
  in.fill(p.roce_gid);
  in.fill(p.roce_mac);
  const std::size_t area_size = in.integer<std::uint16_t>();

  // From version 2 on the area is always there; its size is only named together with a prefix area
  // behind it.
  const bool has_area = p.version >= 2 || area_size == smcd_area_size;
  if (area_size > smcd_area_size) return decode_error::bad_offset;
  if (p.version >= 2 && p.v1 != path_type::none && area_size != smcd_area_size) {
    return decode_error::bad_offset;
  }

  std::size_t v2_offset = 0;
  if (has_area) {
    if (body.size() < fixed_size + smcd_area_size) return decode_error::bad_length;
    smcd_gid native;
    native.gid = in.integer<std::uint64_t>();
    native.chid = in.integer<std::uint16_t>();
    if (native.gid != 0) p.native_ism = native;
    v2_offset = in.integer<std::uint16_t>();
    in.skip(smcd_area_size - 12);
  } else {
    in.skip(area_size);
  }

  std::size_t v2_place = smcd_area_offset + smcd_area_size;
  if (p.v1 != path_type::none) {
    prefix_area area;
    if (const auto e = read_prefixes(in, area)) return *e;
    v2_place += prefix_area_size + area.ipv6.size() * prefix_entry_size;
    p.prefixes = std::move(area);
  }

  if (p.v2 != path_type::none) {
    v2_offer offer;
    if (const auto e = read_v2(in, includes_d(p.v2), offer)) return *e;
    if (v2_offset != 0 && v2_offset_base + v2_offset != v2_place) return decode_error::bad_offset;
    if (v2_offset != 0) p.v2x = std::move(offer);
  }
  if (!in.ok() || in.remaining() != 0) return decode_error::bad_length;
  return p;
}

}  // namespace smc::clc
