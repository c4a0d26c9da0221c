#include "negotiation/peer_settings.hpp"

#include <algorithm>

#include "negotiation/local_addresses.hpp"

namespace smc::negotiation {

config_detail::peer_settings settings_for_peer(const config& settings, const endpoint& peer,
                                               std::uint16_t port) {
  config_detail::rule_subject subject;
  if (!settings.rules.empty()) {
    subject.peer = peer.to_asio().address();
    subject.peer_on_this_host = is_own_address(subject.peer);
    subject.port = port;
    subject.program = config_detail::program_name();
  }
  return config_detail::settings_for(settings, subject);
}

std::vector<transport_kind> kinds_for_any_peer(const config& settings, std::uint16_t port) {
  std::vector<transport_kind> result;
  const auto add = [&result](const std::vector<transport_kind>& kinds) {
    for (const transport_kind kind : kinds) {
      if (kind == transport_kind::tcp) break;
      if (std::find(result.begin(), result.end(), kind) == result.end()) result.push_back(kind);
    }
  };
  add(settings.transports);
  for (const rule& each : settings.rules) {
    if (each.port != 0 && each.port != port) continue;
    if (!each.program.empty() && each.program != config_detail::program_name()) continue;
    add(each.transports);
  }
  return result;
}

}  // namespace smc::negotiation
