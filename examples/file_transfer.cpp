// Sends a file without a buffer of its own: the sender reads it straight into the receiver's memory
// (prepare, commit), the receiver writes it out of that memory (data, consume). Over TCP the same
// calls work with a buffer inside the stream.
//   file_transfer server PORT OUTPUT        (0: any free port; it is printed)
//   file_transfer client HOST PORT FILE
#include <fcntl.h>
#include <unistd.h>

#include <asio.hpp>
#include <exception>
#include <iostream>
#include <smc/smc.hpp>
#include <string>

using asio::awaitable;
using asio::use_awaitable;
using asio::ip::tcp;

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::system_category(), what);
}

class file {
 public:
  file(const std::string& name, int flags)
      : descriptor_(::open(name.c_str(), flags | O_CLOEXEC, 0666)) {
    if (descriptor_ < 0) fail(name);
  }
  ~file() { ::close(descriptor_); }
  file(const file&) = delete;
  file& operator=(const file&) = delete;

  std::size_t read(asio::mutable_buffer into) {
    const auto n = ::read(descriptor_, into.data(), into.size());
    if (n < 0) fail("read");
    return static_cast<std::size_t>(n);
  }
  std::size_t write(asio::const_buffer from) {
    const auto n = ::write(descriptor_, from.data(), from.size());
    if (n < 0) fail("write");
    return static_cast<std::size_t>(n);
  }

 private:
  int descriptor_;
};

void rethrow(std::exception_ptr e) {
  if (e) std::rethrow_exception(e);  // leaves loop.run()
}

// Strings by value: a coroutine outlives the call that started it.
awaitable<void> receive(smc::acceptor& acceptor, std::string output) {
  smc::stream peer = co_await acceptor.async_accept(use_awaitable);
  std::cout << "transport " << peer.transport_name() << std::endl;
  file out(output, O_WRONLY | O_CREAT | O_TRUNC);
  std::uint64_t total = 0;
  for (;;) {
    std::error_code ec;
    const asio::const_buffer bytes =
        co_await peer.async_data(1, asio::redirect_error(use_awaitable, ec));
    if (ec == asio::error::eof) break;
    if (ec) throw std::system_error(ec);
    const auto written = out.write(bytes);  // maybe not all: the rest is there again next time
    peer.consume(written);
    total += written;
  }
  const std::string receipt = std::to_string(total) + "\n";
  co_await asio::async_write(peer, asio::buffer(receipt), use_awaitable);
  std::cout << "received " << total << " bytes" << std::endl;
}

awaitable<void> send(std::string host, std::string port, std::string name) {
  const auto executor = co_await asio::this_coro::executor;
  file in(name, O_RDONLY);
  tcp::resolver resolver(executor);
  const auto endpoints = co_await resolver.async_resolve(host, port, use_awaitable);
  smc::stream stream(executor);
  co_await smc::async_connect(stream, endpoints, use_awaitable);
  std::cout << "transport " << stream.transport_name() << std::endl;
  std::uint64_t total = 0;
  for (;;) {
    const asio::mutable_buffer room = co_await stream.async_prepare(1, use_awaitable);
    const auto n = in.read(room);
    if (n == 0) break;  // the end of the file; what was prepared and not committed is not sent
    stream.commit(n);
    total += n;
  }
  stream.shutdown(asio::socket_base::shutdown_send);
  std::string receipt;
  co_await asio::async_read_until(stream, asio::dynamic_buffer(receipt), '\n', use_awaitable);
  if (receipt != std::to_string(total) + "\n")
    throw std::runtime_error("the receiver has not got it all");
  std::cout << "sent " << total << " bytes" << std::endl;
}

int main(int argc, char** argv) try {
  const std::string role = argc > 1 ? argv[1] : "";
  smc::event_loop loop;
  if (role == "server" && argc == 4) {
    smc::acceptor acceptor(
        loop, tcp::endpoint(tcp::v4(), static_cast<std::uint16_t>(std::stoi(argv[2]))));
    std::cout << "listening on port " << acceptor.local_endpoint().port() << std::endl;
    asio::co_spawn(loop.get_executor(), receive(acceptor, argv[3]), rethrow);
    loop.run();
  } else if (role == "client" && argc == 5) {
    asio::co_spawn(loop.get_executor(), send(argv[2], argv[3], argv[4]), rethrow);
    loop.run();
  } else {
    std::cerr << "usage: file_transfer server PORT OUTPUT | client HOST PORT FILE\n";
    return 2;
  }
} catch (const std::exception& e) {
  std::cerr << "file_transfer: " << e.what() << std::endl;
  return 1;
}
