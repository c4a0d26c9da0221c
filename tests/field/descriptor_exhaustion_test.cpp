// No descriptor is left (CrowCpp/Crow #1228, AntelopeIO/leap #471, nanomsg/nanomsg #152).
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>

#include "framework/faults/echo_server.hpp"
#include "negotiation/rendezvous.hpp"
#include "setting.hpp"
#include "support/descriptor_limit.hpp"
#include "support/other_process.hpp"
#include "system/injection.hpp"

namespace smc::test {
namespace {

using asio::redirect_error;
using asio::use_awaitable;

constexpr std::size_t crowd = 200;

/// Connects often and keeps it all.
void holder_of_connections(shared_facts& facts, const role_argument& to) {
  asio::io_context context;
  std::vector<asio::ip::tcp::socket> held;
  for (std::size_t i = 0; i < crowd; ++i) {
    held.emplace_back(context).connect(at_port(to.port));
  }
  facts.step = 1;
  for (;;) ::pause();
}

/// The server that everybody writes: the handler accepts again, whatever happened.
struct usual_server {
  usual_server(const asio::any_io_executor& on, const config& settings)
      : listener(on, any_port(), settings) {
    accept();
  }
  void accept() {
    listener.async_accept([this](std::error_code error, stream peer) {
      if (error == asio::error::operation_aborted) {
        over = true;
        return;
      }
      ++(error ? failed : accepted);
      if (error) last = error;
      if (!error) held.push_back(std::move(peer));
      accept();
    });
  }
  acceptor listener;
  std::vector<stream> held;
  std::size_t accepted = 0, failed = 0;
  std::error_code last;
  bool over = false;
};

/// The pace of accepts is no faster, however long something has really lasted.
std::size_t times_10ms(std::chrono::steady_clock::time_point since) {
  return static_cast<std::size_t>((std::chrono::steady_clock::now() - since) / 10ms);
}

TEST_P(Field, AnAcceptLoopWithoutDescriptorsIsPacedAndGoesOnWhenThereAreSome) {
  world here(where());
  here.run([&]() -> asio::awaitable<void> {
    pair existing(here.executor(), by());
    co_await existing.connect();
    usual_server server(here.executor(), settings());
    other_process clients(holder_of_connections, {server.listener.local_endpoint().port(), 0});
    {
      const descriptor_limit few(open_descriptors() + 10);
      co_await until([&] { return server.failed != 0; });
      EXPECT_EQ(server.last, asio::error::no_descriptors);
      const std::size_t before = server.failed;
      const auto since = std::chrono::steady_clock::now();
      asio::steady_timer timer(here.executor(), 500ms);
      co_await timer.async_wait(use_awaitable);
      EXPECT_LE(server.failed - before, times_10ms(since) + 2);
      co_await asio::async_write(existing.client, asio::buffer("still", 5), use_awaitable);
      EXPECT_EQ(co_await read_text(existing.server, 5), "still");
    }
    co_await until([&] { return server.accepted == crowd; });
    server.listener.close();
    co_await until([&] { return server.over; });
  });
}

// The rendezvous listener stays readable, too, whether or not anybody accepts.
TEST_P(FieldLocal, ARendezvousCallWithoutDescriptorsIsPacedAndAnsweredLater) {
  world here(where());
  here.run([&]() -> asio::awaitable<void> {
    acceptor listener(here.executor(), any_port(), settings());
    {
      const auto caller = negotiation::call_announcer(
          negotiation::rendezvous_place(listener.local_endpoint().port()), 0);
      EXPECT_FALSE(caller.error);
      asio::steady_timer timer(here.executor());
      const no_descriptors none;
      const system::failure_scope counted(system::call::accept, ~std::uint64_t{0}, 0);
      const auto since = std::chrono::steady_clock::now();
      timer.expires_after(300ms);
      co_await timer.async_wait(use_awaitable);
      EXPECT_LE(counted.calls(), times_10ms(since) + 2);
    }
    stream client(here.executor(), settings()), server(here.executor(), settings());
    outcome accepted;
    listener.async_accept(server, store(accepted));
    co_await client.async_connect(listener.local_endpoint(), use_awaitable);
    co_await until([&] { return accepted.called; });
    EXPECT_EQ(client.transport(), transport_kind::smc_d) << client.fallback_reason().message();
    EXPECT_EQ(server.transport(), transport_kind::smc_d) << server.fallback_reason().message();
  });
}

// Each step of setting a connection up is the one for which nothing is left.
TEST_P(Field, AConnectionThatDescriptorsDoNotSufficeForLeavesNothing) {
  world here(where());
  here.run([&]() -> asio::awaitable<void> {
    pair existing(here.executor(), by());
    co_await existing.connect();
    co_await nothing_is_left(resources::of_this_process());
    const resources before = resources::of_this_process();
    config hasty = settings();
    hasty.handshake_timeout = short_handshake;  // a server may be unable to answer
    bool complete = false;
    for (std::size_t more = 0; !complete && more < 64; ++more) {
      {
        // A context of its own has a group of connections of its own: everything is made anew.
        world other(where() == place::event_loop ? place::io_context : place::event_loop);
        other.run([&]() -> asio::awaitable<void> {
          acceptor listener(other.executor(), any_port(), hasty);
          stream client(other.executor(), hasty), server(other.executor(), hasty);
          const descriptor_limit few(open_descriptors() + more);
          std::error_code connected;
          outcome accepted;
          listener.async_accept(server, store(accepted));
          co_await client.async_connect(listener.local_endpoint(),
                                        redirect_error(use_awaitable, connected));
          std::error_code over;
          if (!connected && client.transport() != transport_kind::tcp) {
            // Where its confirmation came, but not the descriptors, it is refused and hears of it.
            outcome refused;
            client.async_wait(asio::socket_base::wait_read, store(refused));
            co_await until([&] { return accepted.called || refused.called; });
            client.cancel();
            co_await until([&] { return refused.called; });
            if (!accepted.called) {
              char byte = 0;
              client.read_some(asio::buffer(&byte, 1), over);
              EXPECT_EQ(over, asio::error::connection_reset);
            }
          } else if (!connected) {
            co_await until([&] { return accepted.called; });
          }
          if (!connected && !over && !accepted.error) {
            EXPECT_EQ(client.transport(), server.transport());
            if (client.transport() != expected(by())) {
              EXPECT_TRUE(client.fallback_reason());
            }
            co_await asio::async_write(client, asio::buffer("word", 4), use_awaitable);
            EXPECT_EQ(co_await read_text(server, 4), "word");
            complete = client.transport() == expected(by());
          }
          listener.close();
          if (!accepted.called) {
            co_await until([&] { return accepted.called; });
          }
        });
      }
      co_await asio::async_write(existing.client, asio::buffer("still", 5), use_awaitable);
      EXPECT_EQ(co_await read_text(existing.server, 5), "still");
    }
    EXPECT_TRUE(complete);
    co_await nothing_is_left(before);
  });
}

}  // namespace
}  // namespace smc::test
