// What a program can say of its connections: for its log, or for who asks why it is slow.
//   statistics server PORT                  (0: any free port; it is printed)
//   statistics client HOST PORT MEGABYTES   (sends so much, and says how it went)
#include <asio.hpp>
#include <csignal>
#include <exception>
#include <iostream>
#include <smc/smc.hpp>
#include <string>
#include <vector>

using asio::awaitable;
using asio::use_awaitable;
using asio::ip::tcp;

void rethrow(std::exception_ptr e) {
  if (e) std::rethrow_exception(e);  // leaves loop.run()
}

void tell(const char* what, const smc::direction_statistics& d) {
  std::cout << what << ' ' << d.bytes << " bytes in " << d.requests << " requests, "
            << d.buffer_full << " of which had to wait";
  if (d.buffer_too_small != 0) {  // a larger SMC_RING would serve these better
    std::cout << ", " << d.buffer_too_small << " larger than the ring of " << d.ring_size;
  }
  std::cout << std::endl;
}

// One connection: ask its stream.
void tell(const smc::stream& stream) {
  const smc::connection_statistics seen = stream.statistics();
  std::cout << "transport " << stream.transport_name() << std::endl;
  tell("sent", seen.sent);
  tell("received", seen.received);
  // A wake-up of a peer that sleeps costs a system call.
  std::cout << "woke the peer " << seen.wakeups_sent << " times, and found it awake "
            << seen.wakeups_avoided << " times" << std::endl;
}

// The process: all its connections, and why those that are TCP are not faster.
void tell_process() {
  const smc::process_statistics all = smc::statistics();
  for (const auto& [kind, count] : all.connections) {
    if (count != 0) {
      std::cout << smc::to_string(kind) << ": " << count << " connections, "
                << all.open_connections.at(kind) << " of them open" << std::endl;
    }
  }
  for (const auto& [why, count] : all.fallbacks) {
    std::cout << count << " fell back to TCP: " << make_error_code(why).message() << "; "
              << smc::remedy(why) << std::endl;
  }
}

awaitable<void> swallow(smc::stream peer) try {
  std::vector<char> bytes(1 << 20);
  for (;;) co_await peer.async_read_some(asio::buffer(bytes), use_awaitable);
} catch (const std::system_error&) {
}

awaitable<void> serve(smc::acceptor& acceptor) {
  for (;;) {
    smc::stream peer = co_await acceptor.async_accept(use_awaitable);
    asio::co_spawn(acceptor.get_executor(), swallow(std::move(peer)), rethrow);
  }
}

awaitable<void> client(std::string host, std::string port, std::size_t megabytes) {
  const auto executor = co_await asio::this_coro::executor;
  const auto found = co_await tcp::resolver(executor).async_resolve(host, port, use_awaitable);
  smc::stream stream(executor);
  co_await smc::async_connect(stream, found, use_awaitable);
  const std::vector<char> megabyte(1 << 20);
  for (std::size_t i = 0; i < megabytes; ++i) {
    co_await asio::async_write(stream, asio::buffer(megabyte), smc::transfer_whole(),
                               use_awaitable);
  }
  tell(stream);
  tell_process();
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
    tell_process();
  } else if (role == "client" && argc == 5) {
    asio::co_spawn(loop, client(argv[2], argv[3], std::stoul(argv[4])), rethrow);
    loop.run();
  } else {
    std::cerr << "usage: statistics server PORT | client HOST PORT MEGABYTES\n";
    return 2;
  }
} catch (const std::exception& e) {
  std::cerr << "statistics: " << e.what() << std::endl;
  return 1;
}
