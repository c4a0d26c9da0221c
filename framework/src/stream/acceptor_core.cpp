#include "stream/acceptor_core.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/bind_executor.hpp>
#include <asio/error.hpp>
#include <asio/system_executor.hpp>
#include <smc/config.hpp>
#include <utility>

#include "negotiation/clc_offer.hpp"
#include "negotiation/local_addresses.hpp"
#include "negotiation/local_network.hpp"
#include "negotiation/peer_settings.hpp"
#include "negotiation/rendezvous.hpp"
#include "system/events.hpp"
#include "system/sockets.hpp"
#include "system/tcp_sockets.hpp"

namespace smc::detail {

using namespace negotiation;  // NOLINT: this file is where the two meet
using clock = std::chrono::steady_clock;

namespace {

constexpr unsigned char accept_queue = 0;
constexpr std::size_t accept_batch = 16;
constexpr std::chrono::milliseconds wait_slice{100};
constexpr std::chrono::milliseconds pause_without_descriptors{20};

bool is_exhaustion(const std::error_code& error) {
  return error == asio::error::no_descriptors || error == system::error_of(ENFILE) ||
         error == asio::error::no_memory || error == asio::error::no_buffer_space;
}

}  // namespace

acceptor_core::acceptor_core(const asio::any_io_executor& executor, context_service& service,
                             std::shared_ptr<const config> settings)
    : operation_host(service.loop()),
      executor_(executor),
      service_(service),
      settings_(std::move(settings)),
      acceptor_(service.socket_executor(executor)),
      target_service_(&service) {
  machine_.emplace(settings_->handshake_timeout);
  reserve_slot(stop_waiting_);
}

acceptor_core::~acceptor_core() {
  if (!gone_) service_.remove_host(*this);
}

// ---- the listener's life

std::error_code acceptor_core::listen(int backlog) {
  std::error_code error;
  acceptor_.listen(backlog, error);
  if (!error) acceptor_.non_blocking(true, error);
  if (!error && announcements_.empty()) {
    service_.exclusively([this, keep = shared_from_this()] {
      (void)service_.prepare_deadlines();  // for the pause when no descriptor is left
      announce();
    });
  }
  return error;
}

/// Without an announcement the listener serves plain TCP: local clients then find nobody here.
void acceptor_core::announce() noexcept try {
  std::error_code error;
  const auto local = acceptor_.local_endpoint(error);
  if (error) return;
  reason ignored = reason::none;  // told to those connections that it concerns
  const auto kinds = kinds_for_any_peer(*settings_, local.port());
  probed_ = probe_transports(kinds, *settings_);
  transports_ = usable_transports(kinds, probed_, ignored);
  if (transports_.empty()) return;
  announce_at(rendezvous_place(local.port()));
  const std::string& directory = settings_->rendezvous_directory;
  if (directory.empty()) return;
  for (const auto& place : rendezvous_place::in_directory(directory, local)) announce_at(place);
} catch (const std::bad_alloc&) {
  forget_announcements();
  transports_.clear();
  for (probed_transport& each : probed_) each.obstacle = reason::no_memory;
}

void acceptor_core::announce_at(const rendezvous_place& place) {
  auto made = announcement::make(place);
  if (!made) return;
  announcements_.push_back(std::move(made.value));
  const announcement& here = announcements_.back();
  if (service_.watch(here.listener().get(), *this, EPOLLIN)) {
    announcements_.pop_back();
    return;
  }
  add_local_acceptor(here.name(), std::static_pointer_cast<acceptor_core>(shared_from_this()));
}

void acceptor_core::forget_announcements() noexcept {
  for (const announcement& each : announcements_) {
    remove_local_acceptor(each.name());
    service_.unwatch(each.listener().get());
  }
  announcements_.clear();
  callers_wait_ = false;
}

void acceptor_core::withdraw_announcement() noexcept {
  forget_announcements();
  service_.unwatch_deadline(*this);
  feed([this](actions& todo) { machine_->close(todo); });
  for (auto& [number, known] : links_) {
    if (const auto link = known.weak.lock(); link && link->is_open()) {
      (void)link->send(retire{});
      local_network::of(service_).take_over(*link);
    }
  }
  forget_handshakes();
}

void acceptor_core::forget_handshakes() noexcept {
  links_.clear();
  pending_.clear();
  proposals_.clear();
  machine_.emplace(settings_->handshake_timeout);
}

/// Memory was missing, nobody knows how far something came: the connections whose transport is
/// being chosen are reset. Those that stand, and the links, stay.
void acceptor_core::start_over() noexcept {
  for (auto& [id, each] : pending_) system::reset_on_close(each.socket);
  pending_.clear();
  proposals_.clear();
  machine_.emplace(settings_->handshake_timeout);
}

std::error_code acceptor_core::close() noexcept {
  if (!is_open()) return {};
  service_.exclusively([this, keep = shared_from_this()] {
    withdraw_announcement();
    abort_queued(asio::error::operation_aborted);
    const guard lock(*this);
    ready_.clear();
    ready_count_ = 0;
    std::error_code ignored;
    acceptor_.close(ignored);
    non_blocking_ = false;
    options_.clear();
  });
  return {};
}

std::error_code acceptor_core::set_option(int level, int name, const void* value,
                                          std::size_t size) noexcept {
  if (!is_open()) return asio::error::bad_descriptor;
  return options_.set(number(), level, name, value, size);
}

std::error_code acceptor_core::get_option(int level, int name, void* value,
                                          std::size_t* size) const noexcept {
  if (!is_open()) return asio::error::bad_descriptor;
  return options_.get(number(), level, name, value, *size);
}

void acceptor_core::release(std::shared_ptr<acceptor_core> core) noexcept {
  (void)core->close();
  core->keep_until_idle();
}

void acceptor_core::context_gone() noexcept {
  gone_ = true;
  for (auto& [number, known] : links_) {
    if (const auto link = known.weak.lock()) link->abandon();
  }
  links_.clear();
  withdraw_announcement();
  abort_queued(asio::error::operation_aborted, false);
  ready_.clear();
  std::error_code ignored;
  acceptor_.close(ignored);
}

void acceptor_core::after_fork() noexcept {
  announce_again_ = !announcements_.empty();
  forget_announcements();
  forget_handshakes();
  const guard lock(*this);
  ready_.clear();  // the parent's connections
  ready_count_ = 0;
}

// ---- arrivals

accepted_connection::~accepted_connection() {
  // In a child of fork() the connection is the parent's, who may yet hand it on.
  if (!socket || fork_generation != system::fork_generation()) return;
  if (outcome.carrier) outcome.carrier->abort();
  system::reset_on_close(socket);
}

std::error_code acceptor_core::closed_error(unsigned char) const noexcept {
  return asio::error::bad_descriptor;
}

bool acceptor_core::arm(unsigned char, operation&) noexcept {
  if (!ready_.empty()) return false;
  wait_for_arrivals();
  return true;
}

void acceptor_core::disarm(unsigned char) noexcept {}  // see waiting_changed()

void acceptor_core::waiting_changed(int difference) {
  service_.waiting_changed(difference, executor_);
  waiting_ += difference;
  if (waiting_ == 0 && waiting_for_arrivals_ && !service_.loop()) {
    stop_waiting_.emit(asio::cancellation_type::terminal);
  }
}

void acceptor_core::expect(const asio::any_io_executor& executor) {
  target_service_ = &context_service::of(executor);
  if (target_service_ != &service_) serves_others_ = true;
}

/// Nobody can be accepted, and what waits keeps the listeners readable: the next look is later.
bool acceptor_core::pause_if_exhausted(const std::error_code& error) {
  if (!is_exhaustion(error)) return false;
  for (const announcement& each : announcements_) service_.unwatch(each.listener().get());
  callers_wait_ = true;
  paused_until_ = clock::now() + pause_without_descriptors;
  watch_deadline();
  return true;
}

void acceptor_core::end_pause() {
  paused_until_ = clock::time_point{};
  if (!std::exchange(callers_wait_, false)) return;
  for (const announcement& each : announcements_) {
    if (!service_.watch(each.listener().get(), *this, EPOLLIN)) continue;
    forget_announcements();  // rather than have clients wait for nothing
    return;
  }
}

void acceptor_core::wait_for_arrivals() {
  if (waiting_for_arrivals_ || !is_open() || clock::now() < paused_until_.load()) return;
  waiting_for_arrivals_ = true;
  auto arrived = [this, keep = shared_from_this()](std::error_code error) {
    if (service_.loop()) {
      service_.loop()->internal_handler();
      service_.loop()->retake_unit();
    }
    {
      const guard lock(*this);
      waiting_for_arrivals_ = false;
    }
    if (!error) service_.exclusively([this, keep] { serve_event(); });
    const guard lock(*this);
    if (waiting_ > 0 && ready_.empty()) wait_for_arrivals();
  };
  acceptor_.async_wait(asio::socket_base::wait_read,
                       waiting_in(arrivals_memory_, asio::bind_cancellation_slot(
                                                        stop_waiting_.slot(),
                                                        asio::bind_executor(asio::system_executor(),
                                                                            std::move(arrived)))));
  // On a loop the wait stays, and is no work; elsewhere it ends with the last operation that waits.
  if (service_.loop()) service_.loop()->release_unit();
}

/// The event may be that of a connection which was accepted since; if there is another one, the
/// next wait tells at once, and a call that finds nothing is saved for each client.
void acceptor_core::serve_event() {
  if (std::exchange(accepted_ahead_, false)) {
    watch_for_proposed();
  } else if (waiting_ > 0) {
    serve(false);
  } else {
    serve_proposed();
  }
}

/// A loop accepts ahead of the program, as TCP's backlog does: the client need not wait for it.
void acceptor_core::serve_proposed() {
  serve(true);
  watch_for_proposed();
}

/// Clients propose while their TCP connects are under way.
void acceptor_core::watch_for_proposed() {
  if (proposals_.empty() || !service_.loop()) return;
  const guard lock(*this);
  wait_for_arrivals();
}

void acceptor_core::serve_arrivals() noexcept {
  service_.exclusively([this, keep = shared_from_this()] {
    service_.poll_descriptors();
    serve_proposed();
  });
}

/// Accepts what TCP has ready: as much as operations wait for, or (eagerly) as much as clients have
/// proposed a transport for; not once more to see that there is nothing: the clients are waiting,
/// and the next wait for arrivals tells.
void acceptor_core::serve(bool eagerly) noexcept {
  if (!is_open() || serving_) return;
  serving_ = true;
  try {
    serve_all(eagerly);
  } catch (const std::bad_alloc&) {
    start_over();
    (void)pause_if_exhausted(asio::error::no_memory);
    if (waiting_.load() > 0) deliver(asio::error::no_memory, nullptr);
  }
  serving_ = false;
  watch_deadline();
}

void acceptor_core::serve_all(bool eagerly) {
  if (std::exchange(announce_again_, false)) announce();
  std::vector<negotiation::connection_id> fresh;
  const auto wanted = [&] {
    if (eagerly) return fresh.size() < proposals_.size();
    return waiting_.load() > static_cast<std::ptrdiff_t>(ready_count_.load() + fresh.size());
  };
  bool more = true;
  do {
    fresh.clear();
    while (fresh.size() < accept_batch && more && wanted()) more = accept_one(fresh);
    if (fresh.empty()) break;
    accepted_ahead_ = eagerly;
    // Intents are sent before their TCP connections are made: after this look none of them is
    // missing.
    std::vector<std::shared_ptr<link>> links;  // a link that ends goes from links_
    for (const auto& [number, known] : links_) links.push_back(known.weak.lock());
    for (const auto& link : links) {
      if (link) link->receive_mail();
    }
    if (any_unclaimed(fresh)) service_.poll_descriptors();
    actions todo;
    for (const auto id : fresh) {
      const auto found = pending_.find(id);
      if (found == pending_.end()) continue;
      // Clients that found the file in the folder have another namespace's address.
      const bool own =
          !settings_->rendezvous_directory.empty() || is_own_address(found->second.peer.address());
      machine_->tcp_accepted(id, found->second.tuple, own, clock::now(), todo);
    }
    perform(todo);
  } while (more && (eagerly || fresh.size() == accept_batch));
}

/// Whether a connection may belong to a client of which nothing was heard by mail.
bool acceptor_core::any_unclaimed(const std::vector<connection_id>& fresh) const {
  return std::any_of(fresh.begin(), fresh.end(), [this](connection_id id) {
    const auto found = pending_.find(id);  // gone, where memory was missing for its mail
    return found != pending_.end() && !machine_->claimed(found->second.tuple);
  });
}

bool acceptor_core::accept_one(std::vector<negotiation::connection_id>& fresh) {
  auto accepted = system::accept_tcp(acceptor_.native_handle());
  if (!accepted) {
    if (accepted.error == asio::error::would_block) return false;
    if (accepted.error == asio::error::connection_aborted && !options_.connection_aborted()) {
      return true;
    }
    (void)pause_if_exhausted(accepted.error);
    if (waiting_.load() > 0) deliver(accepted.error, nullptr);
    return false;
  }
  pending p;
  struct reset_unless_kept {  // where there is no memory for it
    const system::descriptor& socket;
    ~reset_unless_kept() {
      if (socket) system::reset_on_close(socket);
    }
  } const otherwise{p.socket};
  p.socket = std::move(accepted.value.socket);
  p.peer = accepted.value.peer;
  p.tuple = {negotiation::endpoint(p.peer), negotiation::endpoint(accepted.value.local)};
  apply_rules(p);
  if (transports_.empty()) {
    accepted_ptr plain(new accepted_connection{std::move(p.socket), p.peer, {}});
    if (p.obstacle != reason::none) plain->outcome.reason = make_error_code(p.obstacle);
    deliver({}, std::move(plain));
    return true;
  }
  const auto id = static_cast<negotiation::connection_id>(++last_connection_);
  pending_.emplace(id, std::move(p));
  fresh.push_back(id);
  return true;
}

/// What the configuration allows for this peer, before anything is agreed on with it.
void acceptor_core::apply_rules(pending& p) const {
  const auto chosen = settings_for_peer(*settings_, p.tuple.client, p.tuple.server.port());
  p.ring_size = chosen.ring_size;
  reason why = reason::none;
  p.transports = usable_transports(chosen.transports, probed_, why);
  if (p.transports.empty()) p.obstacle = chosen.faster_denied ? reason::not_configured : why;
}

/// To whoever waits, as soon as nobody is inside the exclusive section.
/// Without memory for that the connection is reset, and the next one is waited for.
void acceptor_core::deliver(std::error_code error, accepted_ptr accepted) noexcept try {
  service_.defer([this, keep = shared_from_this(), error,
                  connection = std::move(accepted)]() mutable noexcept {
    {
      const guard lock(*this);
      if (!is_open()) return;
      try {
        ready_.push_back({error, std::move(connection)});
      } catch (const std::bad_alloc&) {
        --ready_count_;
        return;
      }
    }
    ready(accept_queue, true);
  });
  ++ready_count_;
} catch (const std::bad_alloc&) {
}

bool acceptor_core::take(operation& op, accepted_ptr& accepted) noexcept {
  if (ready_.empty()) return false;
  op.error = take_first(accepted);
  return true;
}

std::error_code acceptor_core::take_first(accepted_ptr& accepted) noexcept {
  const std::error_code error = ready_.front().error;
  accepted = std::move(ready_.front().connection);
  ready_.pop_front();
  --ready_count_;
  return error;
}

/// Serves who arrives, in the calling thread, until a connection (or an error) can be taken.
std::error_code acceptor_core::wait() noexcept {
  struct one_more {  // as an operation that waits
    std::atomic<std::ptrdiff_t>& count;
    explicit one_more(std::atomic<std::ptrdiff_t>& c) : count(c) { ++count; }
    ~one_more() { --count; }
  } const waiting(waiting_);
  const context_service::blocking_call inside;
  service_.poll_sources();  // rings that were given back
  for (;;) {
    if (!is_open()) return asio::error::bad_descriptor;
    service_.exclusively([this, keep = shared_from_this()] {
      service_.poll_descriptors();
      serve(false);
    });
    {
      const guard lock(*this);
      if (ready_to_accept()) return {};
    }
    if (non_blocking_) return asio::error::would_block;
    if (!service_.wait(wait_slice, number())) {  // another thread serves this acceptor
      std::array<pollfd, 1> arrival{pollfd{number(), POLLIN, 0}};
      (void)system::poll(arrival, std::chrono::milliseconds(1));
    }
  }
}

std::error_code acceptor_core::accept(accepted_ptr& accepted) noexcept {
  for (;;) {
    if (const auto error = wait()) return error;
    const guard lock(*this);
    if (ready_to_accept()) return take_first(accepted);  // unless another thread has taken it
  }
}

}  // namespace smc::detail
