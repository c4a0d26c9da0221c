// Echo with coroutines.
//   echo_coroutines server PORT        (0: any free port; it is printed)
//   echo_coroutines client HOST PORT
// On one host the two talk over shared memory, otherwise over TCP; the program is the same.
#include <array>
#include <asio.hpp>
#include <csignal>
#include <exception>
#include <iostream>
#include <smc/smc.hpp>
#include <string>

using asio::awaitable;
using asio::use_awaitable;
using asio::ip::tcp;

// What becomes of a coroutine's exception: it leaves loop.run(). (asio::detached would drop it
// silently.)
void rethrow(std::exception_ptr e) {
  if (e) std::rethrow_exception(e);
}

void tell_transport(const smc::stream& stream) {
  std::cout << "transport " << stream.transport_name();
  if (const auto reason = stream.fallback_reason()) std::cout << ", because: " << reason.message();
  std::cout << std::endl;
}

awaitable<void> echo(smc::stream peer) {
  tell_transport(peer);
  std::array<char, 4096> bytes;
  for (;;) {
    std::error_code ec;
    const auto n =
        co_await peer.async_read_some(asio::buffer(bytes), asio::redirect_error(use_awaitable, ec));
    if (ec == asio::error::eof) co_return;
    if (ec) throw std::system_error(ec);
    co_await asio::async_write(peer, asio::buffer(bytes, n), use_awaitable);
  }
}

// One client that goes wrong is no reason to stop serving the others.
awaitable<void> session(smc::stream peer) {
  try {
    co_await echo(std::move(peer));
  } catch (const std::system_error& e) {
    std::cerr << "client lost: " << e.what() << std::endl;
  }
}

awaitable<void> accept_clients(smc::acceptor& acceptor) {
  for (;;) {
    std::error_code ec;
    smc::stream peer(acceptor.get_executor());
    co_await acceptor.async_accept(peer, asio::redirect_error(use_awaitable, ec));
    if (ec == asio::error::operation_aborted) co_return;  // the acceptor was closed
    if (ec) throw std::system_error(ec);
    asio::co_spawn(acceptor.get_executor(), session(std::move(peer)), rethrow);
  }
}

// By value: a coroutine outlives the call that started it.
awaitable<void> client(std::string host, std::string port) {
  const auto executor = co_await asio::this_coro::executor;
  tcp::resolver resolver(executor);
  const auto endpoints = co_await resolver.async_resolve(host, port, use_awaitable);
  smc::stream stream(executor);
  co_await smc::async_connect(stream, endpoints, use_awaitable);
  tell_transport(stream);
  for (const std::string line : {"hello", "shared memory", "goodbye"}) {
    co_await asio::async_write(stream, asio::buffer(line), use_awaitable);
    std::string answer(line.size(), '\0');
    co_await asio::async_read(stream, asio::buffer(answer), use_awaitable);
    std::cout << "echoed " << answer << std::endl;
  }
}

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  try {
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
      std::cerr << "usage: echo_coroutines server PORT | client HOST PORT\n";
      return 2;
    }
  } catch (const std::exception& e) {
    std::cerr << "echo_coroutines: " << e.what() << std::endl;
    return 1;
  }
  return 0;
}
