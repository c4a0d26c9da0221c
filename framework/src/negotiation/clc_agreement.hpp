#pragma once
// Whether the messages of one handshake agree with each other, and whether a connection can be made
// with what they say.
#include <optional>

#include "negotiation/clc_accept.hpp"
#include "negotiation/clc_diagnosis.hpp"
#include "negotiation/clc_proposal.hpp"

namespace smc::clc {

/// What a client has to decline an ACCEPT with, judged by its own PROPOSAL (C16, C20, C21, C23 to
/// C26, C29 of the checklist); nothing: the ACCEPT is in order.
std::optional<diagnosis> check_accept(const proposal& sent, const accept_confirm& received);

/// The same for a server that receives a CONFIRM (C16 to C18, C20, C21, C23 to C26, C29).
std::optional<diagnosis> check_confirm(const proposal& proposed, const accept_confirm& sent,
                                       const accept_confirm& received);

/// Fewer connections or links per group nobody has to agree to (release 1 on).
inline constexpr std::uint8_t least_max_connections = 16;
inline constexpr std::uint8_t least_max_links = 1;
inline constexpr std::uint8_t most_max_links = 2;

}  // namespace smc::clc
