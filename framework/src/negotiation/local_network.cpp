#include "negotiation/local_network.hpp"

#include <unistd.h>

#include <algorithm>
#include <asio/error.hpp>
#include <smc/config.hpp>

#include "negotiation/local_addresses.hpp"
#include "negotiation/rendezvous.hpp"

namespace smc::negotiation {

asio::execution_context::id local_network::id;

namespace {

constexpr std::chrono::milliseconds look_is_kept{100};

reason obstacle_of(const std::error_code& error) {
  if (error == asio::error::connection_refused) return reason::none;  // nobody there
  if (error == asio::error::no_descriptors || error == system::error_of(ENFILE)) {
    return reason::descriptor_limit;
  }
  if (error == asio::error::access_denied || error == system::error_of(EPERM)) {
    return reason::not_permitted;
  }
  if (error == asio::error::no_memory) return reason::no_memory;
  return reason::rendezvous_unreachable;
}

std::uint64_t attempt_of(const message& what) {
  return std::visit(
      [](const auto& m) -> std::uint64_t {
        if constexpr (requires { m.attempt; }) {
          return m.attempt;
        } else {
          return 0;
        }
      },
      what);
}

}  // namespace

bool is_allowed_user(const config& settings, uid_t user) noexcept {
  if (settings.allowed_uids.empty()) return user == ::geteuid();
  return std::find(settings.allowed_uids.begin(), settings.allowed_uids.end(), user) !=
         settings.allowed_uids.end();
}

local_network::local_network(asio::execution_context& context) : service(context) {
  asio::use_service<detail::context_service>(context).watch_forks(*this);
}

local_network& local_network::of(detail::context_service& service) {
  return asio::use_service<local_network>(service.context());
}

std::vector<std::shared_ptr<link>> local_network::announcers(detail::context_service& of_context,
                                                             const endpoint& destination,
                                                             const config& settings, reason& why) {
  // A retired announcer's link goes with its last connection; one that a client made, when the
  // client hangs up.
  std::erase_if(kept_, [](const auto& each) { return !each->name().empty() && !each->in_use(); });
  const bool own = is_own_address(destination.to_asio().address());
  if (!own && settings.rendezvous_directory.empty()) {
    why = reason::peer_unknown;
    return {};
  }
  const auto place = own ? rendezvous_place(destination.port())
                         : rendezvous_place(settings.rendezvous_directory, destination);
  place_state& state = places_[place];
  std::erase_if(state.links, [](const auto& each) { return !each.second->is_open(); });
  // What retired or died since. A running loop hears of deaths by itself.
  const std::map<unsigned, std::shared_ptr<link>> known_links = state.links;
  for (const auto& [k, known] : known_links) known->receive_mail();
  if (!of_context.loop() || !of_context.loop()->runs_here()) of_context.poll_descriptors();
  const auto now = clock::now();
  // Known links are enough for a destination that was served through them; otherwise a further
  // announcer may have come to the port.
  const bool enough = !state.links.empty() && proven_.contains(destination);
  const bool stale = now - state.looked_at > look_is_kept;
  if (!enough && (stale || !state.links.empty())) look(of_context, place, state, settings, stale);
  std::vector<std::shared_ptr<link>> result;
  for (const auto& [k, known] : state.links) {
    if (known->is_open()) result.push_back(known);
  }
  why = result.empty() ? (state.obstacle == reason::none ? reason::peer_unknown : state.obstacle)
                       : reason::none;
  return result;
}

void local_network::look(detail::context_service& of_context, const rendezvous_place& place,
                         place_state& state, const config& settings, bool beyond_gaps) {
  state.obstacle = reason::none;
  if (beyond_gaps) state.looked_at = clock::now();
  for (unsigned k = 0; k < rendezvous_names; ++k) {
    if (state.links.contains(k)) continue;
    auto called = call_announcer(place, k);
    if (!called) {
      state.obstacle = std::max(state.obstacle, obstacle_of(called.error));
      // Announcers take the first free name: a new one is not behind a gap.
      if (!beyond_gaps && called.error == asio::error::connection_refused) break;
      continue;
    }
    auto made = std::make_shared<link>(of_context, std::move(called.value), this);
    if (const auto error = made->open()) {
      state.obstacle = std::max(state.obstacle, obstacle_of(error));
    } else if (!is_allowed_user(settings, made->peer().uid)) {
      state.obstacle = std::max(state.obstacle, reason::other_user);
    } else {
      made->set_name(place.name(k));
      state.links.emplace(k, std::move(made));
    }
  }
}

void local_network::refused(const endpoint& destination) {
  for (auto& [place, state] : places_) {
    if (place.port() == destination.port()) state.looked_at = {};
  }
  proven_.erase(destination);
}

std::uint64_t local_network::add_attempt(attempt_handler& handler) {
  attempts_.emplace(++last_attempt_, &handler);
  return last_attempt_;
}

void local_network::forget(const link& gone) noexcept {
  std::erase_if(kept_, [&](const auto& each) { return each.get() == &gone; });
}

void local_network::received(link& from, const message& what,
                             std::span<system::descriptor> descriptors) {
  if (std::holds_alternative<negotiation::retire>(what)) {
    retire(from);
    return;
  }
  const std::uint64_t attempt = attempt_of(what);
  if (const auto found = attempts_.find(attempt); found != attempts_.end()) {
    found->second->received(from, what, descriptors);
  } else if (std::holds_alternative<accept>(what)) {
    from.send_sometime(decline_because(attempt, reason::handshake_timed_out));
  }
}

/// Attempts may end, and others begin, meanwhile; without memory, too.
template <typename Tell>
void local_network::tell_attempts(Tell&& tell) {
  for (auto i = attempts_.begin(); i != attempts_.end();) {
    const auto number = i->first;
    tell(*i->second);
    i = attempts_.upper_bound(number);
  }
}

void local_network::violated(link& from, reason why) {
  tell_attempts([&](attempt_handler& each) { each.violated(from, why); });
}

void local_network::ended(link& from) {
  const auto keep = from.shared_from_this();
  unlist(from);
  forget(from);
  tell_attempts([&](attempt_handler& each) { each.ended(from); });
}

/// The announcer is gone. Whoever else serves its port may stand behind the gap that it leaves.
void local_network::unlist(const link& gone) {
  for (auto& [place, state] : places_) {
    const auto erased =
        std::erase_if(state.links, [&](const auto& each) { return each.second.get() == &gone; });
    if (erased == 0) continue;
    state.looked_at = {};
    std::erase_if(proven_, [p = place.port()](const endpoint& e) { return e.port() == p; });
  }
}

/// The announcer's listener closed: no new attempts go there, its connections go on.
void local_network::retire(link& from) {
  const auto keep = from.shared_from_this();
  unlist(from);
  kept_.insert(keep);
  tell_attempts([&](attempt_handler& each) { each.received(from, negotiation::retire{}, {}); });
}

void local_network::shutdown() {
  attempts_.clear();
  abandon_links();
}

/// Peers know the parent. Attempts of the parent's end with their streams.
void local_network::after_fork() noexcept {
  abandon_links();
  proven_.clear();
}

void local_network::abandon_links() noexcept {
  for (auto& [place, state] : places_) {
    for (auto& [k, each] : state.links) each->abandon();
  }
  for (const auto& each : kept_) each->abandon();
  places_.clear();
  kept_.clear();
}

}  // namespace smc::negotiation
