// What a connect says to announcers. Without memory for a message nothing was said.
#include <new>
#include <smc/config.hpp>

#include "negotiation/clc_offer.hpp"
#include "negotiation/connect_attempt.hpp"
#include "negotiation/local_acceptors.hpp"

namespace smc::detail {

using namespace negotiation;  // NOLINT: as connect_attempt.cpp
using clock = std::chrono::steady_clock;

void connect_attempt::send_intent(announcer_id to, actions& more) {
  const intent message{number_, destination_, shared_layout_version};
  // The proposal will wake who has to answer; what the server accepts before that, it accepts
  // awake. Who is too busy for a further client still serves those it has: the link stays.
  if (link_of(to)->send(message, {}, link::urgency::with_the_next)) machine_.hung_up(to, more);
}

void connect_attempt::send_proposal(announcer_id to, actions& more) {
  const auto link = link_of(to);
  proposal message;
  if (!encode_proposal(*link, message) || link->send(message)) {
    link->send_sometime(withdraw{number_});
    machine_.hung_up(to, more);
    return;
  }
  after_send(*link);
}

/// False: no memory.
bool connect_attempt::encode_proposal(link& to, proposal& message) noexcept try {
  message.attempt = number_;
  message.connection = *tuple_;
  message.patience = std::chrono::duration_cast<std::chrono::milliseconds>(machine_.patience());
  proposed_ = local_proposal();
  for (negotiation::transport* each : transports_)
    each->propose(plan(to), proposed_, message.parts);
  if (offers_something(proposed_)) clc::encode(proposed_, message.clc);
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

/// A peer in this process is served by this thread, as soon as it has left the exclusive section.
void connect_attempt::after_send(link& to) noexcept try {
  if (!to.same_process()) return;
  service_.defer([name = to.name()] { serve_local_acceptor(name); });
} catch (const std::bad_alloc&) {  // its own loop serves it, if one runs
}

void connect_attempt::confirm(actions& more) {
  reason why = reason::none;
  try {
    const clc_answer answer(accept_->clc, accept_->transport, transports_);
    chosen_ = answer.chosen();
    why = chosen_ ? answer.check_accept(proposed_) : reason::protocol_error;
    if (accept_descriptors_.size() < accept_->descriptors) why = reason::descriptor_limit;
    if (why == reason::none) {
      // The link that the ACCEPT came on is the chosen announcer's.
      handshake_ = chosen_->begin(plan(*accepting_link_));
      why = handshake_->confirm({answer.smcd(), accept_->extension, accept_descriptors_}, confirm_);
    }
  } catch (const std::bad_alloc&) {
    why = reason::no_memory;
  }
  if (why == reason::none) {
    machine_.transport_confirmed(clock::now(), more);
  } else {
    handshake_.reset();
    machine_.transport_failed(why, more);
  }
}

void connect_attempt::send_confirm(announcer_id to) {
  const auto link = link_of(to);
  negotiation::confirm message;
  if (!encode_confirm(message) || link->send(message, confirm_.descriptors)) {
    link->send_sometime(withdraw{number_});
    confirm_lost_ = true;  // the server never heard of it: both sides are TCP
    return;
  }
  confirm_sent_ = true;
  after_send(*link);
}

/// False: no memory.
bool connect_attempt::encode_confirm(negotiation::confirm& message) noexcept try {
  message.attempt = number_;
  message.transport = chosen_->name();
  if (confirm_.smcd) encode_endpoint(clc::message_type::confirm, *confirm_.smcd, message.clc);
  message.extension = confirm_.extension;
  message.descriptors = static_cast<std::uint8_t>(confirm_.descriptors.size());
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

}  // namespace smc::detail
