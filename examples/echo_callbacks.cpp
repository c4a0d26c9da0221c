// Echo with callbacks.
//   echo_callbacks server PORT        (0: any free port; it is printed)
//   echo_callbacks client ADDRESS PORT
#include <array>
#include <asio.hpp>
#include <csignal>
#include <iostream>
#include <memory>
#include <smc/smc.hpp>
#include <string>

using asio::ip::tcp;

std::uint16_t to_port(const char* text) { return static_cast<std::uint16_t>(std::stoi(text)); }

void tell_transport(const smc::stream& stream) {
  std::cout << "transport " << stream.transport_name();
  if (const auto reason = stream.fallback_reason()) std::cout << ", because: " << reason.message();
  std::cout << std::endl;
}

// One client of the server. The pending operation's handler keeps it alive.
class session : public std::enable_shared_from_this<session> {
 public:
  explicit session(smc::stream peer) : peer_(std::move(peer)) {}

  void read() {
    auto self = shared_from_this();
    peer_.async_read_some(asio::buffer(bytes_), [self](std::error_code ec, std::size_t n) {
      if (!ec) return self->write(n);
      if (ec != asio::error::eof) std::cerr << "client lost: " << ec.message() << std::endl;
    });
  }

 private:
  void write(std::size_t n) {
    auto self = shared_from_this();
    asio::async_write(peer_, asio::buffer(bytes_, n), [self](std::error_code ec, std::size_t) {
      if (!ec) return self->read();
      std::cerr << "client lost: " << ec.message() << std::endl;
    });
  }

  smc::stream peer_;
  std::array<char, 4096> bytes_;
};

class server {
 public:
  server(smc::event_loop& loop, std::uint16_t port)
      : acceptor_(loop, tcp::endpoint(tcp::v4(), port)),
        signals_(loop.get_executor(), SIGINT, SIGTERM) {
    std::cout << "listening on port " << acceptor_.local_endpoint().port() << std::endl;
    signals_.async_wait([this](std::error_code, int) { acceptor_.close(); });
    accept();
  }

 private:
  void accept() {
    acceptor_.async_accept([this](std::error_code ec, smc::stream peer) {
      if (ec == asio::error::operation_aborted) return;  // the acceptor was closed
      if (ec) throw std::system_error(ec, "accept");     // leaves loop.run()
      tell_transport(peer);
      std::make_shared<session>(std::move(peer))->read();
      accept();
    });
  }

  smc::acceptor acceptor_;
  asio::signal_set signals_;
};

class client {
 public:
  client(smc::event_loop& loop, const tcp::endpoint& to) : stream_(loop) {
    stream_.async_connect(to, [this](std::error_code ec) {
      if (ec) throw std::system_error(ec, "connect");
      tell_transport(stream_);
      send();
    });
  }

 private:
  void send() {
    asio::async_write(stream_, asio::buffer(message_), [this](std::error_code ec, std::size_t) {
      if (ec) throw std::system_error(ec, "write");
      receive();
    });
  }

  void receive() {
    asio::async_read(stream_, asio::buffer(answer_), [this](std::error_code ec, std::size_t) {
      if (ec) throw std::system_error(ec, "read");
      std::cout << "echoed " << answer_ << std::endl;
    });
  }

  smc::stream stream_;
  const std::string message_ = "hello";
  std::string answer_ = std::string(message_.size(), '\0');
};

int main(int argc, char** argv) try {
  const std::string role = argc > 1 ? argv[1] : "";
  smc::event_loop loop;
  if (role == "server" && argc == 3) {
    server serving(loop, to_port(argv[2]));
    loop.run();
  } else if (role == "client" && argc == 4) {
    client asking(loop, tcp::endpoint(asio::ip::make_address(argv[2]), to_port(argv[3])));
    loop.run();
  } else {
    std::cerr << "usage: echo_callbacks server PORT | client ADDRESS PORT\n";
    return 2;
  }
} catch (const std::exception& e) {
  std::cerr << "echo_callbacks: " << e.what() << std::endl;
  return 1;
}
