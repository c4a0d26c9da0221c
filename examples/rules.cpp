// Rules per peer: the same program, shared memory to some and TCP to others.
//   rules server PORT          (0: any free port; it is printed)
//   rules client HOST PORT
// Try HOST 127.0.0.1 and 127.0.0.2, which are both this host.
#include <asio.hpp>
#include <csignal>
#include <exception>
#include <iostream>
#include <smc/smc.hpp>
#include <sstream>
#include <string>

using asio::awaitable;
using asio::use_awaitable;
using asio::ip::tcp;

// What the environment says, with exceptions. The most specific rule wins, wherever it stands; what
// a rule leaves out comes from the next one, or from the configuration itself.
smc::config configuration() {
  smc::config settings = smc::config::from_environment();

  smc::rule data_centre;  // far away, nothing to gain: not even asked
  data_centre.peer = "10.0.0.0/8";
  data_centre.transports = {smc::transport_kind::tcp};

  smc::rule this_host;  // whatever address it is reached by
  this_host.peer = "unix";
  this_host.ring_size = std::size_t{1} << 20;

  smc::rule watched;  // an address of this host whose traffic tcpdump shall see
  watched.peer = "127.0.0.2";
  watched.transports = {smc::transport_kind::tcp};

  settings.rules = {data_centre, this_host, watched};
  return settings;
}

std::string told(const smc::stream& stream) {
  std::ostringstream text;
  text << stream.transport_name();
  if (stream.transport() != smc::transport_kind::tcp) {
    text << ", rings of " << stream.statistics().received.ring_size / 1024 << " KiB";
  } else if (const auto reason = stream.fallback_reason()) {
    text << ", because: " << reason.message();
  }
  return text.str();
}

void rethrow(std::exception_ptr e) {
  if (e) std::rethrow_exception(e);  // leaves loop.run()
}

// Each side has its own rules, and its own reason: ask both.
awaitable<void> tell(smc::stream peer) try {
  const std::string line = "server: " + told(peer) + "\n";
  co_await asio::async_write(peer, asio::buffer(line), use_awaitable);
} catch (const std::system_error& e) {
  std::cerr << "client lost: " << e.what() << std::endl;
}

awaitable<void> accept_clients(smc::acceptor& acceptor) {
  for (;;) {
    std::error_code ec;
    smc::stream peer(acceptor.get_executor());
    co_await acceptor.async_accept(peer, asio::redirect_error(use_awaitable, ec));
    if (ec == asio::error::operation_aborted) co_return;  // the acceptor was closed
    if (ec) throw std::system_error(ec);
    asio::co_spawn(acceptor.get_executor(), tell(std::move(peer)), rethrow);
  }
}

awaitable<void> client(std::string host, std::string port) {
  const auto executor = co_await asio::this_coro::executor;
  tcp::resolver resolver(executor);
  const auto endpoints = co_await resolver.async_resolve(host, port, use_awaitable);
  smc::stream stream(executor);
  co_await smc::async_connect(stream, endpoints, use_awaitable);
  std::cout << "client: " << told(stream) << std::endl;
  std::string line;
  co_await asio::async_read_until(stream, asio::dynamic_buffer(line), '\n', use_awaitable);
  std::cout << line << std::flush;
}

int main(int argc, char** argv) try {
  const std::string role = argc > 1 ? argv[1] : "";
  smc::config::set_process_default(configuration());  // or for one stream: stream(loop, settings)
  smc::event_loop loop;
  if (role == "server" && argc == 3) {
    const auto port = static_cast<std::uint16_t>(std::stoi(argv[2]));
    smc::acceptor acceptor(loop, tcp::endpoint(tcp::v4(), port));
    std::cout << "listening on port " << acceptor.local_endpoint().port() << std::endl;
    asio::co_spawn(loop.get_executor(), accept_clients(acceptor), rethrow);
    asio::signal_set signals(loop.get_executor(), SIGINT, SIGTERM);
    signals.async_wait([&](std::error_code, int) { acceptor.close(); });
    loop.run();
  } else if (role == "client" && argc == 4) {
    asio::co_spawn(loop.get_executor(), client(argv[2], argv[3]), rethrow);
    loop.run();
  } else {
    std::cerr << "usage: rules server PORT | client HOST PORT\n";
    return 2;
  }
} catch (const std::exception& e) {
  std::cerr << "rules: " << e.what() << std::endl;
  return 1;
}
