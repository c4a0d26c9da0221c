#include "config/rules.hpp"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <optional>

#include "config/limits.hpp"
#include "config/network.hpp"
#include "config/parse.hpp"

namespace smc::config_detail {
namespace {

constexpr std::string_view local_peers = "unix";

/// How narrowly a rule says whom it is for; greater is more specific.
struct specificity {
  enum class peers : std::uint8_t { all, in_network, on_this_host, on_loopback_or_one };

  peers who = peers::all;
  unsigned prefix = 0;
  bool scope = false;
  bool port = false;
  bool program = false;

  auto operator<=>(const specificity&) const = default;
};

/// Nothing: the rule is not for this connection.
std::optional<specificity> match(const rule& r, const rule_subject& subject) {
  specificity result;
  if (r.port != 0 && r.port != subject.port) return std::nullopt;
  if (!r.program.empty() && r.program != subject.program) return std::nullopt;
  if (r.peer == local_peers) {
    if (!subject.peer_on_this_host) return std::nullopt;
    result.who = specificity::peers::on_this_host;
  } else if (!r.peer.empty()) {
    const auto network = network::parse(r.peer);
    if (!network.contains(subject.peer)) return std::nullopt;
    const bool narrow = network.is_one_address() || network.is_loopback();
    result.who = narrow ? specificity::peers::on_loopback_or_one : specificity::peers::in_network;
    result.prefix = network.prefix();
    result.scope = network.scope() != 0;
  }
  result.port = r.port != 0;
  result.program = !r.program.empty();
  return result;
}

bool prefers_faster(const std::vector<transport_kind>& kinds) {
  return !kinds.empty() && kinds.front() != transport_kind::tcp;
}

std::string text_of(const std::vector<transport_kind>& kinds) {
  std::string text;
  for (const transport_kind kind : kinds) {
    if (!text.empty()) text += ',';
    const bool known = kind == transport_kind::other || to_string(kind) != "other";
    text += known ? std::string(to_string(kind)) : std::to_string(static_cast<int>(kind));
  }
  return text;
}

}  // namespace

peer_settings settings_for(const config& settings, const rule_subject& subject) {
  peer_settings result{settings.transports, settings.ring_size};
  std::optional<specificity> transports_by, ring_by;
  for (const rule& r : settings.rules) {
    const auto found = match(r, subject);
    if (!found) continue;
    // Of equals the earlier one stays.
    if (!r.transports.empty() && (!transports_by || *found > *transports_by)) {
      transports_by = found;
      result.transports = r.transports;
    }
    if (r.ring_size && (!ring_by || *found > *ring_by)) {
      ring_by = found;
      result.ring_size = *r.ring_size;
    }
  }
  result.faster_denied = prefers_faster(settings.transports) && !prefers_faster(result.transports);
  return result;
}

void check_rule(rule& checked, std::string& field, std::string& value) {
  field = "peer";
  value = checked.peer;
  if (!checked.peer.empty() && checked.peer != local_peers) {
    const auto parsed = network::parse(checked.peer);
    if (const auto percent = checked.peer.find('%'); percent != std::string::npos) {
      // The number stands for a name, which may go: no connection is to fail for that.
      const auto scope_end = std::min(checked.peer.find('/'), checked.peer.size());
      checked.peer.replace(percent + 1, scope_end - percent - 1, std::to_string(parsed.scope()));
    }
  }
  field = "program";
  value = checked.program;
  if (checked.program.find('/') != std::string::npos ||
      checked.program.find('\0') != std::string::npos) {
    throw wrong_value("the base name of an executable, without its folder, or nothing");
  }
  field = "transports";
  value = text_of(checked.transports);
  if (!checked.transports.empty()) check_transports(checked.transports);
  field = "ring_size";
  if (checked.ring_size) {
    value = std::to_string(*checked.ring_size);
    checked.ring_size = allowed_ring_size(*checked.ring_size);
  }
}

}  // namespace smc::config_detail
