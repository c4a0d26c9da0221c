#pragma once
// What must hold for any bytes that a CLC decoder is given. Violations abort.
#include <cstddef>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <variant>
#include <vector>

#include "negotiation/clc.hpp"

namespace smc::test {

inline void require(bool holds) {
  if (!holds) std::abort();
}

inline void examine_clc(std::span<const std::byte> input) {
  // A copy of exactly this size, so that a read beyond it is seen.
  const std::vector<std::byte> bytes(input.begin(), input.end());
  const auto header = clc::decode_header(bytes);
  const auto m = clc::decode(bytes);
  if (!m) {
    require(!clc::to_string(m.error()).empty());
    return;
  }
  require(static_cast<bool>(header) && header->length == bytes.size());
  require(bytes.size() <= clc::max_message_size);
  std::visit(
      [](const auto& decoded) {
        using type = std::decay_t<decltype(decoded)>;
        std::vector<std::byte> again;
        try {
          clc::encode(decoded, again);
        } catch (const std::invalid_argument&) {
          return;  // a form that is only understood, never sent
        }
        const auto back = clc::decode(again);
        require(static_cast<bool>(back) && std::get<type>(*back) == decoded);
      },
      *m);
  if (const auto* p = std::get_if<clc::proposal>(&*m)) {
    if (p->v2x) require(p->v2x->eids.size() <= clc::max_eids);
    if (p->prefixes) require(p->prefixes->ipv6.size() <= clc::max_ipv6_prefixes);
    if (p->offers_d_v2()) require(p->v2x->smcd->gids.size() <= clc::max_gid_entries);
  }
  if (const auto* d = std::get_if<clc::decline>(&*m)) {
    require(!remedy(clc::reason_of(*d)).empty());
  }
}

}  // namespace smc::test
