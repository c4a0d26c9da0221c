#pragma once
// CLC messages as the local rendezvous uses them: version 2, SMC-D, one EID that all users of this
// library share.
#include <cstddef>
#include <optional>
#include <smc/error.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "negotiation/clc.hpp"
#include "negotiation/handshake.hpp"

namespace smc::negotiation {

/// Of what lies in the memory that peers share; another one is TCP with version_mismatch.
inline constexpr std::uint32_t shared_layout_version = 1;

const clc::eid& local_eid();

/// A PROPOSAL without any transport in it yet.
clc::proposal local_proposal();
/// Whether a transport added something that CLC carries.
bool offers_something(const clc::proposal& p);

/// Completes `endpoint` (EID, contact information) and appends it as an ACCEPT or CONFIRM.
void encode_endpoint(clc::message_type type, const clc::smcd_endpoint& endpoint,
                     std::vector<std::byte>& out);

/// A received ACCEPT or CONFIRM: whose it is, and its CLC part.
class clc_answer {
 public:
  clc_answer(std::span<const std::byte> clc, std::string_view transport,
             const std::vector<negotiation::transport*>& usable);

  /// nullptr: a transport that was not on offer.
  transport* chosen() const noexcept { return chosen_; }
  std::optional<clc::smcd_endpoint> smcd() const;

  reason check_accept(const clc::proposal& sent) const;
  reason check_confirm(const clc::proposal& proposed, std::span<const std::byte> accept_sent) const;

 private:
  transport* chosen_ = nullptr;
  bool malformed_ = false;
  std::optional<clc::accept_confirm> message_;
};

}  // namespace smc::negotiation
