#pragma once
// What must hold for any packet of the rendezvous. Violations abort.
#include <cstddef>
#include <cstdlib>
#include <span>
#include <variant>
#include <vector>

#include "negotiation/envelope.hpp"

namespace smc::test {

inline void examine_envelope(std::span<const std::byte> input) {
  const std::vector<std::byte> bytes(input.begin(), input.end());
  const auto m = negotiation::decode(bytes);
  if (!m) {
    if (m.error() != reason::protocol_error && m.error() != reason::version_mismatch) std::abort();
    return;
  }
  const auto again = negotiation::encode(*m);
  const auto back = negotiation::decode(again);
  if (!back || !(*back == *m)) std::abort();
  if (again.size() > bytes.size()) std::abort();
  if (const auto* d = std::get_if<negotiation::decline>(&*m)) (void)negotiation::reason_of(*d);
}

}  // namespace smc::test
