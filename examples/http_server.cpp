// An HTTP/1.1 server for browsers and wrk, and for local clients that get shared memory.
//   http_server server PORT          (0: any free port; it is printed)
//   http_server client HOST PORT
#include <asio.hpp>
#include <chrono>
#include <csignal>
#include <exception>
#include <iostream>
#include <smc/smc.hpp>
#include <string>
#include <string_view>

using asio::awaitable;
using asio::use_awaitable;
using asio::ip::tcp;
using namespace std::chrono_literals;

void rethrow(std::exception_ptr e) {
  if (e) std::rethrow_exception(e);  // leaves loop.run()
}

// Header names and their values here know no case.
std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

std::string response(std::string_view status, const std::string& body, bool with_body, bool close) {
  std::string text = "HTTP/1.1 " + std::string(status) + "\r\nContent-Type: text/plain\r\n";
  text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  if (close) text += "Connection: close\r\n";
  return text + "\r\n" + (with_body ? body : "");
}

std::string answer(std::string_view head, std::string_view transport, bool& close) {
  const std::string_view line = head.substr(0, head.find("\r\n"));
  const std::string fields = lower(head.substr(line.size()));
  close = line.ends_with(" HTTP/1.0") || fields.find("\r\nconnection: close") != std::string::npos;
  if (!line.ends_with(" HTTP/1.1") && !line.ends_with(" HTTP/1.0")) {
    close = true;
    return response("400 Bad Request", "this is not HTTP/1\n", true, close);
  }
  const bool get = line.starts_with("GET "), asks_for_head = line.starts_with("HEAD ");
  if (!get && !asks_for_head) {
    close = true;  // a body may follow, which nobody reads here
    return response("405 Method Not Allowed", "GET and HEAD only\n", true, close);
  }
  const auto path = line.substr(line.find(' ') + 1, line.rfind(' ') - line.find(' ') - 1);
  if (path != "/") return response("404 Not Found", "there is only /\n", get, close);
  return response("200 OK", "hello over " + std::string(transport) + "\n", get, close);
}

awaitable<void> session(smc::stream peer) try {
  bool close = false;
  for (std::string buffer; !close;) {
    const auto size =
        co_await asio::async_read_until(peer, asio::dynamic_buffer(buffer, 8192), "\r\n\r\n",
                                        smc::with_deadline(60s, use_awaitable));
    const std::string text =
        answer(std::string_view(buffer).substr(0, size), peer.transport_name(), close);
    buffer.erase(0, size);  // what is left is the next request already
    co_await asio::async_write(peer, asio::buffer(text), smc::with_deadline(60s, use_awaitable));
  }
  peer.shutdown(smc::stream::shutdown_send);
} catch (const std::system_error&) {
  // The client is gone, or said too much or nothing for too long: the others go on.
}

awaitable<void> serve(smc::acceptor& acceptor) {
  while (acceptor.is_open()) {
    std::error_code ec;
    smc::stream peer(acceptor.get_executor());
    co_await acceptor.async_accept(peer, asio::redirect_error(use_awaitable, ec));
    if (!ec) asio::co_spawn(acceptor.get_executor(), session(std::move(peer)), rethrow);
  }
}

awaitable<void> client(std::string host, std::string port) {
  const auto executor = co_await asio::this_coro::executor;
  const auto found = co_await tcp::resolver(executor).async_resolve(host, port, use_awaitable);
  smc::stream stream(executor);
  co_await smc::async_connect(stream, found, use_awaitable);
  const std::string request = "GET / HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n";
  co_await asio::async_write(stream, asio::buffer(request), use_awaitable);
  std::string text;
  std::error_code ec;
  co_await asio::async_read(stream, asio::dynamic_buffer(text),
                            asio::redirect_error(use_awaitable, ec));
  if (ec != asio::error::eof) throw std::system_error(ec);
  std::cout << text << std::flush;
}

int main(int argc, char** argv) try {
  const std::string role = argc > 1 ? argv[1] : "";
  smc::event_loop loop;
  if (role == "server" && argc == 3) {
    smc::acceptor acceptor(loop, {tcp::v4(), static_cast<std::uint16_t>(std::stoi(argv[2]))});
    std::cout << "listening on port " << acceptor.local_endpoint().port() << std::endl;
    asio::co_spawn(loop, serve(acceptor), rethrow);
    asio::signal_set signals(loop, SIGINT, SIGTERM);
    signals.async_wait([&](std::error_code, int) { loop.stop(); });
    loop.run();
  } else if (role == "client" && argc == 4) {
    asio::co_spawn(loop, client(argv[2], argv[3]), rethrow);
    loop.run();
  } else {
    std::cerr << "usage: http_server server PORT | client HOST PORT\n";
    return 2;
  }
} catch (const std::exception& e) {
  std::cerr << "http_server: " << e.what() << std::endl;
  return 1;
}
