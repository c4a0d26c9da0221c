// The silent TCP connection below another transport.
#include <sys/socket.h>

#include "framework/stream/setting.hpp"

namespace smc::test {
namespace {

bool has_endpoints(int descriptor, const stream& which) {
  asio::ip::tcp::endpoint local, remote;
  socklen_t size = static_cast<socklen_t>(local.capacity());
  if (::getsockname(descriptor, local.data(), &size) != 0) return false;
  size = static_cast<socklen_t>(remote.capacity());
  if (::getpeername(descriptor, remote.data(), &size) != 0) return false;
  return local == which.local_endpoint() && remote == which.remote_endpoint();
}

// The stream does not hand it out: bytes on it would be lost.
int tcp_of(const stream& which) {
  for (int descriptor = 3; descriptor < 1024; ++descriptor) {
    if (has_endpoints(descriptor, which)) return descriptor;
  }
  throw std::runtime_error("no such TCP connection");
}

// Ends a TCP connection with a reset that its peer receives, and keeps the descriptor.
void reset_tcp(const stream& which) {
  const sockaddr nowhere{AF_UNSPEC, {}};
  ASSERT_EQ(::connect(tcp_of(which), &nowhere, sizeof nowhere), 0);
}

class TcpBelow : public each_setting {};

TEST_P(TcpBelow, ItsResetIsToldBehindWhatHasCome) {
  connected([](pair& p) -> asio::awaitable<void> {
    co_await asio::async_write(p.server, asio::buffer("before", 6), asio::use_awaitable);
    reset_tcp(p.server);
    EXPECT_EQ(co_await read_text(p.client, 6), "before");
    for (stream* each : {&p.client, &p.server}) {
      outcome read;
      char byte = 0;
      each->async_read_some(asio::buffer(&byte, 1), store(read));
      co_await until([&] { return read.called; });
      EXPECT_EQ(read.error, asio::error::connection_reset);
    }
  });
}

TEST_P(TcpBelow, ItsResetEndsAWriteThatWaits) {
  connected([](pair& p) -> asio::awaitable<void> {
    const std::string much(8 * test_ring, 'x');
    outcome written;
    asio::async_write(p.client, asio::buffer(much), store(written));
    co_await turns();
    reset_tcp(p.server);
    co_await until([&] { return written.called; });
    EXPECT_EQ(written.error, asio::error::connection_reset);
    EXPECT_LT(written.bytes, much.size());
  });
}

TEST_P(TcpBelow, ItsEndOfStreamMeansNothing) {
  connected([](pair& p) -> asio::awaitable<void> {
    EXPECT_EQ(::shutdown(tcp_of(p.server), SHUT_WR), 0);
    co_await asio::async_write(p.server, asio::buffer("after", 5), asio::use_awaitable);
    EXPECT_EQ(co_await read_text(p.client, 5), "after");
    co_await asio::async_write(p.client, asio::buffer("back", 4), asio::use_awaitable);
    EXPECT_EQ(co_await read_text(p.server, 4), "back");
  });
}

TEST_P(TcpBelow, OthersGoOnWhenOneIsReset) {
  connected([this](pair& p) -> asio::awaitable<void> {
    stream client(p.client.get_executor(), settings());
    stream server(p.client.get_executor(), settings());
    outcome accepted;
    p.listener.async_accept(server, store(accepted));
    co_await client.async_connect(p.listener.local_endpoint(), asio::use_awaitable);
    co_await until([&] { return accepted.called; });
    reset_tcp(p.server);
    outcome read;
    char byte = 0;
    p.client.async_read_some(asio::buffer(&byte, 1), store(read));
    co_await until([&] { return read.called; });
    co_await asio::async_write(client, asio::buffer("alive", 5), asio::use_awaitable);
    EXPECT_EQ(co_await read_text(server, 5), "alive");
  });
}

INSTANTIATE_TEST_SUITE_P(Each, TcpBelow,
                         testing::Combine(testing::Values(carrier::smc_d_mapped,
                                                          carrier::smc_d_copying, carrier::memory),
                                          all_places()),
                         name_of_setting);

}  // namespace
}  // namespace smc::test
