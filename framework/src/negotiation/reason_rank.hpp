#pragma once
// Which of several reasons tells a user most.
#include <smc/error.hpp>

namespace smc::negotiation {

/// The more telling one; `a` where both tell as much. A reason that names what is missing beats one
/// that only says that nobody was there or answered.
reason more_telling(reason a, reason b) noexcept;

}  // namespace smc::negotiation
