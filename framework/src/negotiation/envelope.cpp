#include "negotiation/envelope.hpp"

#include <algorithm>
#include <stdexcept>
#include <type_traits>

#include "negotiation/byte_cursor.hpp"
#include "negotiation/clc_decline.hpp"

namespace smc::negotiation {
namespace {

using reader = byte_reader<std::endian::little>;
using writer = byte_writer<std::endian::little>;

constexpr std::uint32_t magic = 0x3f636d73;
constexpr std::size_t flags_offset = 7;
constexpr std::size_t length_offset = 8;
constexpr std::size_t number_offset = 12;
constexpr std::uint8_t mailbox_flag = 1;

static_assert(std::is_same_v<std::variant_alternative_t<6, message>, retire>);

// The type byte is the place in the variant plus one.
std::uint8_t type_of(const message& m) noexcept { return static_cast<std::uint8_t>(m.index() + 1); }

bool valid_name(const std::string& name) noexcept {
  return !name.empty() && name.size() <= max_transport_name_size &&
         std::all_of(name.begin(), name.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

// Encoding

class encoder {
 public:
  explicit encoder(std::vector<std::byte>& out) : w_(out) {}

  void operator()(const intent& m) {
    w_.integer(m.attempt);
    put(m.destination);
    w_.integer(m.layout_version);
  }

  void operator()(const proposal& m) {
    w_.integer(m.attempt);
    put(m.connection.client);
    put(m.connection.server);
    const auto longest = static_cast<std::chrono::milliseconds::rep>(UINT32_MAX);
    w_.integer(static_cast<std::uint32_t>(
        std::clamp<std::chrono::milliseconds::rep>(m.patience.count(), 0, longest)));
    put(m.clc, max_clc_size);
    if (m.parts.size() > max_parts) throw std::length_error("rendezvous: too many transports");
    w_.integer(static_cast<std::uint8_t>(m.parts.size()));
    for (const part& p : m.parts) {
      put(p.transport);
      put(p.extension, max_extension_size);
    }
  }

  void operator()(const answer& m) {
    w_.integer(m.attempt);
    put(m.clc, max_clc_size);
    put(m.transport);
    put(m.extension, max_extension_size);
    w_.integer(m.descriptors);
  }

  void operator()(const decline& m) {
    w_.integer(m.attempt);
    put(m.clc, max_clc_size);
  }

  void operator()(const withdraw& m) { w_.integer(m.attempt); }
  void operator()(const retire&) {}

 private:
  void put(const endpoint& e) {
    w_.array(e.address());
    w_.integer(e.scope());
    w_.integer(e.port());
  }

  void put(const std::vector<std::byte>& bytes, std::size_t limit) {
    if (bytes.size() > limit) throw std::length_error("rendezvous: field too long");
    w_.integer(static_cast<std::uint16_t>(bytes.size()));
    w_.bytes(bytes);
  }

  void put(const std::string& name) {
    if (!valid_name(name)) throw std::invalid_argument("rendezvous: not a transport's name");
    w_.integer(static_cast<std::uint8_t>(name.size()));
    w_.array(name);
  }

  writer w_;
};

// Decoding

class decoder {
 public:
  explicit decoder(std::span<const std::byte> body) : in_(body) {}

  bool ok() const noexcept { return valid_ && in_.ok(); }
  bool at_end() const noexcept { return in_.remaining() == 0; }

  void operator()(intent& m) {
    m.attempt = in_.integer<std::uint64_t>();
    m.destination = address();
    m.layout_version = in_.integer<std::uint32_t>();
  }

  void operator()(proposal& m) {
    m.attempt = in_.integer<std::uint64_t>();
    m.connection.client = address();
    m.connection.server = address();
    m.patience = std::chrono::milliseconds(in_.integer<std::uint32_t>());
    m.clc = bytes(max_clc_size);
    const auto count = in_.integer<std::uint8_t>();
    if (count > max_parts) valid_ = false;
    for (std::size_t i = 0; i < count && ok(); ++i) {
      part p{name(), bytes(max_extension_size)};
      for (const part& earlier : m.parts) valid_ = valid_ && earlier.transport != p.transport;
      m.parts.push_back(std::move(p));
    }
  }

  void operator()(answer& m) {
    m.attempt = in_.integer<std::uint64_t>();
    m.clc = bytes(max_clc_size);
    m.transport = name();
    m.extension = bytes(max_extension_size);
    m.descriptors = in_.integer<std::uint8_t>();
  }

  void operator()(decline& m) {
    m.attempt = in_.integer<std::uint64_t>();
    m.clc = bytes(max_clc_size);
  }

  void operator()(withdraw& m) { m.attempt = in_.integer<std::uint64_t>(); }
  void operator()(retire&) {}

 private:
  endpoint address() {
    endpoint::address_bytes a{};
    in_.fill(a);
    const auto scope = in_.integer<std::uint32_t>();
    return endpoint(a, scope, in_.integer<std::uint16_t>());
  }

  std::vector<std::byte> bytes(std::size_t limit) {
    const std::size_t n = in_.integer<std::uint16_t>();
    if (n > limit) {
      valid_ = false;
      return {};
    }
    const auto field = in_.bytes(n);
    return {field.begin(), field.end()};
  }

  std::string name() {
    const std::size_t n = in_.integer<std::uint8_t>();
    if (n > max_transport_name_size) {
      valid_ = false;
      return {};
    }
    std::string result(n, '\0');
    in_.fill(result);
    valid_ = valid_ && valid_name(result);
    return result;
  }

  reader in_;
  bool valid_ = true;
};

template <typename Message>
decoded<message, reason> decode_body(std::span<const std::byte> body, bool may_go_on) {
  Message m;
  decoder d(body);
  d(m);
  if (!d.ok() || (!d.at_end() && !may_go_on)) return reason::protocol_error;
  return message(std::move(m));
}

}  // namespace

void encode(const message& m, std::vector<std::byte>& out, const envelope_header& header) {
  out.clear();
  writer w(out);
  w.integer(magic);
  w.integer(envelope_version);
  w.integer(oldest_envelope_version);
  w.integer(type_of(m));
  w.integer(header.introduces_mailbox ? mailbox_flag : std::uint8_t{0});
  w.integer(std::uint32_t{0});
  w.integer(header.number);
  std::visit(encoder(out), m);
  if (out.size() > max_message_size) throw std::length_error("rendezvous: message too long");
  for (std::size_t i = 0; i < sizeof(std::uint32_t); ++i) {
    out[length_offset + i] = static_cast<std::byte>((out.size() >> (8 * i)) & 0xffU);
  }
}

std::vector<std::byte> encode(const message& m) {
  std::vector<std::byte> out;
  encode(m, out);
  return out;
}

decoded<message, reason> decode(std::span<const std::byte> packet) {
  if (packet.size() < envelope_header_size || packet.size() > max_message_size) {
    return reason::protocol_error;
  }
  reader in(packet);
  if (in.integer<std::uint32_t>() != magic) return reason::protocol_error;
  const auto version = in.integer<std::uint8_t>();
  const auto oldest = in.integer<std::uint8_t>();
  const auto type = in.integer<std::uint8_t>();
  in.skip(1);
  if (version == 0 || oldest > version) return reason::protocol_error;
  if (oldest > envelope_version || version < oldest_envelope_version) {
    return reason::version_mismatch;
  }
  if (in.integer<std::uint32_t>() != packet.size()) return reason::protocol_error;

  const auto body = packet.subspan(envelope_header_size);
  const bool newer = version > envelope_version;
  switch (type) {
    case 1:
      return decode_body<intent>(body, newer);
    case 2:
      return decode_body<proposal>(body, newer);
    case 3:
      return decode_body<accept>(body, newer);
    case 4:
      return decode_body<confirm>(body, newer);
    case 5:
      return decode_body<decline>(body, newer);
    case 6:
      return decode_body<withdraw>(body, newer);
    case 7:
      return decode_body<retire>(body, newer);
    default:
      return reason::protocol_error;
  }
}

envelope_header header_of(std::span<const std::byte> packet) noexcept {
  envelope_header header;
  header.introduces_mailbox =
      (std::to_integer<std::uint8_t>(packet[flags_offset]) & mailbox_flag) != 0;
  reader in(packet.subspan(number_offset));
  header.number = in.integer<std::uint32_t>();
  return header;
}

decline decline_because(std::uint64_t attempt, reason why) {
  decline d;
  d.attempt = attempt;
  clc::encode(clc::decline_because(why), d.clc);
  return d;
}

reason reason_of(const decline& d) {
  const auto inner = clc::decode_decline(d.clc);
  return inner ? clc::reason_of(*inner) : reason::protocol_error;
}

}  // namespace smc::negotiation
