#include "negotiation/connect_attempt.hpp"

#include <asio/bind_executor.hpp>
#include <asio/error.hpp>
#include <asio/system_executor.hpp>
#include <new>
#include <smc/config.hpp>
#include <utility>

#include "negotiation/peer_settings.hpp"
#include "negotiation/registry.hpp"

namespace smc::detail {

using namespace negotiation;  // NOLINT: this file is where the two meet
using clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::milliseconds wait_slice{10};

/// Dialling the unspecified address reaches the loopback.
asio::ip::tcp::endpoint dialled(const asio::ip::tcp::endpoint& to) {
  if (!to.address().is_unspecified()) return to;
  if (to.address().is_v4()) return {asio::ip::address_v4::loopback(), to.port()};
  return {asio::ip::address_v6::loopback(), to.port()};
}

}  // namespace

/// Tells the core how it ended.
class connect_attempt::announcement final : public deferred_call {
 public:
  std::shared_ptr<connect_attempt> of;
  void run() noexcept override {
    if (of->cancelled_) return;
    if (const auto owner = of->core_owner_.lock()) {
      of->core_->connected(*of, of->error_, std::move(of->outcome_));
    }
  }
};

connect_attempt::connect_attempt(stream_core& core, const asio::ip::tcp::endpoint& to,
                                 bool blocking)
    : core_owner_(core.weak_from_this()),
      core_(&core),
      service_(core.service()),
      settings_(core.shared_settings()),
      receive_size_(core.wanted_receive_size()),
      send_size_(core.wanted_send_size()),
      to_(to),
      destination_(dialled(to)),
      blocking_(blocking),
      announcement_(std::make_unique<announcement>()) {}

connect_attempt::~connect_attempt() {
  if (network_ && number_ != 0) network_->remove_attempt(number_);
  service_.unwatch_deadline(*this);
}

void connect_attempt::start() {
  service_.exclusively([self = shared_from_this()] { self->with_memory([&] { self->begin(); }); });
}

std::error_code connect_attempt::run(stream_core& core, const asio::ip::tcp::endpoint& to,
                                     established& outcome) {
  const context_service::blocking_call inside;
  const auto attempt = std::make_shared<connect_attempt>(core, to, true);
  attempt->service_.poll_sources();  // rings that were given back
  attempt->start();
  attempt->wait_for_end();
  const std::lock_guard lock(attempt->mutex_);
  outcome = std::move(attempt->outcome_);
  return attempt->error_;
}

/// The blocked caller serves what it waits for itself; if another thread runs the loop, that one
/// does.
void connect_attempt::wait_for_end() {
  const auto told = [this](auto&& condition) {
    std::unique_lock lock(mutex_);
    return ended_.wait_for(lock, wait_slice, condition);
  };
  while (!told([this] { return done_ || tcp_wanted_; })) {  // the loop's thread has not begun yet
  }
  if (tcp_wanted_) {
    const std::error_code error = core_->tcp().connect(to_);
    service_.exclusively([self = shared_from_this(), error] { self->tcp_done(error, false); });
  }
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (done_) return;
    }
    if (!service_.wait(wait_slice)) (void)told([this] { return done_; });
  }
}

/// Runs what events lead to. Where memory is missing nobody knows how far it came: the attempt
/// ends.
template <typename F>
void connect_attempt::with_memory(F&& f) noexcept {
  try {
    f();
  } catch (const std::bad_alloc&) {
    give_up();
  }
}

/// On TCP, if it is there and no acceptor may believe otherwise; else with an error.
void connect_attempt::give_up() noexcept {
  if (over_) return;
  if (number_ != 0) {
    for (const auto& each : links_) each->send_sometime(withdraw{number_});
    network_->remove_attempt(std::exchange(number_, 0));
  }
  service_.unwatch_deadline(*this);
  handshake_.reset();
  established outcome;
  std::error_code error;
  if (!tcp_connected_ || confirm_sent_) {
    error = asio::error::no_memory;
  } else if (faster_wanted_) {
    outcome.reason = make_error_code(reason::no_memory);
    if (settings_->fallback == fallback_policy::forbid) error = outcome.reason;
  }
  tell(error, std::move(outcome));
}

void connect_attempt::begin() {
  if (cancelled_) return;
  actions todo;
  reason why = reason::none;
  try {
    find_announcers(why);
  } catch (const std::bad_alloc&) {
    why = reason::no_memory;
    faster_wanted_ = faster_wanted_ || settings_->transports.front() != transport_kind::tcp;
    links_.clear();
  }
  obstacle_ = why;
  std::vector<announcer_id> announcers;
  for (std::size_t i = 0; i < links_.size(); ++i)
    announcers.push_back(static_cast<announcer_id>(i));
  machine_.start(announcers, settings_->handshake_timeout, todo);
  perform(todo);
  watch_deadline();
}

void connect_attempt::find_announcers(reason& why) {
  const auto chosen = settings_for_peer(*settings_, destination_, destination_.port());
  ring_size_ = chosen.ring_size;
  faster_denied_ = chosen.faster_denied;
  transports_ =
      usable_transports(chosen.transports, probe_transports(chosen.transports, *settings_), why);
  faster_wanted_ = !transports_.empty() || why != reason::none;
  if (!transports_.empty()) {
    network_ = &local_network::of(service_);
    links_ = network_->announcers(service_, destination_, *settings_, why);
  }
  if (!links_.empty()) number_ = network_->add_attempt(*this);
}

void connect_attempt::connect_tcp(actions& more) {
  if (blocking_) {
    const std::lock_guard lock(mutex_);
    tcp_wanted_ = true;
    ended_.notify_all();
    return;
  }
  if (!core_->tcp().is_bare()) {
    await_tcp(more);
    return;
  }
  std::error_code error = core_->tcp().start_connect(to_);
  if (error == asio::error::in_progress) {
    error = learn_tuple();
    if (!error) {
      machine_.tcp_underway(clock::now(), more);
      return;
    }
  }
  after_tcp(error, more);
}

void connect_attempt::await_tcp(actions& more) {
  std::error_code error = asio::error::in_progress;
  if (core_->tcp().is_bare()) error = core_->tcp().connected();
  if (error == asio::error::in_progress) {
    error = wait_for_tcp();
    if (!error) return;
  }
  after_tcp(error, more);
}

/// Has the reactor tell when the connect has ended. An error: it can't.
std::error_code connect_attempt::wait_for_tcp() {
  tcp_socket& tcp = core_->tcp();
  const bool begun = !tcp.in_reactor().is_open();
  // On the system executor the handler runs where the reactor found the event, outside any strand.
  auto handler = asio::bind_executor(
      asio::system_executor(), [self = shared_from_this(), begun](std::error_code error) {
        if (self->service_.loop()) self->service_.loop()->internal_handler();
        self->service_.exclusively([self, error, begun] { self->tcp_done(error, begun); });
      });
  if (!begun) {
    tcp.in_reactor().async_connect(to_, std::move(handler));
    return {};
  }
  if (const auto error = tcp.enter_reactor()) return error;
  tcp.in_reactor().async_wait(asio::socket_base::wait_write, std::move(handler));
  return {};
}

/// `ask`: the socket knows how it ended.
void connect_attempt::tcp_done(std::error_code error, bool ask) {
  if (cancelled_ || over()) return;  // the stream may be gone
  if (!error && ask) error = core_->tcp().pending_error();
  with_memory([&] {
    actions todo;
    after_tcp(error, todo);
    perform(todo);
    watch_deadline();
  });
}

void connect_attempt::after_tcp(std::error_code error, actions& more) {
  if (!error) error = learn_tuple();
  if (error) {
    if (error == asio::error::connection_refused && network_) network_->refused(destination_);
    machine_.tcp_failed(error, more);
  } else {
    tcp_connected_ = true;
    machine_.tcp_connected(clock::now(), more);
  }
}

/// Known as soon as the connect has begun.
std::error_code connect_attempt::learn_tuple() {
  if (number_ == 0 || tuple_) return {};
  asio::ip::tcp::endpoint own;
  const std::error_code error = core_->tcp().endpoint(own, false);
  if (!error) tuple_ = {negotiation::endpoint(own), destination_};
  return error;
}

// ---- what the machine asks for

void connect_attempt::perform(actions& todo) {
  // Carrying out an action may lead to further ones, which come behind those already asked for.
  for (std::size_t i = 0; i < todo.size(); ++i) {
    actions more;
    act(client_action(todo[i]), more);
    todo.insert(todo.end(), more.begin(), more.end());
  }
}

void connect_attempt::act(const client_action& action, actions& more) {
  switch (action.what) {
    case client_action::kind::send_intent:
      send_intent(action.announcer, more);
      break;
    case client_action::kind::connect_tcp:
      connect_tcp(more);
      break;
    case client_action::kind::send_proposal:
      send_proposal(action.announcer, more);
      break;
    case client_action::kind::await_tcp:
      await_tcp(more);
      break;
    case client_action::kind::confirm:
      confirm(more);
      break;
    case client_action::kind::send_confirm:
      send_confirm(action.announcer);
      break;
    case client_action::kind::send_decline:
      link_of(action.announcer)->send_sometime(decline_because(number_, action.why));
      break;
    case client_action::kind::send_withdraw:
      link_of(action.announcer)->send_sometime(withdraw{number_});
      break;
    case client_action::kind::finished_transport:
      if (confirm_lost_) {
        finish({}, reason::rendezvous_unreachable, false);
      } else {
        network_->proven(destination_);
        finish({}, reason::none, true);
      }
      break;
    case client_action::kind::finished_tcp:
      finish({}, action.why, false);
      break;
    case client_action::kind::finished_error:
      finish(action.error, reason::none, false);
      break;
  }
}

void connect_attempt::finish(std::error_code error, reason why, bool on_transport) {
  if (number_ != 0) network_->remove_attempt(std::exchange(number_, 0));
  service_.unwatch_deadline(*this);
  established outcome;
  if (!error && on_transport) {
    outcome.peer = accepting_link_->peer();
    outcome.carrier = handshake_->take();
    outcome.kind = chosen_->kind();
    outcome.name = chosen_->name();
  } else if (!error && faster_wanted_) {
    if (obstacle_ != reason::none) why = obstacle_;
    outcome.reason = make_error_code(why == reason::none ? reason::peer_unknown : why);
    if (settings_->fallback == fallback_policy::forbid) error = outcome.reason;
  } else if (!error && faster_denied_) {
    outcome.reason = make_error_code(reason::not_configured);
  }
  handshake_.reset();
  tell(error, std::move(outcome));
}

void connect_attempt::tell(std::error_code error, established&& outcome) noexcept {
  over_ = true;
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
    error_ = error;
    outcome_ = std::move(outcome);
    ended_.notify_all();
  }
  if (blocking_) return;
  announcement_->of = shared_from_this();
  service_.defer_prepared(std::move(announcement_));
}

void connect_attempt::cancel() noexcept {
  service_.exclusively([self = shared_from_this()] {
    self->cancelled_ = true;
    if (self->over()) return;
    self->with_memory([&] {
      actions todo;
      self->machine_.tcp_failed(asio::error::operation_aborted, todo);
      self->perform(todo);
    });
  });
}

// ---- what comes in

std::optional<announcer_id> connect_attempt::announcer(const link& which) const {
  for (std::size_t i = 0; i < links_.size(); ++i) {
    if (links_[i].get() == &which) return static_cast<announcer_id>(i);
  }
  return std::nullopt;
}

std::shared_ptr<link> connect_attempt::link_of(announcer_id which) const {
  return links_[static_cast<std::size_t>(which)];
}

connection_plan connect_attempt::plan(link& link) const {
  return {service_, link, *settings_, ring_size_, receive_size_, send_size_, false};
}

void connect_attempt::received(link& from, const message& what,
                               std::span<system::descriptor> descriptors) {
  const auto keep = shared_from_this();
  const auto which = announcer(from);
  if (!which || over()) return;
  if (const auto* accepted = std::get_if<accept>(&what)) {
    accept_ = accepted;
    accept_descriptors_ = descriptors;
    accepting_link_ = from.shared_from_this();
  }
  with_memory([&] {
    actions todo;
    machine_.received(*which, what, clock::now(), todo);
    perform(todo);
  });
  accept_ = nullptr;
}

void connect_attempt::violated(link& from, reason why) {
  const auto keep = shared_from_this();
  const auto which = announcer(from);
  if (!which || over()) return;
  with_memory([&] {
    actions todo;
    machine_.violated(*which, why, todo);
    perform(todo);
  });
}

void connect_attempt::ended(link& from) {
  const auto keep = shared_from_this();
  const auto which = announcer(from);
  if (!which || over()) return;
  with_memory([&] {
    actions todo;
    machine_.hung_up(*which, todo);
    perform(todo);
  });
}

void connect_attempt::on_deadline(clock::time_point now) noexcept {
  const auto keep = shared_from_this();
  if (over()) return;
  with_memory([&] {
    actions todo;
    machine_.deadline(now, todo);
    perform(todo);
  });
  watch_deadline();
}

/// Without a timer nobody has any patience.
void connect_attempt::watch_deadline() noexcept {
  if (over()) return;
  if (const auto when = machine_.next_deadline()) {
    if (service_.watch_deadline(*this, *when)) on_deadline(*when);
  }
}

}  // namespace smc::detail
