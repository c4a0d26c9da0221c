#pragma once
// What the suite tests: a stream on one of the transports, or the reference, a bare
// asio::ip::tcp::socket. Both have one face here, so that one test body is compiled once and holds
// for both: an expectation that TCP itself does not meet is found by the reference.
#include <asio/ip/tcp.hpp>
#include <optional>
#include <smc/smc.hpp>
#include <string>
#include <variant>
#include <vector>

#include "conformance/operation.hpp"
#include "framework/stream/setting.hpp"

namespace smc::test {

using tcp = asio::ip::tcp;
using mutable_list = std::vector<asio::mutable_buffer>;
using const_list = std::vector<asio::const_buffer>;
/// A completion condition of composed operations: how many bytes may be moved next; 0: enough.
using condition = std::function<std::size_t(const std::error_code&, std::size_t)>;

/// A stream under test. Operations are performed in its style and end by their own slot too.
class subject {
 public:
  subject(const asio::any_io_executor& executor, carrier by, style how);
  subject(stream made, style how) : socket_(std::move(made)), how_(how) {}
  subject(tcp::socket made, style how) : socket_(std::move(made)), how_(how) {}

  /// For what has no name here: f(socket), for either type.
  template <typename F>
  decltype(auto) with(F&& f) {
    return std::visit(std::forward<F>(f), socket_);
  }
  bool is_reference() const { return std::holds_alternative<tcp::socket>(socket_); }
  /// Not for the reference.
  stream& own() { return std::get<stream>(socket_); }
  style how() const { return how_; }

  asio::any_io_executor executor();
  bool is_open() const;
  std::error_code open();
  std::error_code bind(const tcp::endpoint& to);
  std::error_code close();
  std::error_code cancel();
  std::error_code shutdown(asio::socket_base::shutdown_type what);
  std::error_code non_blocking(bool mode);
  std::size_t available();
  std::error_code available_error();
  tcp::endpoint local_endpoint();
  tcp::endpoint remote_endpoint();

  // ---- in the calling thread ----
  std::error_code connect_now(const tcp::endpoint& to);
  std::error_code wait_now(asio::socket_base::wait_type what);
  std::size_t read_now(const mutable_list& to, std::error_code& ec);
  std::size_t write_now(const const_list& from, std::error_code& ec);

  // ---- asynchronously ----
  operation connect(const tcp::endpoint& to);
  operation wait(asio::socket_base::wait_type what);
  operation read_some(asio::mutable_buffer to);
  operation read_some(mutable_list to);
  operation write_some(asio::const_buffer from);
  operation write_some(const_list from);
  /// asio::async_read and asio::async_write.
  operation read(mutable_list to, condition until = {});
  operation read(asio::mutable_buffer to, condition until = {}) {
    return read(mutable_list{to}, std::move(until));
  }
  operation write(const_list from, condition until = {});
  operation write(asio::const_buffer from, condition until = {}) {
    return write(const_list{from}, std::move(until));
  }
  operation read_until(std::string& into, std::string delimiter);
  // Not for the reference:
  operation prepare(std::size_t min);
  operation data(std::size_t min);

 private:
  std::variant<stream, tcp::socket> socket_;
  style how_;
};

/// Where subjects are accepted.
class listener {
 public:
  listener(const asio::any_io_executor& executor, carrier by, style how);
  listener(const asio::any_io_executor& executor, const tcp::endpoint& at, carrier by, style how);

  template <typename F>
  decltype(auto) with(F&& f) {
    return std::visit(std::forward<F>(f), acceptor_);
  }
  tcp::endpoint endpoint();
  std::error_code close();
  std::error_code cancel();

  operation accept(subject& into);
  operation accept(subject& into, tcp::endpoint& peer);
  /// Into a new one, on the acceptor's executor.
  operation accept(std::optional<subject>& made);
  /// Into a new one on another executor.
  operation accept(const asio::any_io_executor& executor, std::optional<subject>& made);
  operation wait();
  std::error_code accept_now(subject& into);
  std::error_code accept_now(subject& into, tcp::endpoint& peer);

 private:
  std::variant<acceptor, tcp::acceptor> acceptor_;
  style how_;
};

/// A listener and two subjects, to be connected.
struct peers {
  peers(const asio::any_io_executor& executor, carrier c, style how)
      : by(c),
        at(executor, any_port(), c, how),
        client(executor, c, how),
        server(executor, c, how) {}

  asio::awaitable<void> connect();

  carrier by;
  listener at;
  subject client;
  subject server;
};

// ---- what most tests do ----

/// Writes all of it; throws where that fails.
asio::awaitable<void> send(subject& to, std::string text);
/// Reads exactly so much; throws where that fails.
asio::awaitable<std::string> receive(subject& from, std::size_t size);
/// Reads once, which must fail with 0 bytes: with what.
asio::awaitable<std::error_code> read_end(subject& from);
/// Writes once, which must fail with 0 bytes: with what.
asio::awaitable<std::error_code> write_end(subject& to);
/// Lets the context run until so many bytes can be read.
asio::awaitable<void> arrived(subject& at, std::size_t size);
/// Writes without waiting until there is no room. How much it was.
asio::awaitable<std::size_t> fill(subject& from);

}  // namespace smc::test
