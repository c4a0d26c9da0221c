#pragma once
// Any CLC message. For one type alone include its own header.
#include <cstddef>
#include <span>
#include <variant>
#include <vector>

#include "negotiation/clc_accept.hpp"
#include "negotiation/clc_agreement.hpp"
#include "negotiation/clc_decline.hpp"
#include "negotiation/clc_diagnosis.hpp"
#include "negotiation/clc_header.hpp"
#include "negotiation/clc_proposal.hpp"

namespace smc::clc {

using message = std::variant<proposal, accept_confirm, decline>;

/// Decodes exactly one message.
decoded<message> decode(std::span<const std::byte> bytes);

template <typename Message>
std::vector<std::byte> encoded(const Message& m) {
  std::vector<std::byte> out;
  encode(m, out);
  return out;
}

}  // namespace smc::clc
