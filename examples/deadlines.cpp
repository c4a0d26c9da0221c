// Deadlines and cancellation.
//   deadlines server PORT        (0: any free port; it is printed)
//   deadlines client HOST PORT   (Ctrl-C ends it)
// The server is slow on purpose: it sends half of its answer and keeps the rest until it is asked
// again. The client waits a while, looks at what it has got, asks, and reads on from there.
#include <asio.hpp>
#include <asio/experimental/as_tuple.hpp>
#include <csignal>
#include <exception>
#include <iostream>
#include <smc/smc.hpp>
#include <string>

using asio::awaitable;
using asio::use_awaitable;
using asio::experimental::as_tuple;
using asio::ip::tcp;
using namespace std::chrono_literals;

const std::string answer = "all good things come to those who wait";

void rethrow(std::exception_ptr e) {
  if (e) std::rethrow_exception(e);  // leaves loop.run()
}

awaitable<void> serve(smc::acceptor& acceptor) {
  smc::stream peer = co_await acceptor.async_accept(use_awaitable);
  const std::size_t half = answer.size() / 2;
  const std::string parts[] = {answer.substr(0, half), answer.substr(half)};
  std::string request;
  for (std::size_t requests = 0;; ++requests) {
    // A client that says nothing for an hour is given up.
    auto [ec, n] = co_await asio::async_read_until(peer, asio::dynamic_buffer(request), '\n',
                                                   smc::with_deadline(1h, as_tuple(use_awaitable)));
    if (ec == asio::error::eof) co_return;
    if (ec) throw std::system_error(ec);
    request.erase(0, n);
    if (requests < 2) {
      co_await asio::async_write(peer, asio::buffer(parts[requests]), use_awaitable);
    }
  }
}

awaitable<void> ask(smc::stream& stream) {
  // One point in time for several operations: all of it has to be done by then.
  const auto limit = std::chrono::steady_clock::now() + 1min;
  std::string text(answer.size(), '\0');
  for (std::size_t got = 0; got < text.size();) {
    co_await asio::async_write(stream, asio::buffer("well?\n", 6),
                               smc::with_deadline(limit, use_awaitable));
    // And one after the start of each read. The count is exact, so nothing is lost or read twice.
    auto [ec, n] = co_await asio::async_read(stream, asio::buffer(text) + got,
                                             smc::with_deadline(200ms, as_tuple(use_awaitable)));
    got += n;
    if (ec && ec != asio::error::timed_out) throw std::system_error(ec);
    std::cout << (ec ? "timed out with " : "complete: ") << got << " bytes" << std::endl;
  }
  std::cout << text << std::endl;
}

// A deadline leaves the token's own cancellation as it is: here Ctrl-C, through a slot.
awaitable<void> wait_for_more(smc::stream& stream) {
  asio::cancellation_signal stop;
  asio::signal_set ctrl_c(stream.get_executor(), SIGINT);
  ctrl_c.async_wait([&stop](std::error_code ec, int) {
    if (!ec) stop.emit(asio::cancellation_type::terminal);
  });
  std::cout << "waiting" << std::endl;
  char byte;
  const auto token = asio::bind_cancellation_slot(stop.slot(), as_tuple(use_awaitable));
  auto [ec, n] =
      co_await stream.async_read_some(asio::buffer(&byte, 1), smc::with_deadline(1h, token));
  if (ec == asio::error::operation_aborted) {
    std::cout << "cancelled" << std::endl;
  } else {
    std::cout << (ec ? ec.message() : "more than was asked for") << std::endl;
  }
}

awaitable<void> client(std::string host, std::string port) {
  const auto executor = co_await asio::this_coro::executor;
  tcp::resolver resolver(executor);
  const auto endpoints = co_await resolver.async_resolve(host, port, use_awaitable);
  smc::stream stream(executor);
  co_await smc::async_connect(stream, endpoints, smc::with_deadline(30s, use_awaitable));
  std::cout << "transport " << stream.transport_name() << std::endl;
  co_await ask(stream);
  co_await wait_for_more(stream);
}

int main(int argc, char** argv) try {
  const std::string role = argc > 1 ? argv[1] : "";
  smc::event_loop loop;
  if (role == "server" && argc == 3) {
    const auto port = static_cast<std::uint16_t>(std::stoi(argv[2]));
    smc::acceptor acceptor(loop, tcp::endpoint(tcp::v4(), port));
    std::cout << "listening on port " << acceptor.local_endpoint().port() << std::endl;
    asio::co_spawn(loop.get_executor(), serve(acceptor), rethrow);
    loop.run();
  } else if (role == "client" && argc == 4) {
    asio::co_spawn(loop.get_executor(), client(argv[2], argv[3]), rethrow);
    loop.run();
  } else {
    std::cerr << "usage: deadlines server PORT | client HOST PORT\n";
    return 2;
  }
} catch (const std::exception& e) {
  std::cerr << "deadlines: " << e.what() << std::endl;
  return 1;
}
