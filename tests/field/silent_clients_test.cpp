// Silent clients and those of other protocols (scylladb/seastar #335, Govcraft/acton-service #94,
// pion/dtls #618).
#include <asio/detached.hpp>
#include <deque>

#include "framework/faults/echo_server.hpp"
#include "framework/faults/raw_client.hpp"
#include "setting.hpp"

namespace smc::test {
namespace {

using asio::use_awaitable;
using asio::ip::tcp;

/// What a server has been told by one client, until its end of stream.
struct conversation {
  stream peer;
  std::string heard;
};

struct listening_server {
  listening_server(const asio::any_io_executor& on, const config& with)
      : settings(with), listener(on, any_port(), settings) {
    accept();
  }
  void accept() {
    listener.async_accept([this](std::error_code error, stream peer) {
      if (error) return;
      ++(peer.transport() == transport_kind::tcp ? plain : shared);
      talks.push_back({std::move(peer), {}});
      listen_to(talks.back());
      accept();
    });
  }
  void listen_to(conversation& c) {
    asio::async_read(c.peer, asio::dynamic_buffer(c.heard),
                     [this](std::error_code, std::size_t) { ++ended; });
  }
  std::size_t heard(const std::string& text) const {
    return static_cast<std::size_t>(std::count_if(
        talks.begin(), talks.end(), [&](const conversation& c) { return c.heard == text; }));
  }

  const config settings;
  acceptor listener;
  std::deque<conversation> talks;
  std::size_t plain = 0, shared = 0, ended = 0;
};

TEST_P(FieldLocal, SilentClientsAndStrangersKeepNobodyFromSharedMemory) {
  constexpr std::size_t silent = 200, cut_short = 50, strangers = 50, callers = 50, wanted = 100;
  static const std::string request = "GET / HTTP/1.0\r\n\r\n";
  static const std::string beginning = "\xe2\xd4\xc3\xd9\x01\x00\x34";  // of a CLC PROPOSAL
  world here(where());
  here.run([&]() -> asio::awaitable<void> {
    resources before;
    for (const bool again : {false, true}) {  // what is kept for the next time is there already
      if (again) before = resources::of_this_process();
      listening_server server(here.executor(), settings());
      const auto there = server.listener.local_endpoint();
      // These say that they are about to connect, and then nothing more.
      std::vector<raw_client> intents;
      for (std::size_t i = 0; i < callers; ++i) {
        intents.emplace_back(there.port());
        intents.back().send(negotiation::intent{1, negotiation::endpoint(there),
                                                negotiation::shared_layout_version});
      }
      std::vector<tcp::socket> plain;
      for (std::size_t i = 0; i < silent + cut_short + strangers; ++i) {
        plain.emplace_back(here.executor());
        co_await plain.back().async_connect(there, use_awaitable);
        if (i < silent) continue;
        asio::write(plain.back(), asio::buffer(i < silent + cut_short ? beginning : request));
      }
      std::vector<stream> clients;
      for (std::size_t i = 0; i < wanted; ++i) {
        clients.emplace_back(here.executor(), settings());
        co_await clients.back().async_connect(there, use_awaitable);
        EXPECT_EQ(clients.back().transport(), transport_kind::smc_d)
            << clients.back().fallback_reason().message();
      }
      co_await until([&] { return server.shared == wanted; });
      // Nobody else can be meant by an intent now.
      intents.clear();
      co_await until([&] { return server.plain == plain.size(); });
      for (tcp::socket& each : plain) each.shutdown(tcp::socket::shutdown_send);
      clients.clear();
      co_await until([&] { return server.ended == server.talks.size(); });
      EXPECT_EQ(server.heard(request), strangers);
      EXPECT_EQ(server.heard(beginning), cut_short);
      EXPECT_EQ(server.heard(""), silent + wanted);
      server.listener.close();
      co_await turns();
    }
    co_await nothing_is_left(before);
  });
}

}  // namespace
}  // namespace smc::test
