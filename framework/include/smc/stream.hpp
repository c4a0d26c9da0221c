#pragma once
// A connected byte stream, used like asio::ip::tcp::socket, carried by shared memory, RDMA or TCP.
#include <asio/any_io_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/buffer.hpp>
#include <asio/execution/context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/query.hpp>
#include <asio/socket_base.hpp>
#include <cstddef>
#include <memory>
#include <smc/config.hpp>
#include <smc/detail/acceptor_api.hpp>
#include <smc/detail/initiation.hpp>
#include <smc/detail/stream_api.hpp>
#include <smc/detail/stream_operations.hpp>
#include <smc/error.hpp>
#include <smc/event_loop.hpp>
#include <smc/peer_identity.hpp>
#include <smc/statistics.hpp>
#include <smc/transport_kind.hpp>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace smc {

template <typename Executor>
class basic_acceptor;
template <typename Executor = asio::any_io_executor>
class basic_stream;

namespace detail {
template <typename Stream>
struct accept_moved_operation;
/// Makes a closed stream the accepted connection.
template <typename Executor>
std::error_code adopt_into(basic_stream<Executor>& stream, accepted_ptr accepted,
                           asio::ip::tcp::endpoint* peer_endpoint);
}  // namespace detail

/// A stream whose transport is chosen when it connects or is accepted, and can be asked for:
/// transport().
///
/// Everything that is not described here is as for asio::basic_stream_socket<asio::ip::tcp>, also
/// for composed operations (asio::async_read, asio::ssl::stream, …). Where transports differ, TCP's
/// behaviour is the right one.
///
/// Threads: distinct streams are independent. One stream is used from one thread or strand at a
/// time; one operation of each direction may be outstanding together, and several of one direction
/// queue up.
///
/// Completion: handlers run on their associated executor (the stream's by default), never inside
/// the initiating function, with memory from their associated allocator.
///
/// Cancellation: every operation accepts terminal, partial and total requests alike. An operation
/// that has not been performed ends with asio::error::operation_aborted and has moved nothing; one
/// that has been performed reports its bytes, whatever was asked for meanwhile. close() and
/// destruction cancel all.
///
/// Not available off TCP: native_handle(); and on no transport: assign, release, io_control,
/// out-of-band data. These give asio::error::operation_not_supported.
template <typename Executor>
class basic_stream : public asio::socket_base {
 public:
  using executor_type = Executor;
  template <typename OtherExecutor>
  struct rebind_executor {
    using other = basic_stream<OtherExecutor>;
  };
  using native_handle_type = int;
  using protocol_type = asio::ip::tcp;
  using endpoint_type = asio::ip::tcp::endpoint;
  using lowest_layer_type = basic_stream;

  /// A closed stream. Throws what config::process_default() throws, if no config is given.
  explicit basic_stream(const executor_type& executor)
      : executor_(executor), core_(detail::make_stream(executor_, nullptr)) {}
  /// With settings of its own, copied.
  basic_stream(const executor_type& executor, const config& settings)
      : executor_(executor), core_(detail::make_stream(executor_, &settings)) {}
  template <typename Context>
  requires requires(Context& c) { executor_type(c.get_executor()); }
  explicit basic_stream(Context& context) : basic_stream(executor_type(context.get_executor())) {}
  template <typename Context>
  requires requires(Context& c) { executor_type(c.get_executor()); }
  basic_stream(Context& context, const config& settings)
      : basic_stream(executor_type(context.get_executor()), settings) {}
  /// An open stream, to set options or bind before connecting.
  basic_stream(const executor_type& executor, const protocol_type& protocol)
      : basic_stream(executor) {
    open(protocol);
  }
  template <typename Context>
  requires requires(Context& c) { executor_type(c.get_executor()); }
  basic_stream(Context& context, const protocol_type& protocol) : basic_stream(context) {
    open(protocol);
  }
  /// An open stream bound to a local endpoint.
  basic_stream(const executor_type& executor, const endpoint_type& endpoint)
      : basic_stream(executor, endpoint.protocol()) {
    bind(endpoint);
  }
  template <typename Context>
  requires requires(Context& c) { executor_type(c.get_executor()); }
  basic_stream(Context& context, const endpoint_type& endpoint)
      : basic_stream(context, endpoint.protocol()) {
    bind(endpoint);
  }

  /// Operations outstanding on `other` go on, on the new object. `other` is then a closed stream.
  basic_stream(basic_stream&& other) noexcept
      : executor_(other.executor_), core_(std::move(other.core_)) {}
  basic_stream& operator=(basic_stream&& other) noexcept {
    if (this != &other) {
      detail::release_stream(std::move(core_));
      executor_ = other.executor_;
      core_ = std::move(other.core_);
    }
    return *this;
  }
  /// From a stream with another type of executor.
  template <typename OtherExecutor>
  requires(!std::is_same_v<OtherExecutor, Executor> &&
           std::is_convertible_v<OtherExecutor, Executor>)
      basic_stream(basic_stream<OtherExecutor>&& other)
  noexcept : executor_(other.executor_), core_(std::move(other.core_)) {}
  template <typename OtherExecutor>
  requires(!std::is_same_v<OtherExecutor, Executor> &&
           std::is_convertible_v<OtherExecutor, Executor>) basic_stream&
  operator=(basic_stream<OtherExecutor>&& other) noexcept {
    return *this = basic_stream(std::move(other));
  }
  /// Closes.
  ~basic_stream() { detail::release_stream(std::move(core_)); }

  const executor_type& get_executor() noexcept { return executor_; }
  lowest_layer_type& lowest_layer() noexcept { return *this; }
  const lowest_layer_type& lowest_layer() const noexcept { return *this; }

  // ---- the connection

  void open(const protocol_type& protocol = protocol_type::v4()) {
    check(detail::open(core(), protocol), "open");
  }
  void open(const protocol_type& protocol, std::error_code& ec) {
    ec = detail::open(core(), protocol);
  }
  bool is_open() const noexcept { return core_ && detail::is_open(*core_); }
  void bind(const endpoint_type& endpoint) { check(detail::bind(core(), endpoint), "bind"); }
  void bind(const endpoint_type& endpoint, std::error_code& ec) {
    ec = detail::bind(core(), endpoint);
  }

  /// Opens if need be, connects TCP to `endpoint` and chooses the transport, in the calling thread.
  /// No loop need run. Takes at most config::handshake_timeout longer than TCP alone. Errors:
  /// TCP's; a smc::reason where the configuration forbids falling back.
  void connect(const endpoint_type& endpoint) {
    check(detail::connect(core(), endpoint), "connect");
  }
  void connect(const endpoint_type& endpoint, std::error_code& ec) {
    ec = detail::connect(core(), endpoint);
  }
  /// The same, asynchronously: void(std::error_code). A cancelled connect closes the stream.
  template <ASIO_COMPLETION_TOKEN_FOR(void(std::error_code))
                Token ASIO_DEFAULT_COMPLETION_TOKEN_TYPE(executor_type)>
  auto async_connect(const endpoint_type& endpoint,
                     Token&& token ASIO_DEFAULT_COMPLETION_TOKEN(executor_type)) {
    return asio::async_initiate<Token, void(std::error_code)>(
        detail::initiation_of(*this,
                              [](basic_stream& self, auto&& handler, const endpoint_type& to) {
                                detail::begin_connect(self.core(), to);
                                try {
                                  self.start(detail::connect_queue,
                                             std::forward<decltype(handler)>(handler),
                                             detail::connect_operation{});
                                } catch (...) {
                                  detail::give_up_connect(self.core());
                                  throw;
                                }
                              }),
        token, endpoint);
  }

  /// Pending operations end with operation_aborted. Bytes written stay readable for the peer, which
  /// then reads end of stream; with input unread here the peer gets connection_reset.
  void close() { check(detail::close(core()), "close"); }
  void close(std::error_code& ec) { ec = detail::close(core()); }
  void cancel() { check(detail::cancel(core()), "cancel"); }
  void cancel(std::error_code& ec) { ec = detail::cancel(core()); }
  void shutdown(shutdown_type what) { check(detail::shutdown(core(), what), "shutdown"); }
  void shutdown(shutdown_type what, std::error_code& ec) { ec = detail::shutdown(core(), what); }

  endpoint_type local_endpoint() const { return endpoint(false, "local_endpoint"); }
  endpoint_type local_endpoint(std::error_code& ec) const { return endpoint(false, ec); }
  endpoint_type remote_endpoint() const { return endpoint(true, "remote_endpoint"); }
  endpoint_type remote_endpoint(std::error_code& ec) const { return endpoint(true, ec); }

  /// send_buffer_size and receive_buffer_size set before connecting also size the rings, rounded up
  /// to a power of two, 16 KiB to 512 MiB; the two ends' wishes for one ring: the larger.
  template <typename Option>
  void set_option(const Option& option) {
    std::error_code ec;
    set_option(option, ec);
    check(ec, "set_option");
  }
  template <typename Option>
  void set_option(const Option& option, std::error_code& ec) {
    const auto p = option_protocol();
    ec =
        detail::set_option(core(), option.level(p), option.name(p), option.data(p), option.size(p));
  }
  template <typename Option>
  void get_option(Option& option) const {
    std::error_code ec;
    get_option(option, ec);
    check(ec, "get_option");
  }
  template <typename Option>
  void get_option(Option& option, std::error_code& ec) const {
    const auto p = option_protocol();
    std::size_t size = option.size(p);
    ec = core_ ? detail::get_option(*core_, option.level(p), option.name(p), option.data(p), &size)
               : std::error_code(asio::error::bad_descriptor);
    if (!ec) option.resize(p, size);
  }
  template <typename Command>
  void io_control(Command& command) {
    std::error_code ec;
    io_control(command, ec);
    check(ec, "io_control");
  }
  template <typename Command>
  void io_control(Command&, std::error_code& ec) {
    ec = asio::error::operation_not_supported;
  }
  bool non_blocking() const noexcept { return core_ && detail::non_blocking(*core_); }
  void non_blocking(bool mode) { check(detail::non_blocking(core(), mode), "non_blocking"); }
  void non_blocking(bool mode, std::error_code& ec) { ec = detail::non_blocking(core(), mode); }
  /// TCP's descriptor, while TCP carries the bytes; else throws operation_not_supported.
  native_handle_type native_handle() {
    int handle = -1;
    check(detail::native_handle(core(), handle), "native_handle");
    return handle;
  }
  /// Not available: a connection is more than its descriptor.
  void assign(const protocol_type&, const native_handle_type&) { not_supported("assign"); }
  void assign(const protocol_type&, const native_handle_type&, std::error_code& ec) {
    ec = asio::error::operation_not_supported;
  }
  native_handle_type release() { return not_supported("release"), -1; }
  native_handle_type release(std::error_code& ec) {
    ec = asio::error::operation_not_supported;
    return -1;
  }

  // ---- transfers

  /// Blocks until at least one byte was read, and no longer. asio::error::eof at the end of the
  /// stream.
  template <typename MutableBufferSequence>
  std::size_t read_some(const MutableBufferSequence& buffers) {
    return checked(read(buffers), "read_some");
  }
  template <typename MutableBufferSequence>
  std::size_t read_some(const MutableBufferSequence& buffers, std::error_code& ec) {
    return stored(read(buffers), ec);
  }
  /// Blocks until at least one byte was written. Written bytes reach the peer without further help
  /// from here.
  template <typename ConstBufferSequence>
  std::size_t write_some(const ConstBufferSequence& buffers) {
    return checked(write(buffers), "write_some");
  }
  template <typename ConstBufferSequence>
  std::size_t write_some(const ConstBufferSequence& buffers, std::error_code& ec) {
    return stored(write(buffers), ec);
  }

  /// void(std::error_code, std::size_t). `buffers`' memory stays valid until the handler is called.
  template <typename MutableBufferSequence,
            ASIO_COMPLETION_TOKEN_FOR(void(std::error_code, std::size_t))
                Token ASIO_DEFAULT_COMPLETION_TOKEN_TYPE(executor_type)>
  auto async_read_some(const MutableBufferSequence& buffers,
                       Token&& token ASIO_DEFAULT_COMPLETION_TOKEN(executor_type)) {
    return asio::async_initiate<Token, void(std::error_code, std::size_t)>(
        transfer<detail::read_operation>(detail::read_queue), token, buffers);
  }
  /// void(std::error_code, std::size_t). `buffers`' memory stays valid until the handler is called.
  template <typename ConstBufferSequence,
            ASIO_COMPLETION_TOKEN_FOR(void(std::error_code, std::size_t))
                Token ASIO_DEFAULT_COMPLETION_TOKEN_TYPE(executor_type)>
  auto async_write_some(const ConstBufferSequence& buffers,
                        Token&& token ASIO_DEFAULT_COMPLETION_TOKEN(executor_type)) {
    return asio::async_initiate<Token, void(std::error_code, std::size_t)>(
        transfer<detail::write_operation>(detail::write_queue), token, buffers);
  }

  // Asio's other names for the same. Of the flags message_peek is available.
  template <typename MutableBufferSequence>
  std::size_t receive(const MutableBufferSequence& buffers, message_flags flags = 0) {
    return checked(read(buffers, flags), "receive");
  }
  template <typename MutableBufferSequence>
  std::size_t receive(const MutableBufferSequence& buffers, message_flags flags,
                      std::error_code& ec) {
    return stored(read(buffers, flags), ec);
  }
  template <typename ConstBufferSequence>
  std::size_t send(const ConstBufferSequence& buffers, message_flags flags = 0) {
    return checked(write(buffers, flags), "send");
  }
  template <typename ConstBufferSequence>
  std::size_t send(const ConstBufferSequence& buffers, message_flags flags, std::error_code& ec) {
    return stored(write(buffers, flags), ec);
  }
  template <typename MutableBufferSequence,
            ASIO_COMPLETION_TOKEN_FOR(void(std::error_code, std::size_t))
                Token ASIO_DEFAULT_COMPLETION_TOKEN_TYPE(executor_type)>
  auto async_receive(const MutableBufferSequence& buffers,
                     Token&& token ASIO_DEFAULT_COMPLETION_TOKEN(executor_type)) {
    return async_read_some(buffers, std::forward<Token>(token));
  }
  template <typename MutableBufferSequence,
            ASIO_COMPLETION_TOKEN_FOR(void(std::error_code, std::size_t))
                Token ASIO_DEFAULT_COMPLETION_TOKEN_TYPE(executor_type)>
  auto async_receive(const MutableBufferSequence& buffers, message_flags flags,
                     Token&& token ASIO_DEFAULT_COMPLETION_TOKEN(executor_type)) {
    return asio::async_initiate<Token, void(std::error_code, std::size_t)>(
        transfer<detail::receive_operation>(detail::read_queue), token, buffers, flags);
  }
  template <typename ConstBufferSequence,
            ASIO_COMPLETION_TOKEN_FOR(void(std::error_code, std::size_t))
                Token ASIO_DEFAULT_COMPLETION_TOKEN_TYPE(executor_type)>
  auto async_send(const ConstBufferSequence& buffers,
                  Token&& token ASIO_DEFAULT_COMPLETION_TOKEN(executor_type)) {
    return async_write_some(buffers, std::forward<Token>(token));
  }
  template <typename ConstBufferSequence,
            ASIO_COMPLETION_TOKEN_FOR(void(std::error_code, std::size_t))
                Token ASIO_DEFAULT_COMPLETION_TOKEN_TYPE(executor_type)>
  auto async_send(const ConstBufferSequence& buffers, message_flags flags,
                  Token&& token ASIO_DEFAULT_COMPLETION_TOKEN(executor_type)) {
    return asio::async_initiate<Token, void(std::error_code, std::size_t)>(
        transfer<detail::send_operation>(detail::write_queue), token, buffers, flags);
  }

  /// Waits until the stream can be read (or reports its end), written, or has failed.
  void wait(wait_type what) { check(detail::wait(core(), what), "wait"); }
  void wait(wait_type what, std::error_code& ec) { ec = detail::wait(core(), what); }
  /// void(std::error_code).
  template <ASIO_COMPLETION_TOKEN_FOR(void(std::error_code))
                Token ASIO_DEFAULT_COMPLETION_TOKEN_TYPE(executor_type)>
  auto async_wait(wait_type what, Token&& token ASIO_DEFAULT_COMPLETION_TOKEN(executor_type)) {
    return asio::async_initiate<Token, void(std::error_code)>(
        detail::initiation_of(*this,
                              [](basic_stream& self, auto&& handler, wait_type w) {
                                const auto queue = w == wait_read    ? detail::read_queue
                                                   : w == wait_write ? detail::write_queue
                                                                     : detail::error_queue;
                                self.start(queue, std::forward<decltype(handler)>(handler),
                                           detail::wait_operation{w});
                              }),
        token, what);
  }
  /// Bytes that can be read without blocking.
  std::size_t available() const {
    std::error_code ec;
    const std::size_t n = available(ec);
    check(ec, "available");
    return n;
  }
  std::size_t available(std::error_code& ec) const {
    if (core_) return detail::available(*core_, ec);
    ec = asio::error::bad_descriptor;
    return 0;
  }

  // ---- zero copy, on every transport (on TCP through a buffer of the stream)

  /// Room for at most `max` bytes in the peer's receive buffer, in one piece; empty where there is
  /// none now. Valid until commit(), the next prepare() or any write; one span at a time. Throws
  /// the stream's error.
  asio::mutable_buffer prepare(std::size_t max) {
    asio::mutable_buffer room;
    check(detail::prepare(core(), max, room), "prepare");
    return room;
  }
  /// Publishes the first `n` bytes of the prepared span; more than prepared: invalid_argument.
  void commit(std::size_t n) { check(detail::commit(core(), n), "commit"); }
  /// The received bytes in place, maybe none. Valid until consume() or any read. The peer, a
  /// process of the same user, could still change them meanwhile: copy what must not change between
  /// check and use.
  asio::const_buffer data() {
    asio::const_buffer bytes;
    check(detail::data(core(), bytes), "data");
    return bytes;
  }
  /// Gives the first `n` bytes of data() back to the writer; more than there are: invalid_argument.
  void consume(std::size_t n) { check(detail::consume(core(), n), "consume"); }
  /// Room for at least `min` bytes: void(std::error_code, asio::mutable_buffer). More than the ring
  /// can hold: no_buffer_space at once. A reader gives consumed bytes back by quarters of the ring,
  /// and all of them when it asks for more than there is: more than three quarters may wait for
  /// that.
  template <ASIO_COMPLETION_TOKEN_FOR(void(std::error_code, asio::mutable_buffer))
                Token ASIO_DEFAULT_COMPLETION_TOKEN_TYPE(executor_type)>
  auto async_prepare(std::size_t min, Token&& token ASIO_DEFAULT_COMPLETION_TOKEN(executor_type)) {
    return asio::async_initiate<Token, void(std::error_code, asio::mutable_buffer)>(
        detail::initiation_of(*this,
                              [](basic_stream& self, auto&& handler, std::size_t n) {
                                self.start(detail::write_queue,
                                           std::forward<decltype(handler)>(handler),
                                           detail::prepare_operation{n, {}});
                              }),
        token, min);
  }
  /// At least `min` received bytes in place: void(std::error_code, asio::const_buffer). With eof or
  /// connection_reset: what is left. More than the ring can hold: no_buffer_space at once.
  template <ASIO_COMPLETION_TOKEN_FOR(void(std::error_code, asio::const_buffer))
                Token ASIO_DEFAULT_COMPLETION_TOKEN_TYPE(executor_type)>
  auto async_data(std::size_t min, Token&& token ASIO_DEFAULT_COMPLETION_TOKEN(executor_type)) {
    return asio::async_initiate<Token, void(std::error_code, asio::const_buffer)>(
        detail::initiation_of(*this,
                              [](basic_stream& self, auto&& handler, std::size_t n) {
                                self.start(detail::read_queue,
                                           std::forward<decltype(handler)>(handler),
                                           detail::data_operation{n, {}});
                              }),
        token, min);
  }

  // ---- what became of it

  /// What carries the bytes; tcp before connecting.
  transport_kind transport() const noexcept {
    return core_ ? detail::transport(*core_) : transport_kind::tcp;
  }
  /// "tcp", "smc-d", "smc-r", or the name of a transport of the program.
  std::string_view transport_name() const noexcept {
    return core_ ? detail::transport_name(*core_) : std::string_view("tcp");
  }
  /// Why nothing faster than TCP; no error where what was wanted is what there is. See smc::reason,
  /// remedy().
  std::error_code fallback_reason() const noexcept {
    return core_ ? detail::fallback_reason(*core_) : std::error_code();
  }
  connection_statistics statistics() const {
    return core_ ? detail::statistics(*core_) : connection_statistics();
  }
  peer_identity peer() const { return core_ ? detail::peer(*core_) : peer_identity(); }

 private:
  template <typename>
  friend struct detail::accept_moved_operation;
  /// As one that was moved from: can't fail.
  struct without_core {};
  basic_stream(const executor_type& executor, without_core) noexcept : executor_(executor) {}

  template <typename>
  friend class basic_stream;
  template <typename>
  friend class basic_acceptor;
  friend std::error_code detail::adopt_into<Executor>(basic_stream& stream,
                                                      detail::accepted_ptr accepted,
                                                      endpoint_type* peer_endpoint);

  template <template <typename> typename Operation>
  auto transfer(detail::stream_queue queue) {
    return detail::initiation_of(
        *this, [queue](basic_stream& self, auto&& handler, const auto& buffers, auto... flags) {
          self.start(queue, std::forward<decltype(handler)>(handler),
                     Operation<std::remove_cvref_t<decltype(buffers)>>{buffers, flags...});
        });
  }

  template <typename Handler, typename Payload>
  void start(detail::stream_queue queue, Handler&& handler, Payload&& payload) {
    using operation =
        detail::operation_impl<std::decay_t<Payload>, std::decay_t<Handler>, Executor>;
    std::decay_t<Handler> own(std::forward<Handler>(handler));
    operation::start(detail::host_of(core()), queue, executor_, std::move(own),
                     std::forward<Payload>(payload));
  }

  detail::stream_core& core() {
    if (!core_) core_ = detail::make_stream(executor_, nullptr);  // moved from
    return *core_;
  }
  asio::ip::tcp option_protocol() const {
    std::error_code ignored;
    return endpoint(false, ignored).protocol();
  }

  template <typename Buffers>
  detail::transfer_result read(const Buffers& buffers, message_flags flags = 0) {
    const detail::buffer_list<asio::mutable_buffer, Buffers> list(buffers);
    if (flags == 0) return detail::read(core(), list.span());
    if (flags == message_peek) return detail::peek(core(), list.span());
    return {asio::error::operation_not_supported, 0};
  }
  template <typename Buffers>
  detail::transfer_result write(const Buffers& buffers, message_flags flags = 0) {
    if (flags != 0) return {asio::error::operation_not_supported, 0};
    return detail::write(core(), detail::buffer_list<asio::const_buffer, Buffers>(buffers).span());
  }
  endpoint_type endpoint(bool remote, std::error_code& ec) const {
    endpoint_type result;
    ec = core_ ? detail::endpoint(*core_, result, remote)
               : std::error_code(asio::error::bad_descriptor);
    return result;
  }
  endpoint_type endpoint(bool remote, const char* what) const {
    std::error_code ec;
    const endpoint_type result = endpoint(remote, ec);
    check(ec, what);
    return result;
  }

  static void check(const std::error_code& ec, const char* what) {
    if (ec) throw std::system_error(ec, what);
  }
  static std::size_t checked(const detail::transfer_result& result, const char* what) {
    check(result.error, what);
    return result.bytes;
  }
  static std::size_t stored(const detail::transfer_result& result, std::error_code& ec) {
    ec = result.error;
    return result.bytes;
  }
  static void not_supported(const char* what) { check(asio::error::operation_not_supported, what); }

  executor_type executor_;
  std::shared_ptr<detail::stream_core> core_;
};

namespace detail {
template <typename Executor>
std::error_code adopt_into(basic_stream<Executor>& into, accepted_ptr accepted,
                           asio::ip::tcp::endpoint* peer_endpoint) {
  return adopt(into.core(), std::move(accepted), peer_endpoint);
}
}  // namespace detail

/// The stream to use unless a program knows its executor's type and wants to say so.
using stream = basic_stream<>;

}  // namespace smc
