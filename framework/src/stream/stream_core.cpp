#include "stream/stream_core.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <asio/error.hpp>
#include <asio/prefer.hpp>
#include <new>
#include <smc/config.hpp>
#include <utility>

#include "config/checked.hpp"
#include "negotiation/connect_attempt.hpp"
#include "negotiation/registry.hpp"
#include "statistics/registry.hpp"
#include "stream/acceptor_core.hpp"
#include "system/events.hpp"
#include "system/tcp_sockets.hpp"

namespace smc::detail {

namespace {

constexpr std::chrono::milliseconds wait_slice{100};  // between looks for the peer's death

/// Counts one try of a request: the request itself once, what it moved.
void count(direction_counters& counters, bool& counted, std::size_t size,
           const transfer_result& result) noexcept {
  const bool waits = result.error == asio::error::would_block;
  if (!counted && (waits || result.bytes != 0)) {
    counted = true;
    counters.request(size);
    if (waits) counters.buffer_full();
  }
  if (result.bytes != 0) counters.transferred(result.bytes);
}

void count_bytes(direction_counters& counters, std::size_t n) noexcept {
  if (n == 0) return;
  counters.request(n);
  counters.transferred(n);
}

}  // namespace

std::shared_ptr<const config> settings_or_default(const config* settings) {
  if (settings) return std::make_shared<const config>(config_detail::checked(*settings));
  return {std::shared_ptr<const config>(), &config::process_default()};
}

stream_core::stream_core(const asio::any_io_executor& executor, context_service& service,
                         std::shared_ptr<const config> settings)
    : operation_host(service.loop()),
      executor_(executor),
      service_(service),
      settings_(std::move(settings)),
      tcp_(service.socket_executor(executor)) {
  read_side_.core = write_side_.core = this;
  write_side_.which = direction::write;
}

stream_core::~stream_core() {
  if (gone_) return;
  service_.unwatch_lasting(*this);
  service_.remove_host(*this);
}

void stream_core::side::ready() noexcept {
  if (which == direction::write) core->drive_leftover();
  // Last: a handler may run in here and end the stream.
  core->operation_host::ready(which == direction::read ? read_queue : write_queue,
                              context_service::in_blocking_call());
}

// ---- the connection's life

std::error_code stream_core::open(const asio::ip::tcp& protocol) { return tcp_.open(protocol); }

std::error_code stream_core::bind(const asio::ip::tcp::endpoint& endpoint) {
  return tcp_.bind(endpoint);
}

std::error_code stream_core::settle(established&& outcome) noexcept try {
  if (!outcome.carrier) {
    if (const auto error = tcp_.enter_reactor()) return error;
    outcome.carrier = negotiation::make_tcp_connection(tcp_.in_reactor(), loop());
  }
  outcome_ = std::move(outcome);
  connection_ = std::move(outcome_.carrier);
  reset_told_.store(false, std::memory_order_relaxed);
  record_.emplace(outcome_.kind, *connection_);
  if (outcome_.reason) count_fallback(static_cast<reason>(outcome_.reason.value()));
  return {};
} catch (const std::bad_alloc&) {
  return asio::error::no_memory;
}

std::error_code stream_core::adopt(accepted_connection&& accepted) noexcept {
  if (is_open()) return asio::error::already_open;
  tcp_.adopt(std::move(accepted.socket), accepted.peer.protocol());
  const auto error = settle(std::move(accepted.outcome));
  if (error) {
    tcp_.close();
  } else {
    watch_tcp();
  }
  return error;
}

// ---- the silent TCP connection below another transport: its reset ends the stream, its end of
// ---- stream means nothing (the peer's close says more)

void stream_core::watch_tcp() {
  if (outcome_.kind == transport_kind::tcp) return;
  // An accepted stream may be another loop's than the acceptor's thread.
  exclusively([this] { service_.exclusively([this] { service_.watch_lasting(*this); }); });
}

bool stream_core::on_lasting() noexcept {
  const guard lock(*this);
  if (!connection_) return true;
  watched_ = !service_.watch(tcp_.number(), *this, 0);
  if (watched_) return true;
  std::array<pollfd, 1> reset{pollfd{tcp_.number(), 0, 0}};
  const auto told = system::poll(reset, std::chrono::milliseconds(0));
  if (told && told.value != 0) connection_->cut();
  return false;
}

void stream_core::on_event(std::uint32_t) noexcept {
  const guard lock(*this);
  service_.unwatch(tcp_.number());
  watched_ = false;
  if (connection_) connection_->cut();
}

void stream_core::unwatch_tcp() noexcept {
  service_.unwatch_lasting(*this);
  bool watched = false;
  {
    const guard lock(*this);
    watched = std::exchange(watched_, false);
  }
  if (watched) service_.unwatch(tcp_.number());
}

std::error_code stream_core::close() noexcept {
  if (is_open()) exclusively([this] { close_here(); });
  return {};
}

/// Ends pending operations, then the connection.
void stream_core::close_here(bool call_handlers) noexcept {
  abort_queued(asio::error::operation_aborted, call_handlers);
  unwatch_tcp();
  const guard lock(*this);
  if (record_) record_->finish();
  record_.reset();
  if (connection_) {
    if (linger_reset_) {
      connection_->abort();
    } else {
      connection_->close();
    }
    connection_.reset();
  }
  leftover_work_.reset();
  tcp_.close();
  // Options and modes were the socket's.
  non_blocking_ = linger_reset_ = false;
  receive_size_ = send_size_ = 0;
  options_.clear();
}

void stream_core::release(std::shared_ptr<stream_core> core) noexcept {
  stream_core* self = core.get();
  if (self->gone_) return;  // closed with its context, which must not be asked any more
  self->exclusively([self, keep = std::move(core)] {
    self->close_here();
    self->keep_until_idle();
  });
}

void stream_core::context_gone() noexcept {
  gone_ = true;
  close_here(false);
}

void stream_core::after_fork() noexcept {
  std::shared_ptr<connect_attempt> begun;
  {
    const guard lock(*this);
    begun = attempt_;
  }
  if (begun) {  // the connection that it would lead to is the parent's
    connected(*begun, asio::error::connection_aborted, {});
    begun->cancel();
  }
  if (outcome_.kind == transport_kind::tcp) return;  // goes on here as well
  ready(read_queue, true);
  ready(write_queue, true);
}

std::error_code stream_core::shutdown(asio::socket_base::shutdown_type what) noexcept {
  const guard lock(*this);
  if (!is_open()) return asio::error::bad_descriptor;
  if (!connection_) return asio::error::not_connected;
  const auto error = connection_->shutdown(what);
  return error;
}

// ---- options

std::error_code stream_core::set_option(int level, int name, const void* value,
                                        std::size_t size) noexcept {
  if (!is_open()) return asio::error::bad_descriptor;
  if (const auto error = options_.set(tcp_.number(), level, name, value, size)) return error;
  if (level != SOL_SOCKET) return {};
  if (name == SO_LINGER && size == sizeof(linger)) {
    const auto& l = *static_cast<const linger*>(value);
    linger_reset_ = l.l_onoff != 0 && l.l_linger == 0;
  } else if (size == sizeof(int) && *static_cast<const int*>(value) > 0) {
    const auto bytes = static_cast<std::size_t>(*static_cast<const int*>(value));
    if (name == SO_RCVBUF) receive_size_ = bytes;
    if (name == SO_SNDBUF) send_size_ = bytes;
  }
  return {};
}

std::error_code stream_core::get_option(int level, int name, void* value,
                                        std::size_t* size) const noexcept {
  if (!is_open()) return asio::error::bad_descriptor;
  return options_.get(tcp_.number(), level, name, value, *size);
}

std::error_code stream_core::endpoint(asio::ip::tcp::endpoint& endpoint,
                                      bool remote) const noexcept {
  return tcp_.endpoint(endpoint, remote);
}

// ---- blocking calls

std::error_code stream_core::not_usable(bool writing) const noexcept {
  if (!is_open()) return asio::error::bad_descriptor;
  return writing ? asio::error::broken_pipe : asio::error::not_connected;
}

/// What a transfer without bytes answers.
transfer_result stream_core::nothing_moved() const noexcept {
  if (!is_open()) return {asio::error::bad_descriptor, 0};
  return {};
}

/// As with TCP, a reset is told once, to whoever meets it first; behind it the stream is over.
std::error_code stream_core::told_once(direction d, const std::error_code& error) noexcept {
  if (!error || error != asio::error::connection_reset) return error;
  if (!reset_told_.exchange(true, std::memory_order_relaxed)) return error;
  return d == direction::read ? make_error_code(asio::error::eof)
                              : make_error_code(asio::error::broken_pipe);
}

/// Repeats `attempt` until it does not answer would_block.
template <typename Try>
std::error_code stream_core::blocking(direction d, std::size_t min, Try&& attempt) noexcept {
  const context_service::blocking_call inside;
  for (;;) {
    std::error_code error;
    {
      const guard lock(*this);
      error = connection_ ? told_once(d, attempt(*connection_)) : not_usable(d == direction::write);
    }
    if (error != asio::error::would_block || non_blocking_) return error;
    connection_->wait(d, min, wait_slice);
    // Nobody else may be looking for the peer's death.
    if (outcome_.kind != transport_kind::tcp) {
      service_.poll_descriptors();
    }
  }
}

transfer_result stream_core::read(std::span<const asio::mutable_buffer> buffers) noexcept {
  transfer_result result;
  if (buffers.empty()) return nothing_moved();
  bool counted = false;
  result.error = blocking(direction::read, 1, [&](connection& c) {
    const transfer_result r = c.read_some(buffers);
    count(record_->received, counted, asio::buffer_size(buffers), r);
    result.bytes = r.bytes;
    return r.error;
  });
  return result;
}

transfer_result stream_core::write(std::span<const asio::const_buffer> buffers) noexcept {
  transfer_result result;
  if (buffers.empty()) return nothing_moved();
  bool counted = false;
  result.error = blocking(direction::write, 1, [&](connection& c) {
    const transfer_result r = c.write_some(buffers);
    count(record_->sent, counted, asio::buffer_size(buffers), r);
    result.bytes = r.bytes;
    return r.error;
  });
  return result;
}

transfer_result stream_core::peek(std::span<const asio::mutable_buffer> buffers) noexcept {
  transfer_result result;
  if (buffers.empty()) return nothing_moved();
  result.error = blocking(direction::read, 1, [&](connection& c) -> std::error_code {
    asio::const_buffer bytes;
    const auto error = c.data(1, bytes);
    result.bytes = asio::buffer_copy(buffers, bytes);
    return result.bytes != 0 ? std::error_code() : error;
  });
  return result;
}

std::error_code stream_core::wait(asio::socket_base::wait_type what) noexcept {
  if (what == asio::socket_base::wait_error) return asio::error::operation_not_supported;
  const direction d = what == asio::socket_base::wait_read ? direction::read : direction::write;
  return blocking(d, 1, [&](connection& c) { return c.poll(d, 1); });
}

std::size_t stream_core::available(std::error_code& error) noexcept {
  const guard lock(*this);
  error = is_open() ? std::error_code() : asio::error::bad_descriptor;
  return connection_ ? connection_->available() : 0;
}

std::error_code stream_core::prepare(std::size_t max, asio::mutable_buffer& room) noexcept {
  const guard lock(*this);
  room = {};
  if (!connection_) return not_usable(true);
  if (max == 0) return {};
  const auto error = told_once(direction::write, connection_->prepare(1, max, room));
  return error == asio::error::would_block ? std::error_code() : error;
}

std::error_code stream_core::commit(std::size_t n) noexcept {
  const guard lock(*this);
  if (!connection_) return not_usable(true);
  const auto error = told_once(direction::write, connection_->commit(n));
  if (!error || error == asio::error::would_block) count_bytes(record_->sent, n);
  // Counted as work only where it has to wait: the end of a context's last work stops it.
  if (error == asio::error::would_block && pass_on_leftover()) {
    leftover_work_ = asio::prefer(executor_, asio::execution::outstanding_work.tracked);
  }
  return error == asio::error::would_block ? std::error_code() : error;
}

/// Has the transport pass on what commit() left with it. False: nothing is left.
bool stream_core::pass_on_leftover() noexcept {
  while (connection_ && connection_->poll(direction::write, 1) == asio::error::would_block) {
    if (connection_->arm(direction::write, 1, write_side_)) return true;
    // Not armed (R4): more can be passed on now.
  }
  return false;
}

/// Goes on with it whenever the transport can.
void stream_core::drive_leftover() noexcept {
  const guard lock(*this);
  if (leftover_work_ && !pass_on_leftover()) leftover_work_.reset();
}

std::error_code stream_core::data(asio::const_buffer& bytes) noexcept {
  const guard lock(*this);
  bytes = {};
  if (!connection_) return not_usable(false);
  const auto error = connection_->data(1, bytes);
  if (error == asio::error::would_block || bytes.size() != 0) return {};
  return told_once(direction::read, error);
}

std::error_code stream_core::consume(std::size_t n) noexcept {
  const guard lock(*this);
  if (!connection_) return not_usable(false);
  const auto error = connection_->consume(n);
  if (!error) count_bytes(record_->received, n);
  return error;
}

connection_statistics stream_core::statistics() const {
  const guard lock(*this);
  return record_ ? record_->snapshot() : connection_statistics();
}

// ---- operations

void* stream_core::target(unsigned char queue) noexcept {
  return connection_ || queue == connect_queue ? this : nullptr;
}

std::error_code stream_core::closed_error(unsigned char queue) const noexcept {
  return not_usable(queue == write_queue);
}

bool stream_core::arm(unsigned char queue, operation&) noexcept {
  switch (queue) {
    case read_queue:
      return connection_->arm(direction::read, wanted_[0], read_side_);
    case write_queue:
      return connection_->arm(direction::write, wanted_[1], write_side_);
    default:
      return true;  // told by the attempt, or ended by close() and cancel()
  }
}

void stream_core::disarm(unsigned char queue) noexcept {
  if (queue == connect_queue && attempt_) {
    given_up_ = std::move(attempt_);
    tcp_.close();
  }
  if (!connection_) return;
  if (queue == read_queue) connection_->disarm(direction::read);
  if (queue == write_queue && !leftover_work_) connection_->disarm(direction::write);
}

void stream_core::disarmed() noexcept {
  std::shared_ptr<connect_attempt> attempt;
  {
    const guard lock(*this);
    attempt = std::move(given_up_);
  }
  if (attempt) attempt->cancel();
}

bool stream_core::read_step(operation& op, std::span<const asio::mutable_buffer> buffers,
                            std::size_t& n) noexcept {
  if (buffers.empty()) return true;
  const transfer_result result = connection_->read_some(buffers);
  count(record_->received, op.counted, asio::buffer_size(buffers), result);
  if (result.error == asio::error::would_block) {
    wanted_[0] = 1;
    return false;
  }
  op.error = told_once(direction::read, result.error);
  n = result.bytes;
  return true;
}

bool stream_core::write_step(operation& op, std::span<const asio::const_buffer> buffers,
                             std::size_t& n) noexcept {
  if (buffers.empty()) return true;
  const transfer_result result = connection_->write_some(buffers);
  count(record_->sent, op.counted, asio::buffer_size(buffers), result);
  if (result.error == asio::error::would_block) {
    wanted_[1] = 1;
    return false;
  }
  op.error = told_once(direction::write, result.error);
  n = result.bytes;
  return true;
}

bool stream_core::wait_step(operation& op, asio::socket_base::wait_type what) noexcept {
  if (what == asio::socket_base::wait_error) return false;
  const bool reading = what == asio::socket_base::wait_read;
  op.error = connection_->poll(reading ? direction::read : direction::write, 1);
  if (op.error != asio::error::would_block) return true;
  op.error.clear();
  wanted_[reading ? 0 : 1] = 1;
  return false;
}

bool stream_core::prepare_step(operation& op, std::size_t min,
                               asio::mutable_buffer& room) noexcept {
  op.error =
      told_once(direction::write, connection_->prepare(min, static_cast<std::size_t>(-1), room));
  if (op.error != asio::error::would_block) return true;
  op.error.clear();
  wanted_[1] = std::max<std::size_t>(min, 1);
  return false;
}

bool stream_core::data_step(operation& op, std::size_t min, asio::const_buffer& bytes) noexcept {
  op.error = told_once(direction::read, connection_->data(min, bytes));
  if (op.error != asio::error::would_block) return true;
  op.error.clear();
  wanted_[0] = std::max<std::size_t>(min, 1);
  return false;
}

// ---- connecting

std::error_code stream_core::connect(const asio::ip::tcp::endpoint& to) noexcept try {
  if (connection_) return asio::error::already_connected;
  if (!is_open()) {
    if (const auto error = tcp_.open_bare(to.protocol())) return error;
  }
  established outcome;
  auto error = connect_attempt::run(*this, to, outcome);
  if (!error) error = settle(std::move(outcome));
  if (!error) watch_tcp();
  return error;
} catch (const std::bad_alloc&) {
  return asio::error::no_memory;
}

void stream_core::begin_connect(const asio::ip::tcp::endpoint& to) {
  exclusively([this, to] {
    std::shared_ptr<connect_attempt> attempt;
    {
      const guard lock(*this);
      connect_result_.reset();
      std::error_code error;
      if (connection_) error = asio::error::already_connected;
      if (attempt_) error = asio::error::already_started;
      if (!error && !is_open()) error = tcp_.open_bare(to.protocol());
      if (error) {
        connect_result_ = error;
        return;
      }
      // Known before it begins: its outcome may come from another thread at once.
      attempt_ = attempt = std::make_shared<connect_attempt>(*this, to, false);
    }
    attempt->start();
  });
}

void stream_core::connected(const connect_attempt& attempt, std::error_code error,
                            established&& outcome) {
  {
    const guard lock(*this);
    if (attempt_.get() != &attempt) return;  // cancelled or closed meanwhile
    attempt_.reset();
    connect_result_ = error = error ? error : settle(std::move(outcome));
  }
  if (!error) watch_tcp();
  operation_host::ready(connect_queue, context_service::in_blocking_call());
}

void stream_core::give_up_connect() noexcept {
  exclusively([this] {
    {
      const guard lock(*this);
      connect_result_.reset();
      disarm(connect_queue);
    }
    disarmed();
  });
}

bool stream_core::connect_step(operation& op) noexcept {
  if (!connect_result_) return false;
  op.error = *std::exchange(connect_result_, std::nullopt);
  return true;
}

}  // namespace smc::detail
