#include "negotiation/reason_rank.hpp"

namespace smc::negotiation {
namespace {

int rank(reason r) noexcept {
  switch (r) {
    case reason::none:
      return 0;
    case reason::peer_unknown:
      return 1;
    case reason::not_offered:
      return 2;
    case reason::rendezvous_unreachable:
      return 3;
    case reason::declined_by_peer:
      return 4;
    case reason::handshake_timed_out:
      return 5;
    case reason::protocol_error:
      return 6;
    default:
      return 7;
  }
}

}  // namespace

reason more_telling(reason a, reason b) noexcept { return rank(b) > rank(a) ? b : a; }

}  // namespace smc::negotiation
