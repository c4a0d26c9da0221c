// Streams and acceptors as objects: made, opened, bound, moved, assigned, destroyed.
#include <asio/read.hpp>
#include <asio/write.hpp>

#include "conformance/fixture.hpp"

namespace smc::test {
namespace {

using asio::socket_base;

class Objects : public conformance_of_calls {
 protected:
  void write(subject& to, std::string_view text) {
    to.with([&](auto& s) { asio::write(s, asio::buffer(text)); });
  }
  std::string read(subject& from, std::size_t size) {
    std::string text(size, '\0');
    from.with([&](auto& s) { asio::read(s, asio::buffer(text)); });
    return text;
  }
  /// Runs the test with the type of the stream and what makes one: make(arguments...).
  template <typename Test>
  void with_type(Test&& test) {
    p.client.with([&]<typename Socket>(Socket&) {
      test([this]<typename... Arguments>(Arguments&&... arguments) {
        return Socket(here.executor(), std::forward<Arguments>(arguments)...);
      });
    });
  }
};

TEST_P(Objects, AStreamIsMadeClosed) {
  subject made = make();
  EXPECT_FALSE(made.is_open());
  std::error_code ec;
  made.with([&](auto& s) { (void)s.local_endpoint(ec); });
  EXPECT_EQ(ec, asio::error::bad_descriptor);
}

TEST_P(Objects, AStreamIsMadeOpenWithAProtocol) {
  with_type([](auto make) {
    auto s = make(tcp::v4());
    EXPECT_TRUE(s.is_open());
    EXPECT_EQ(s.local_endpoint(), tcp::endpoint(tcp::v4(), 0));
  });
}

TEST_P(Objects, AStreamIsMadeBoundWithAnEndpoint) {
  with_type([](auto make) {
    auto s = make(any_port());
    EXPECT_TRUE(s.is_open());
    EXPECT_EQ(s.local_endpoint().address(), any_port().address());
    EXPECT_NE(s.local_endpoint().port(), 0);
  });
}

TEST_P(Objects, AStreamHasTheExecutorThatItWasGiven) {
  EXPECT_TRUE(p.client.executor() == here.executor());
  EXPECT_TRUE(p.at.with([](auto& a) -> asio::any_io_executor { return a.get_executor(); }) ==
              here.executor());
}

TEST_P(Objects, AStreamIsItsOwnLowestLayer) {
  p.client.with([](auto& s) {
    EXPECT_EQ(static_cast<void*>(&s.lowest_layer()), static_cast<void*>(&s));
    const auto& unchanging = s;
    EXPECT_EQ(static_cast<const void*>(&unchanging.lowest_layer()), static_cast<const void*>(&s));
  });
}

TEST_P(Objects, OpeningTwiceIsAlreadyOpen) {
  EXPECT_EQ(p.client.open(), std::error_code());
  EXPECT_EQ(p.client.open(), asio::error::already_open);
  EXPECT_TRUE(p.client.is_open());
  p.client.with(
      [](auto& s) { EXPECT_EQ(thrown_by([&] { s.open(tcp::v4()); }), asio::error::already_open); });
}

TEST_P(Objects, BindingTwiceIsAnInvalidArgument) {
  EXPECT_EQ(p.client.open(), std::error_code());
  EXPECT_EQ(p.client.bind(any_port()), std::error_code());
  const auto bound = p.client.local_endpoint();
  EXPECT_EQ(p.client.bind(any_port()), asio::error::invalid_argument);
  EXPECT_EQ(p.client.local_endpoint(), bound);
}

TEST_P(Objects, BindingWhereAnotherIsIsAddressInUse) {
  EXPECT_EQ(p.client.open(), std::error_code());
  EXPECT_EQ(p.client.bind(p.at.endpoint()), asio::error::address_in_use);
}

TEST_P(Objects, BindingToAForeignAddressIsAddressNotAvailable) {
  EXPECT_EQ(p.client.open(), std::error_code());
  const tcp::endpoint foreign(asio::ip::make_address_v4("192.0.2.1"), 0);
  EXPECT_EQ(p.client.bind(foreign),
            std::error_code(EADDRNOTAVAIL, asio::error::get_system_category()));
}

TEST_P(Objects, BindingAClosedStreamIsBadDescriptor) {
  EXPECT_EQ(p.client.bind(any_port()), asio::error::bad_descriptor);
  p.client.with([](auto& s) {
    EXPECT_EQ(thrown_by([&] { s.bind(any_port()); }), asio::error::bad_descriptor);
  });
}

TEST_P(Objects, AnOpenStreamHasNoPeerAndNothingAvailable) {
  EXPECT_EQ(p.client.open(), std::error_code());
  std::error_code ec;
  p.client.with([&](auto& s) { (void)s.remote_endpoint(ec); });
  EXPECT_EQ(ec, asio::error::not_connected);
  EXPECT_EQ(p.client.available_error(), std::error_code());
  EXPECT_EQ(p.client.available(), 0u);
}

TEST_P(Objects, TheThrowingFormsOfEndpointsThrowTheSameErrors) {
  p.client.with([](auto& s) {
    EXPECT_EQ(thrown_by([&] { (void)s.local_endpoint(); }), asio::error::bad_descriptor);
    EXPECT_EQ(thrown_by([&] { (void)s.remote_endpoint(); }), asio::error::bad_descriptor);
    s.open(tcp::v4());
    EXPECT_EQ(thrown_by([&] { (void)s.remote_endpoint(); }), asio::error::not_connected);
  });
}

TEST_P(Objects, AnIPv4StreamDoesNotConnectToIPv6) {
  EXPECT_EQ(p.client.open(), std::error_code());
  const tcp::endpoint other(asio::ip::address_v6::loopback(), p.at.endpoint().port());
  EXPECT_EQ(p.client.connect_now(other), asio::error::address_family_not_supported);
}

TEST_P(Objects, IPv6CarriesAStreamToo) {
  const tcp::endpoint any(asio::ip::address_v6::loopback(), 0);
  {
    asio::io_context context;
    tcp::socket probe(context);
    std::error_code ec;
    probe.open(tcp::v6(), ec);
    if (!ec) probe.bind(any, ec);
    if (ec) GTEST_SKIP() << "no IPv6 here: " << ec.message();
  }
  listener six(here.executor(), any, by(), how());
  EXPECT_EQ(p.client.connect_now(six.endpoint()), std::error_code());
  EXPECT_EQ(six.accept_now(p.server), std::error_code());
  write(p.client, "six");
  EXPECT_EQ(read(p.server, 3), "six");
  EXPECT_EQ(p.server.remote_endpoint(), p.client.local_endpoint());
  EXPECT_TRUE(p.client.local_endpoint().address().is_v6());
}

TEST_P(Objects, AMovedStreamKeepsItsPeerEndpointsAndOptions) {
  connect();
  p.client.with([](auto& s) { s.set_option(tcp::no_delay(true)); });
  const auto local = p.client.local_endpoint(), remote = p.client.remote_endpoint();
  subject moved = std::move(p.client);
  EXPECT_TRUE(moved.is_open());
  EXPECT_EQ(moved.local_endpoint(), local);
  EXPECT_EQ(moved.remote_endpoint(), remote);
  tcp::no_delay kept;
  moved.with([&](auto& s) { s.get_option(kept); });
  EXPECT_TRUE(kept.value());
  write(moved, "moved");
  EXPECT_EQ(read(p.server, 5), "moved");
}

TEST_P(Objects, AMovedFromStreamIsClosedAndConnectsAgain) {
  connect();
  subject moved = std::move(p.client);
  EXPECT_FALSE(p.client.is_open());
  EXPECT_EQ(p.client.available_error(), asio::error::bad_descriptor);
  EXPECT_EQ(p.client.close(), std::error_code());
  subject other = make();
  EXPECT_EQ(p.client.connect_now(p.at.endpoint()), std::error_code());
  EXPECT_EQ(p.at.accept_now(other), std::error_code());
  write(p.client, "second");
  write(moved, "first");
  EXPECT_EQ(read(other, 6), "second");
  EXPECT_EQ(read(p.server, 5), "first");
}

TEST_P(Objects, AssigningToAStreamClosesWhatItWas) {
  connect();
  p.client = make();
  EXPECT_FALSE(p.client.is_open());
  char in[4];
  std::error_code ec;
  EXPECT_EQ(p.server.read_now({asio::buffer(in)}, ec), 0u);
  EXPECT_EQ(ec, asio::error::eof);
}

TEST_P(Objects, DestroyingAStreamClosesIt) {
  connect();
  { subject dying = std::move(p.client); }
  char in[4];
  std::error_code ec;
  EXPECT_EQ(p.server.read_now({asio::buffer(in)}, ec), 0u);
  EXPECT_EQ(ec, asio::error::eof);
}

TEST_P(Objects, SwappedStreamsSpeakForEachOther) {
  connect();
  std::swap(p.client, p.server);
  write(p.client, "from the server");
  EXPECT_EQ(read(p.server, 15), "from the server");
  EXPECT_EQ(p.client.local_endpoint(), p.at.endpoint());
}

TEST_P(Objects, StreamsInAGrowingVectorKeepTheirPeers) {
  std::vector<subject> clients, servers;
  for (int i = 0; i < 5; ++i) {
    clients.push_back(make());
    EXPECT_EQ(clients.back().connect_now(p.at.endpoint()), std::error_code());
    servers.push_back(make());
    EXPECT_EQ(p.at.accept_now(servers.back()), std::error_code());
  }
  for (std::size_t i = 0; i < clients.size(); ++i) {
    write(clients[i], std::to_string(i));
    EXPECT_EQ(read(servers[i], 1), std::to_string(i));
  }
}

TEST_P(Objects, AStreamOfOneExecutorTypeBecomesAStreamOfAnyExecutor) {
  asio::io_context context;
  using executor = asio::io_context::executor_type;
  connect();
  std::error_code ec;
  p.client.with([&]<typename Socket>(Socket& s) {
    typename Socket::template rebind_executor<executor>::other narrow(context);
    narrow.connect(p.at.endpoint(), ec);
    EXPECT_EQ(ec, std::error_code());
    s = std::move(narrow);
    EXPECT_FALSE(narrow.is_open());
  });
  subject other = make();
  EXPECT_EQ(p.at.accept_now(other), std::error_code());
  EXPECT_TRUE(p.client.executor() == asio::any_io_executor(context.get_executor()));
  write(p.client, "wide");
  EXPECT_EQ(read(other, 4), "wide");
  p.client.close();  // before its context
  p.client = make();
}

TEST_P(Objects, AMovedAcceptorGoesOnListening) {
  const auto where = p.at.endpoint();
  listener moved = std::move(p.at);
  EXPECT_EQ(moved.endpoint(), where);
  EXPECT_EQ(p.client.connect_now(where), std::error_code());
  EXPECT_EQ(moved.accept_now(p.server), std::error_code());
  write(p.client, "moved");
  EXPECT_EQ(read(p.server, 5), "moved");
}

INSTANTIATE_TEST_SUITE_P(Everywhere, Objects, in_both_contexts(), name_of_combination);

}  // namespace
}  // namespace smc::test
