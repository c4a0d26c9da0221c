#pragma once
#include <cstdint>
#include <vector>

#include "config/rules.hpp"
#include "negotiation/endpoint.hpp"

namespace smc::negotiation {

/// What `settings` and its rules say for connections with `peer`; `port` is the listening side's.
/// Any thread.
config_detail::peer_settings settings_for_peer(const config& settings, const endpoint& peer,
                                               std::uint16_t port);

/// All kinds that `settings`, or a rule that may hold for a listener of this program at `port`,
/// prefers to TCP.
std::vector<transport_kind> kinds_for_any_peer(const config& settings, std::uint16_t port);

}  // namespace smc::negotiation
