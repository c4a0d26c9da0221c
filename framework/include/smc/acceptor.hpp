#pragma once
// Accepts streams, used like asio::ip::tcp::acceptor. Clients of this host that use the library get
// shared memory.
#include <asio/any_io_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/socket_base.hpp>
#include <concepts>
#include <memory>
#include <smc/config.hpp>
#include <smc/detail/acceptor_api.hpp>
#include <smc/detail/acceptor_operations.hpp>
#include <smc/detail/initiation.hpp>
#include <smc/stream.hpp>
#include <system_error>
#include <type_traits>
#include <utility>

namespace smc {

/// Everything that is not described here is as for asio::basic_socket_acceptor<asio::ip::tcp>.
///
/// Announces itself to local clients beside the TCP port while it listens. A client that says
/// nothing of SMC is plain TCP at once; one that announced itself is waited for at most
/// config::handshake_timeout, and holds up nobody else. Accepted streams say what they became:
/// transport(), fallback_reason().
///
/// Threads, completion, cancellation: as basic_stream. On an event_loop handshakes go on while no
/// accept is pending; on other contexts only while one is.
template <typename Executor = asio::any_io_executor>
class basic_acceptor : public asio::socket_base {
 public:
  using executor_type = Executor;
  template <typename OtherExecutor>
  struct rebind_executor {
    using other = basic_acceptor<OtherExecutor>;
  };
  using protocol_type = asio::ip::tcp;
  using endpoint_type = asio::ip::tcp::endpoint;

  /// A closed acceptor. Throws what config::process_default() throws, if no config is given.
  explicit basic_acceptor(const executor_type& executor)
      : executor_(executor), core_(detail::make_acceptor(executor_, nullptr)) {}
  basic_acceptor(const executor_type& executor, const config& settings)
      : executor_(executor), core_(detail::make_acceptor(executor_, &settings)) {}
  /// Open, to set options before bind() and listen().
  basic_acceptor(const executor_type& executor, const protocol_type& protocol)
      : basic_acceptor(executor) {
    open(protocol);
  }
  template <typename Context>
  requires requires(Context& c) { executor_type(c.get_executor()); }
  basic_acceptor(Context& context, const protocol_type& protocol)
      : basic_acceptor(executor_type(context.get_executor()), protocol) {}
  /// Listening.
  basic_acceptor(const executor_type& executor, const endpoint_type& endpoint, bool reuse = true)
      : basic_acceptor(executor) {
    listen_at(endpoint, reuse);
  }
  basic_acceptor(const executor_type& executor, const endpoint_type& endpoint,
                 const config& settings)
      : basic_acceptor(executor, endpoint, true, settings) {}
  basic_acceptor(const executor_type& executor, const endpoint_type& endpoint, bool reuse,
                 const config& settings)
      : basic_acceptor(executor, settings) {
    listen_at(endpoint, reuse);
  }
  template <typename Context>
  requires requires(Context& c) { executor_type(c.get_executor()); }
  explicit basic_acceptor(Context& context)
      : basic_acceptor(executor_type(context.get_executor())) {}
  template <typename Context>
  requires requires(Context& c) { executor_type(c.get_executor()); }
  basic_acceptor(Context& context, const config& settings)
      : basic_acceptor(executor_type(context.get_executor()), settings) {}
  template <typename Context>
  requires requires(Context& c) { executor_type(c.get_executor()); }
  basic_acceptor(Context& context, const endpoint_type& endpoint, bool reuse = true)
      : basic_acceptor(executor_type(context.get_executor()), endpoint, reuse) {}
  template <typename Context>
  requires requires(Context& c) { executor_type(c.get_executor()); }
  basic_acceptor(Context& context, const endpoint_type& endpoint, const config& settings)
      : basic_acceptor(executor_type(context.get_executor()), endpoint, settings) {}
  template <typename Context>
  requires requires(Context& c) { executor_type(c.get_executor()); }
  basic_acceptor(Context& context, const endpoint_type& endpoint, bool reuse,
                 const config& settings)
      : basic_acceptor(executor_type(context.get_executor()), endpoint, reuse, settings) {}

  /// Operations outstanding on `other` go on, on the new object. `other` is then a closed acceptor.
  basic_acceptor(basic_acceptor&& other) noexcept
      : executor_(other.executor_), core_(std::move(other.core_)) {}
  basic_acceptor& operator=(basic_acceptor&& other) noexcept {
    if (this != &other) {
      detail::release_acceptor(std::move(core_));
      executor_ = other.executor_;
      core_ = std::move(other.core_);
    }
    return *this;
  }
  template <typename OtherExecutor>
  requires(!std::is_same_v<OtherExecutor, Executor> &&
           std::is_convertible_v<OtherExecutor, Executor>)
      basic_acceptor(basic_acceptor<OtherExecutor>&& other)
  noexcept : executor_(other.executor_), core_(std::move(other.core_)) {}
  template <typename OtherExecutor>
  requires(!std::is_same_v<OtherExecutor, Executor> &&
           std::is_convertible_v<OtherExecutor, Executor>) basic_acceptor&
  operator=(basic_acceptor<OtherExecutor>&& other) noexcept {
    return *this = basic_acceptor(std::move(other));
  }
  /// Closes.
  ~basic_acceptor() { detail::release_acceptor(std::move(core_)); }

  const executor_type& get_executor() noexcept { return executor_; }

  void open(const protocol_type& protocol = protocol_type::v4()) {
    check(detail::open(core(), protocol), "open");
  }
  void open(const protocol_type& protocol, std::error_code& ec) {
    ec = detail::open(core(), protocol);
  }
  void bind(const endpoint_type& endpoint) { check(detail::bind(core(), endpoint), "bind"); }
  void bind(const endpoint_type& endpoint, std::error_code& ec) {
    ec = detail::bind(core(), endpoint);
  }
  /// Listens, and announces itself to local clients. No announcement (no descriptors, say) is no
  /// error: all is TCP then.
  void listen(int backlog = max_listen_connections) {
    check(detail::listen(core(), backlog), "listen");
  }
  void listen(int backlog, std::error_code& ec) { ec = detail::listen(core(), backlog); }
  bool is_open() const noexcept { return core_ && detail::is_open(*core_); }
  void close() { check(detail::close(core()), "close"); }
  void close(std::error_code& ec) { ec = detail::close(core()); }
  void cancel() { check(detail::cancel(core()), "cancel"); }
  void cancel(std::error_code& ec) { ec = detail::cancel(core()); }
  endpoint_type local_endpoint() const {
    std::error_code ec;
    const endpoint_type result = local_endpoint(ec);
    check(ec, "local_endpoint");
    return result;
  }
  endpoint_type local_endpoint(std::error_code& ec) const {
    endpoint_type result;
    ec = core_ ? detail::local_endpoint(*core_, result)
               : std::error_code(asio::error::bad_descriptor);
    return result;
  }
  template <typename Option>
  void set_option(const Option& option) {
    std::error_code ec;
    set_option(option, ec);
    check(ec, "set_option");
  }
  template <typename Option>
  void set_option(const Option& option, std::error_code& ec) {
    std::error_code ignored;
    const auto p = local_endpoint(ignored).protocol();
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
    const auto p = local_endpoint(ec).protocol();
    std::size_t size = option.size(p);
    ec = core_ ? detail::get_option(*core_, option.level(p), option.name(p), option.data(p), &size)
               : std::error_code(asio::error::bad_descriptor);
    if (!ec) option.resize(p, size);
  }
  bool non_blocking() const noexcept { return core_ && detail::non_blocking(*core_); }
  void non_blocking(bool mode) { check(detail::non_blocking(core(), mode), "non_blocking"); }
  void non_blocking(bool mode, std::error_code& ec) { ec = detail::non_blocking(core(), mode); }
  void wait(wait_type what) { check(detail::wait(core(), what), "wait"); }
  void wait(wait_type what, std::error_code& ec) { ec = detail::wait(core(), what); }
  /// void(std::error_code).
  template <ASIO_COMPLETION_TOKEN_FOR(void(std::error_code))
                Token ASIO_DEFAULT_COMPLETION_TOKEN_TYPE(executor_type)>
  auto async_wait(wait_type what, Token&& token ASIO_DEFAULT_COMPLETION_TOKEN(executor_type)) {
    return asio::async_initiate<Token, void(std::error_code)>(
        detail::initiation_of(*this,
                              [](basic_acceptor& self, auto&& handler, wait_type) {
                                self.start(std::forward<decltype(handler)>(handler),
                                           detail::accept_wait_operation{});
                              }),
        token, what);
  }

  // ---- accepting: in the calling thread; no loop need run

  basic_stream<executor_type> accept() { return accept(executor_); }
  basic_stream<executor_type> accept(std::error_code& ec) { return accept(executor_, ec); }
  /// Into a stream on another executor or context.
  template <typename Target>
  auto accept(Target&& target) -> basic_stream<detail::executor_of<Target>>
  requires detail::executor_or_context<Target> {
    std::error_code ec;
    auto result = accept(target, ec);
    check(ec, "accept");
    return result;
  }
  template <typename Target>
  auto accept(Target&& target, std::error_code& ec) -> basic_stream<detail::executor_of<Target>>
  requires detail::executor_or_context<Target> {
    basic_stream<detail::executor_of<Target>> peer(detail::get_executor_of(target));
    accept(peer, ec);
    return peer;
  }
  basic_stream<executor_type> accept(endpoint_type& peer_endpoint) {
    return accept(executor_, peer_endpoint);
  }
  basic_stream<executor_type> accept(endpoint_type& peer_endpoint, std::error_code& ec) {
    return accept(executor_, peer_endpoint, ec);
  }
  template <typename Target>
  auto accept(Target&& target, endpoint_type& peer_endpoint)
      -> basic_stream<detail::executor_of<Target>>
  requires detail::executor_or_context<Target> {
    std::error_code ec;
    auto result = accept(target, peer_endpoint, ec);
    check(ec, "accept");
    return result;
  }
  template <typename Target>
  auto accept(Target&& target, endpoint_type& peer_endpoint, std::error_code& ec)
      -> basic_stream<detail::executor_of<Target>>
  requires detail::executor_or_context<Target> {
    basic_stream<detail::executor_of<Target>> peer(detail::get_executor_of(target));
    accept(peer, peer_endpoint, ec);
    return peer;
  }
  template <typename PeerExecutor>
  void accept(basic_stream<PeerExecutor>& peer) {
    std::error_code ec;
    accept(peer, ec);
    check(ec, "accept");
  }
  template <typename PeerExecutor>
  void accept(basic_stream<PeerExecutor>& peer, std::error_code& ec) {
    accept_into(peer, nullptr, ec);
  }
  template <typename PeerExecutor>
  void accept(basic_stream<PeerExecutor>& peer, endpoint_type& peer_endpoint) {
    std::error_code ec;
    accept_into(peer, &peer_endpoint, ec);
    check(ec, "accept");
  }
  template <typename PeerExecutor>
  void accept(basic_stream<PeerExecutor>& peer, endpoint_type& peer_endpoint, std::error_code& ec) {
    accept_into(peer, &peer_endpoint, ec);
  }

  // ---- accepting asynchronously

  /// Into `peer`, a closed stream that stays valid until the handler is called:
  /// void(std::error_code).
  template <typename PeerExecutor, ASIO_COMPLETION_TOKEN_FOR(void(std::error_code))
                                       Token ASIO_DEFAULT_COMPLETION_TOKEN_TYPE(executor_type)>
  auto async_accept(basic_stream<PeerExecutor>& peer,
                    Token&& token ASIO_DEFAULT_COMPLETION_TOKEN(executor_type)) {
    return async_accept_into(peer, nullptr, std::forward<Token>(token));
  }
  template <typename PeerExecutor, ASIO_COMPLETION_TOKEN_FOR(void(std::error_code))
                                       Token ASIO_DEFAULT_COMPLETION_TOKEN_TYPE(executor_type)>
  auto async_accept(basic_stream<PeerExecutor>& peer, endpoint_type& peer_endpoint,
                    Token&& token ASIO_DEFAULT_COMPLETION_TOKEN(executor_type)) {
    return async_accept_into(peer, &peer_endpoint, std::forward<Token>(token));
  }
  /// void(std::error_code, basic_stream<executor_type>).
  template <ASIO_COMPLETION_TOKEN_FOR(void(std::error_code, basic_stream<executor_type>))
                Token ASIO_DEFAULT_COMPLETION_TOKEN_TYPE(executor_type)>
  auto async_accept(Token&& token ASIO_DEFAULT_COMPLETION_TOKEN(executor_type)) requires(
      !detail::executor_or_context<Token>) {
    return async_accept_moved(executor_, nullptr, std::forward<Token>(token));
  }
  /// The same; `peer_endpoint` stays valid until the handler is called.
  // Its type is looked at first: not every token that fits another overload can be asked about
  // this.
  template <std::same_as<endpoint_type> Endpoint,
            ASIO_COMPLETION_TOKEN_FOR(void(std::error_code, basic_stream<executor_type>))
                Token ASIO_DEFAULT_COMPLETION_TOKEN_TYPE(executor_type)>
  auto async_accept(Endpoint& peer_endpoint,
                    Token&& token ASIO_DEFAULT_COMPLETION_TOKEN(executor_type)) {
    return async_accept_moved(executor_, &peer_endpoint, std::forward<Token>(token));
  }
  /// Into a stream on another executor or context: void(std::error_code, basic_stream<its
  /// executor>).
  template <typename Target, typename Token ASIO_DEFAULT_COMPLETION_TOKEN_TYPE(executor_type)>
  auto async_accept(Target&& target,
                    Token&& token ASIO_DEFAULT_COMPLETION_TOKEN(
                        executor_type)) requires detail::executor_or_context<Target> {
    return async_accept_moved(detail::get_executor_of(target), nullptr, std::forward<Token>(token));
  }
  template <typename Target, typename Token ASIO_DEFAULT_COMPLETION_TOKEN_TYPE(executor_type)>
  auto async_accept(Target&& target, endpoint_type& peer_endpoint,
                    Token&& token ASIO_DEFAULT_COMPLETION_TOKEN(
                        executor_type)) requires detail::executor_or_context<Target> {
    return async_accept_moved(detail::get_executor_of(target), &peer_endpoint,
                              std::forward<Token>(token));
  }

 private:
  template <typename>
  friend class basic_acceptor;

  void listen_at(const endpoint_type& endpoint, bool reuse) {
    open(endpoint.protocol());
    if (reuse) set_option(asio::socket_base::reuse_address(true));
    bind(endpoint);
    listen();
  }
  template <typename PeerExecutor>
  void accept_into(basic_stream<PeerExecutor>& peer, endpoint_type* peer_endpoint,
                   std::error_code& ec) {
    detail::accepted_ptr accepted;
    ec = peer.is_open() ? std::error_code(asio::error::already_open)
                        : detail::accept(core(), peer.executor_, accepted);
    if (!ec) ec = detail::adopt(peer.core(), std::move(accepted), peer_endpoint);
  }
  template <typename PeerExecutor, typename Token>
  auto async_accept_into(basic_stream<PeerExecutor>& peer, endpoint_type* peer_endpoint,
                         Token&& token) {
    return asio::async_initiate<Token, void(std::error_code)>(
        detail::initiation_of(*this,
                              [](basic_acceptor& self, auto&& handler,
                                 basic_stream<PeerExecutor>* into, endpoint_type* its_endpoint) {
                                detail::expect(self.core(), into->executor_);
                                self.start(std::forward<decltype(handler)>(handler),
                                           detail::accept_operation<basic_stream<PeerExecutor>>{
                                               into, its_endpoint, {}});
                              }),
        token, &peer, peer_endpoint);
  }
  template <typename PeerExecutor, typename Token>
  auto async_accept_moved(const PeerExecutor& executor, endpoint_type* peer_endpoint,
                          Token&& token) {
    return asio::async_initiate<Token, void(std::error_code, basic_stream<PeerExecutor>)>(
        detail::initiation_of(*this,
                              [](basic_acceptor& self, auto&& handler,
                                 const PeerExecutor& its_executor, endpoint_type* its_endpoint) {
                                detail::expect(self.core(), its_executor);
                                self.start(
                                    std::forward<decltype(handler)>(handler),
                                    detail::accept_moved_operation<basic_stream<PeerExecutor>>{
                                        its_executor, its_endpoint, {}});
                              }),
        token, executor, peer_endpoint);
  }
  template <typename Handler, typename Payload>
  void start(Handler&& handler, Payload&& payload) {
    using operation =
        detail::operation_impl<std::decay_t<Payload>, std::decay_t<Handler>, Executor>;
    std::decay_t<Handler> own(std::forward<Handler>(handler));
    operation::start(detail::host_of(core()), 0, executor_, std::move(own),
                     std::forward<Payload>(payload));
  }
  detail::acceptor_core& core() {
    if (!core_) core_ = detail::make_acceptor(executor_, nullptr);  // moved from
    return *core_;
  }
  static void check(const std::error_code& ec, const char* what) {
    if (ec) throw std::system_error(ec, what);
  }

  executor_type executor_;
  std::shared_ptr<detail::acceptor_core> core_;
};

/// The acceptor to use unless a program knows its executor's type and wants to say so.
using acceptor = basic_acceptor<>;

}  // namespace smc
