// The glue of the server's side: carries out what server_machine decides, with links and
// transports.
#include <unistd.h>

#include <algorithm>
#include <asio/error.hpp>
#include <new>
#include <smc/config.hpp>
#include <utility>

#include "loop/loop_internals.hpp"
#include "negotiation/clc_offer.hpp"
#include "negotiation/local_network.hpp"
#include "negotiation/rendezvous.hpp"
#include "stream/acceptor_core.hpp"
#include "system/socket_owner.hpp"
#include "system/sockets.hpp"
#include "system/tcp_sockets.hpp"

namespace smc::detail {

using namespace negotiation;  // NOLINT: this file is where the two meet
using clock = std::chrono::steady_clock;

namespace {

link_id id_of(const negotiation::link& l) { return static_cast<link_id>(l.id()); }

}  // namespace

// ---- what comes in

/// Clients call.
void acceptor_core::on_event(std::uint32_t) noexcept try {
  for (const announcement& each : announcements_) {
    for (int n = 0; n < rendezvous_backlog; ++n) {  // callers that never stop must not keep us
      auto called = system::accept_from(each.listener(), true);
      if (!called) {
        if (pause_if_exhausted(called.error)) return;
        break;
      }
      auto made = std::make_shared<negotiation::link>(service_, std::move(called.value), this);
      if (made->open()) continue;
      local_network::of(service_).keep(made);
      const bool allowed = is_allowed_user(*settings_, made->peer().uid);
      if (!allowed) refused_.note(made->peer().uid, clock::now());
      links_[id_of(*made)] = {made, allowed};
      made->receive_all();
    }
  }
} catch (const std::bad_alloc&) {
  (void)pause_if_exhausted(asio::error::no_memory);
}

void acceptor_core::received(negotiation::link& from, const message& what,
                             std::span<system::descriptor> descriptors) {
  const link_id id = id_of(from);
  if (const auto found = links_.find(id); found != links_.end()) found->second.spoke = true;
  const auto* i = std::get_if<intent>(&what);
  if (i && !is_allowed(id)) {  // else other users could keep our accepts waiting
    (void)from.send(decline_because(i->attempt, reason::other_user));
  } else if (i) {
    feed([&](actions& todo) { machine_->intent(id, i->attempt, todo); });
  } else if (const auto* p = std::get_if<proposal>(&what)) {
    feed([&](actions& todo) {
      proposals_.insert_or_assign(attempt_key{id, p->attempt},
                                  stored_proposal{from.weak_from_this(), *p});
      machine_->proposal(id, p->attempt, p->connection, p->patience, clock::now(), todo);
      if (todo.empty() && !serving_) {
        service_.defer([this, keep = shared_from_this()] {
          service_.exclusively([this, keep] { serve_proposed(); });
        });
      }
    });
  } else if (const auto* c = std::get_if<confirm>(&what)) {
    confirm_ = c;
    confirm_descriptors_ = descriptors;
    feed([&](actions& todo) { machine_->confirm(id, c->attempt, todo); });
    confirm_ = nullptr;
  } else if (const auto* d = std::get_if<decline>(&what)) {
    feed([&](actions& todo) { machine_->decline(id, d->attempt, reason_of(*d), todo); });
    proposals_.erase({id, d->attempt});
  } else if (const auto* w = std::get_if<withdraw>(&what)) {
    feed([&](actions& todo) { machine_->withdraw(id, w->attempt, todo); });
    proposals_.erase({id, w->attempt});
  } else {
    from.break_off(reason::protocol_error);
  }
}

/// ended() follows. What was lost for want of memory may have been a confirmation.
void acceptor_core::violated(negotiation::link& from, reason why) {
  if (why != reason::no_memory) return;
  for (auto& [id, each] : pending_) {
    if (each.handshake && each.link.get() == &from) each.confirmed_maybe = true;
  }
}

void acceptor_core::ended(negotiation::link& from) {
  const auto keep = from.shared_from_this();
  feed([&](actions& todo) { machine_->hung_up(id_of(from), todo); });
  const attempt_key first{id_of(from), 0};
  for (auto i = proposals_.lower_bound(first);
       i != proposals_.end() && i->first.link == first.link;) {
    i = proposals_.erase(i);
  }
  if (const auto found = links_.find(id_of(from)); found != links_.end()) {
    // Who looks at who we are and goes without a word has refused us, if anything about us.
    const uid_t user = from.peer().uid;
    if (!found->second.spoke && user != ::geteuid()) refused_.note(user, clock::now());
    links_.erase(found);
  }
  local_network::of(service_).forget(from);
}

void acceptor_core::on_deadline(clock::time_point now) noexcept {
  feed([&](actions& todo) { machine_->deadline(now, todo); });
  if (paused_until_.load() <= now) end_pause();
  watch_deadline();
  const guard lock(*this);
  if (waiting_ > 0 && ready_.empty()) wait_for_arrivals();
}

void acceptor_core::watch_deadline() {
  auto when = machine_->next_deadline();
  if (const auto resume = paused_until_.load(); resume > clock::now())
    when = std::min(when.value_or(resume), resume);
  // Without a timer nobody would end the pause.
  if (when && service_.watch_deadline(*this, *when)) end_pause();
}

bool acceptor_core::is_allowed(link_id caller) const {
  const auto found = links_.find(caller);
  return found != links_.end() && found->second.allowed;
}

/// Says what kept a peer from offering anything: users that don't trust each other exchange no
/// word, so the kernel is asked whose the connection is.
bool acceptor_core::is_of_refused_user(const four_tuple& connection) const {
  const auto now = clock::now();
  if (!refused_.any(now)) return false;
  const auto user =
      system::owner_of_socket(connection.client.to_asio(), connection.server.to_asio());
  return user && refused_.contains(user.value, now);
}

// ---- what the machine asks for

void acceptor_core::perform(actions& todo) {
  // Carrying out an action may lead to further ones, which come behind those already asked for.
  for (std::size_t i = 0; i < todo.size(); ++i) {
    actions more;
    act(server_action(todo[i]), more);
    todo.insert(todo.end(), more.begin(), more.end());
  }
}

void acceptor_core::act(const server_action& action, actions& more) {
  switch (action.what) {
    case server_action::kind::answer:
      answer(action, more);
      break;
    case server_action::kind::establish:
      establish(action, more);
      break;
    case server_action::kind::abandon: {
      auto& p = pending_.at(action.connection);
      p.handshake.reset();
      p.chosen = nullptr;
      proposals_.erase(action.by);
      break;
    }
    case server_action::kind::send_decline:
      send_decline(action.by, action.why);
      break;
    case server_action::kind::deliver:
      hand_over_pending(action, true);
      break;
    case server_action::kind::deliver_tcp:
      if (!pending_.at(action.connection).confirmed_maybe) {
        hand_over_pending(action, false);
        break;
      }
      [[fallthrough]];  // TCP would be another transport than the client's
    case server_action::kind::drop: {
      auto& p = pending_.at(action.connection);
      system::reset_on_close(p.socket);
      pending_.erase(action.connection);
      break;
    }
  }
}

negotiation::transport* acceptor_core::choose(const proposal& message, pending& p, reason& why) {
  if (p.transports.empty()) {
    why = p.obstacle == reason::none ? reason::not_configured : p.obstacle;
    return nullptr;
  }
  bool offers_smcd = false;
  if (!message.clc.empty()) {
    const auto decoded = clc::decode_proposal(message.clc);
    if (!decoded) {
      why = reason::protocol_error;
      return nullptr;
    }
    p.proposed = *decoded;
    offers_smcd = p.proposed.offers_d_v2();
  }
  for (negotiation::transport* each : p.transports) {
    if (each->kind() == transport_kind::smc_d && offers_smcd) return each;
    for (const part& offered : message.parts) {
      if (offered.transport == each->name()) return each;
    }
  }
  why = reason::not_offered;
  return nullptr;
}

void acceptor_core::answer(const server_action& action, actions& more) {
  auto& p = pending_.at(action.connection);
  const auto stored = proposals_.find(action.by);
  const auto link = stored == proposals_.end() ? nullptr : stored->second.link.lock();
  reason why = link ? reason::none : reason::rendezvous_unreachable;
  if (why == reason::none && !is_allowed(action.by.link)) why = reason::other_user;
  negotiation::accept message;
  offer given;
  try {
    if (why == reason::none) p.chosen = choose(stored->second.message, p, why);
    if (why == reason::none) {
      p.link = link;
      context_service& target = *target_service_;
      // Who waits to be accepted now need not be who gets this connection: clients that come at
      // once are answered before the first is taken. So where another loop's stream may get it,
      // any thread must be able to work for it.
      const bool foreign = &target != &service_ || serves_others_ || count_of_loops() > 1;
      p.handshake = p.chosen->begin({target, *link, *settings_, p.ring_size, 0, 0, foreign});
      received_offer proposed;
      for (const part& each : stored->second.message.parts) {
        if (each.transport == p.chosen->name()) proposed.extension = each.extension;
      }
      why = p.handshake->answer(proposed, given);
    }
    if (why == reason::none) {
      message.attempt = action.by.attempt;
      message.transport = p.chosen->name();
      message.extension = given.extension;
      message.descriptors = static_cast<std::uint8_t>(given.descriptors.size());
      if (given.smcd) encode_endpoint(clc::message_type::accept, *given.smcd, message.clc);
      p.accept_clc = message.clc;
      if (link->send(message, given.descriptors)) why = reason::rendezvous_unreachable;
    }
  } catch (const std::bad_alloc&) {
    why = reason::no_memory;
  }
  if (stored != proposals_.end()) proposals_.erase(stored);
  if (why == reason::none) {
    machine_->answered(action.connection, clock::now(), more);
  } else {
    p.handshake.reset();
    machine_->answer_failed(action.connection, why, more);
  }
}

void acceptor_core::establish(const server_action& action, actions& more) {
  auto& p = pending_.at(action.connection);
  reason why = reason::none;
  try {
    const clc_answer answer(confirm_->clc, confirm_->transport, transports_);
    if (answer.chosen() != p.chosen) why = reason::protocol_error;
    if (confirm_descriptors_.size() < confirm_->descriptors) why = reason::descriptor_limit;
    if (why == reason::none) why = answer.check_confirm(p.proposed, p.accept_clc);
    if (why == reason::none) {
      why = p.handshake->establish({answer.smcd(), confirm_->extension, confirm_descriptors_});
    }
  } catch (const std::bad_alloc&) {
    why = reason::no_memory;
  }
  if (why == reason::none) {
    machine_->established(action.connection, more);
  } else {
    p.handshake.reset();
    machine_->establish_failed(action.connection, why, more);
  }
}

void acceptor_core::hand_over_pending(const server_action& action, bool on_transport) {
  const auto found = pending_.find(action.connection);
  // Allocated first: without memory all that is pending is reset (see feed()).
  accepted_ptr accepted(new accepted_connection);
  pending p = std::move(found->second);
  pending_.erase(found);
  accepted->socket = std::move(p.socket);
  accepted->peer = p.peer;
  if (on_transport) {
    accepted->outcome.carrier = p.handshake->take();
    accepted->outcome.kind = p.chosen->kind();
    accepted->outcome.name = p.chosen->name();
    accepted->outcome.peer = p.link->peer();
  } else if (p.transports.empty()) {  // TCP is what is wanted here, or all that can be had
    if (p.obstacle != reason::none) accepted->outcome.reason = make_error_code(p.obstacle);
  } else {
    reason why = action.why == reason::none ? reason::peer_unknown : action.why;
    if (why == reason::not_offered && is_of_refused_user(p.tuple)) why = reason::other_user;
    accepted->outcome.reason = make_error_code(why);
    if (settings_->fallback == fallback_policy::forbid) {  // refused, as the configuration wants it
      system::reset_on_close(accepted->socket);
      return;
    }
  }
  deliver({}, std::move(accepted));
}

void acceptor_core::send_decline(const attempt_key& to, reason why) {
  proposals_.erase(to);
  const auto found = links_.find(to.link);
  if (found == links_.end()) return;
  if (const auto link = found->second.weak.lock(); link && link->is_open()) {
    (void)link->send(decline_because(to.attempt, why));
  }
}

}  // namespace smc::detail
