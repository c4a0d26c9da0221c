#include "negotiation/clc_offer.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>

namespace smc::negotiation {

namespace {

reason reason_of_diagnosis(const std::optional<clc::diagnosis>& found) {
  return found ? clc::to_reason(*found) : reason::none;
}

std::string host_name() {
  std::array<char, 65> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return {};
  return std::string(name.data()).substr(0, 32);
}

}  // namespace

const clc::eid& local_eid() {
  static const clc::eid& name = *new clc::eid(*clc::eid::from_text("ASIO-SMC.LOOPBACK"));
  return name;
}

clc::proposal local_proposal() {
  clc::proposal p;
  p.version = 2;
  p.v1 = clc::path_type::none;
  p.v2 = clc::path_type::d;
  p.v2x.emplace();
  p.v2x->eids.push_back(local_eid());
  return p;
}

bool offers_something(const clc::proposal& p) {
  return p.v2x && p.v2x->smcd && !p.v2x->smcd->gids.empty();
}

void encode_endpoint(clc::message_type type, const clc::smcd_endpoint& endpoint,
                     std::vector<std::byte>& out) {
  clc::accept_confirm m;
  m.type = type;
  m.smcd = endpoint;
  m.smcd.negotiated_eid = local_eid();
  if (m.smcd.first_contact) m.smcd.contact.host_name = host_name();
  clc::encode(m, out);
}

clc_answer::clc_answer(std::span<const std::byte> clc, std::string_view transport,
                       const std::vector<negotiation::transport*>& usable) {
  const auto found = std::find_if(usable.begin(), usable.end(),
                                  [&](const auto* each) { return each->name() == transport; });
  if (found != usable.end()) chosen_ = *found;
  if (clc.empty()) return;
  const auto decoded = clc::decode_accept_confirm(clc);
  if (decoded) {
    message_ = *decoded;
  } else {
    malformed_ = true;
  }
}

std::optional<clc::smcd_endpoint> clc_answer::smcd() const {
  if (!message_ || message_->path != clc::path_type::d) return std::nullopt;
  return message_->smcd;
}

reason clc_answer::check_accept(const clc::proposal& sent) const {
  if (malformed_) return reason::protocol_error;
  return message_ ? reason_of_diagnosis(clc::check_accept(sent, *message_)) : reason::none;
}

reason clc_answer::check_confirm(const clc::proposal& proposed,
                                 std::span<const std::byte> accept_sent) const {
  if (malformed_) return reason::protocol_error;
  if (!message_) return reason::none;
  const auto sent = clc::decode_accept_confirm(accept_sent);
  if (!sent) return reason::protocol_error;
  return reason_of_diagnosis(clc::check_confirm(proposed, *sent, *message_));
}

}  // namespace smc::negotiation
