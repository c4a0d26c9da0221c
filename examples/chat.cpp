// A chat: what one says all others hear; who does not listen is shown out.
//   chat server PORT             (0: any free port; it is printed)
//   chat client HOST PORT NAME   (says what it reads from its input, until that ends)
#include <asio.hpp>
#include <asio/experimental/awaitable_operators.hpp>
#include <csignal>
#include <deque>
#include <iostream>
#include <memory>
#include <set>
#include <smc/smc.hpp>
#include <string>

using asio::awaitable, asio::use_awaitable, asio::ip::tcp;
using line = std::shared_ptr<const std::string>;
using guests = std::set<std::shared_ptr<struct guest>>;

void rethrow(std::exception_ptr e) {
  if (e) std::rethrow_exception(e);  // leaves loop.run()
}

// All on the loop's thread: no locks.
struct guest : std::enable_shared_from_this<guest> {
  guest(smc::stream connected, guests& in) : stream(std::move(connected)), room(in) {}

  static awaitable<void> stay(std::shared_ptr<guest> self) try {
    self->room.insert(self);
    self->hear(std::make_shared<std::string>("you came over " +
                                             std::string(self->stream.transport_name()) + "\n"));
    for (std::string buffer;;) {
      const auto n = co_await asio::async_read_until(
          self->stream, asio::dynamic_buffer(buffer, 4096), '\n', use_awaitable);
      const line said = std::make_shared<std::string>(buffer.substr(0, n));
      buffer.erase(0, n);
      for (const auto& each : guests(self->room)) {  // a copy: guests may leave meanwhile
        if (each != self) each->hear(said);
      }
    }
  } catch (const std::system_error&) {
    self->leave();
  }

  void hear(line said) {
    if (unheard.size() == 1000) return leave();
    unheard.push_back(std::move(said));
    if (unheard.size() == 1)
      asio::co_spawn(stream.get_executor(), tell(shared_from_this()), rethrow);
  }

  static awaitable<void> tell(std::shared_ptr<guest> self) {
    std::error_code ec;
    for (; !ec && !self->unheard.empty(); self->unheard.pop_front())
      co_await asio::async_write(self->stream, asio::buffer(*self->unheard.front()),
                                 asio::redirect_error(use_awaitable, ec));
    if (ec) self->leave();
  }

  void leave() {
    room.erase(shared_from_this());
    stream.cancel();  // ends what waits on it, and with that this guest
  }
  smc::stream stream;
  guests& room;
  std::deque<line> unheard;  // the first one is being written
};

awaitable<void> server(smc::acceptor& acceptor) {
  guests room;
  for (;;) {
    auto next = std::make_shared<guest>(co_await acceptor.async_accept(use_awaitable), room);
    asio::co_spawn(acceptor.get_executor(), guest::stay(std::move(next)), rethrow);
  }
}

// Copies lines, each with something in front, until one side ends.
template <typename From, typename To>
awaitable<void> copy_lines(From& from, To& to, std::string before) {
  for (std::string buffer;;) {
    std::error_code ec;
    const auto n = co_await asio::async_read_until(from, asio::dynamic_buffer(buffer), '\n',
                                                   asio::redirect_error(use_awaitable, ec));
    if (ec) co_return;
    const std::string text = before + buffer.substr(0, n);
    buffer.erase(0, n);
    co_await asio::async_write(to, asio::buffer(text), use_awaitable);
  }
}

awaitable<void> client(std::string host, std::string port, std::string name) {
  const auto executor = co_await asio::this_coro::executor;
  const auto found = co_await tcp::resolver(executor).async_resolve(host, port, use_awaitable);
  smc::stream stream(executor);
  asio::posix::stream_descriptor in(executor, 0), out(executor, 1);
  co_await smc::async_connect(stream, found, use_awaitable);
  using namespace asio::experimental::awaitable_operators;
  co_await (copy_lines(in, stream, name + ": ") || copy_lines(stream, out, ""));
}

int main(int argc, char** argv) try {
  const std::string role = argc > 1 ? argv[1] : "";
  smc::event_loop loop;
  if (role == "server" && argc == 3) {
    smc::acceptor acceptor(loop, {tcp::v4(), static_cast<std::uint16_t>(std::stoi(argv[2]))});
    std::cout << "listening on port " << acceptor.local_endpoint().port() << std::endl;
    asio::co_spawn(loop, server(acceptor), rethrow);
    asio::signal_set signals(loop, SIGINT, SIGTERM);
    signals.async_wait([&](std::error_code, int) { loop.stop(); });
    loop.run();
  } else if (role == "client" && argc == 5) {
    asio::co_spawn(loop, client(argv[2], argv[3], argv[4]), rethrow);
    loop.run();
  } else {
    std::cerr << "usage: chat server PORT | client HOST PORT NAME\n";
    return 2;
  }
} catch (const std::exception& e) {
  std::cerr << "chat: " << e.what() << std::endl;
  return 1;
}
