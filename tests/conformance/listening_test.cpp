// Acceptors in the calling thread: made in steps, accepting, refusing, ending.
#include <asio/read.hpp>
#include <asio/write.hpp>
#include <thread>

#include "conformance/fixture.hpp"

namespace smc::test {
namespace {

using asio::socket_base;

class Listening : public conformance_of_calls {
 protected:
  listener closed() { return listener(here.executor(), by(), how()); }
  void expect_connected(subject& client, subject& server) {
    client.with([](auto& s) { asio::write(s, asio::buffer("met", 3)); });
    std::string in(3, '\0');
    server.with([&](auto& s) { asio::read(s, asio::buffer(in)); });
    EXPECT_EQ(in, "met");
  }
  std::error_code ec;
};

TEST_P(Listening, AnAcceptorIsMadeInSteps) {
  listener made = closed();
  made.with([](auto& a) {
    EXPECT_FALSE(a.is_open());
    a.open(tcp::v4());
    EXPECT_TRUE(a.is_open());
    a.set_option(socket_base::reuse_address(true));
    a.bind(any_port());
    a.listen();
  });
  EXPECT_EQ(p.client.connect_now(made.endpoint()), std::error_code());
  EXPECT_EQ(made.accept_now(p.server), std::error_code());
  expect_connected(p.client, p.server);
}

TEST_P(Listening, ListeningAgainIsNoError) {
  p.at.with([this](auto& a) { a.listen(5, ec); });
  EXPECT_FALSE(ec) << ec.message();
  connect();
  expect_connected(p.client, p.server);
}

TEST_P(Listening, OpeningAnOpenAcceptorIsAlreadyOpen) {
  p.at.with([this](auto& a) { a.open(tcp::v4(), ec); });
  EXPECT_EQ(ec, asio::error::already_open);
}

TEST_P(Listening, TwoAtOneEndpointIsAddressInUse) {
  EXPECT_EQ(thrown_by([&] { listener second(here.executor(), p.at.endpoint(), by(), how()); }),
            asio::error::address_in_use);
}

TEST_P(Listening, AnEndpointIsFreeAgainAfterClosing) {
  const auto where = p.at.endpoint();
  connect();
  expect_connected(p.client, p.server);
  p.server.close();
  EXPECT_EQ(p.at.close(), std::error_code());
  listener second(here.executor(), where, by(), how());
  subject client = make(), server = make();
  EXPECT_EQ(client.connect_now(where), std::error_code());
  EXPECT_EQ(second.accept_now(server), std::error_code());
  expect_connected(client, server);
}

TEST_P(Listening, CallsOnAClosedAcceptorAreBadDescriptors) {
  listener none = closed();
  EXPECT_EQ(none.accept_now(p.server), asio::error::bad_descriptor);
  EXPECT_EQ(none.cancel(), asio::error::bad_descriptor);
  EXPECT_EQ(none.close(), std::error_code());
  none.with([this](auto& a) {
    const auto failed = [this](auto&& call) {
      ec.clear();
      call();
      return ec;
    };
    EXPECT_EQ(failed([&] { a.listen(5, ec); }), asio::error::bad_descriptor);
    EXPECT_EQ(failed([&] { a.bind(any_port(), ec); }), asio::error::bad_descriptor);
    EXPECT_EQ(failed([&] { (void)a.local_endpoint(ec); }), asio::error::bad_descriptor);
    EXPECT_EQ(failed([&] { a.wait(socket_base::wait_read, ec); }), asio::error::bad_descriptor);
    EXPECT_EQ(failed([&] { a.non_blocking(true, ec); }), asio::error::bad_descriptor);
    EXPECT_EQ(failed([&] { a.set_option(socket_base::reuse_address(true), ec); }),
              asio::error::bad_descriptor);
    socket_base::reuse_address got;
    EXPECT_EQ(failed([&] { a.get_option(got, ec); }), asio::error::bad_descriptor);
  });
}

TEST_P(Listening, TheThrowingFormsThrowTheSameErrors) {
  listener none = closed();
  none.with([](auto& a) {
    EXPECT_EQ(thrown_by([&] { a.listen(); }), asio::error::bad_descriptor);
    EXPECT_EQ(thrown_by([&] { a.bind(any_port()); }), asio::error::bad_descriptor);
    EXPECT_EQ(thrown_by([&] { (void)a.local_endpoint(); }), asio::error::bad_descriptor);
    EXPECT_EQ(thrown_by([&] { (void)a.accept(); }), asio::error::bad_descriptor);
    EXPECT_EQ(thrown_by([&] { a.cancel(); }), asio::error::bad_descriptor);
    EXPECT_EQ(thrown_by([&] { a.wait(socket_base::wait_read); }), asio::error::bad_descriptor);
    EXPECT_EQ(thrown_by([&] { a.close(); }), std::error_code());
  });
}

TEST_P(Listening, AcceptingBeforeListeningIsAnInvalidArgument) {
  listener bound = closed();
  bound.with([](auto& a) {
    a.open(tcp::v4());
    a.bind(any_port());
  });
  EXPECT_EQ(bound.accept_now(p.server), asio::error::invalid_argument);
}

TEST_P(Listening, AcceptingIntoAnOpenStreamIsAlreadyOpen) {
  EXPECT_EQ(p.server.open(), std::error_code());
  EXPECT_EQ(p.at.accept_now(p.server), asio::error::already_open);
  EXPECT_TRUE(p.server.is_open());
}

TEST_P(Listening, ANonBlockingAcceptSaysWouldBlock) {
  p.at.with([](auto& a) { a.non_blocking(true); });
  EXPECT_TRUE(p.at.with([](auto& a) { return a.non_blocking(); }));
  EXPECT_EQ(p.at.accept_now(p.server), asio::error::would_block);
  EXPECT_FALSE(p.server.is_open());
  p.at.with([](auto& a) { a.non_blocking(false); });
  connect();
  expect_connected(p.client, p.server);
}

TEST_P(Listening, ABlockingAcceptWaitsForAClient) {
  std::thread client(
      [this] { EXPECT_EQ(p.client.connect_now(p.at.endpoint()), std::error_code()); });
  EXPECT_EQ(p.at.accept_now(p.server), std::error_code());
  client.join();
  expect_connected(p.client, p.server);
}

TEST_P(Listening, AWaitEndsWhenAClientComes) {
  std::thread client(
      [this] { EXPECT_EQ(p.client.connect_now(p.at.endpoint()), std::error_code()); });
  p.at.with([this](auto& a) { a.wait(socket_base::wait_read, ec); });
  EXPECT_FALSE(ec) << ec.message();
  EXPECT_EQ(p.at.accept_now(p.server), std::error_code());
  client.join();
  expect_connected(p.client, p.server);
}

TEST_P(Listening, AcceptTellsThePeersEndpoint) {
  EXPECT_EQ(p.client.connect_now(p.at.endpoint()), std::error_code());
  tcp::endpoint peer;
  EXPECT_EQ(p.at.accept_now(p.server, peer), std::error_code());
  EXPECT_EQ(peer, p.client.local_endpoint());
}

TEST_P(Listening, AcceptReturnsANewStreamOnTheAcceptorsExecutor) {
  EXPECT_EQ(p.client.connect_now(p.at.endpoint()), std::error_code());
  p.at.with([&](auto& a) {
    auto made = a.accept();
    EXPECT_TRUE(made.get_executor() == here.executor());
    EXPECT_EQ(made.remote_endpoint(), p.client.local_endpoint());
    EXPECT_EQ(made.local_endpoint(), a.local_endpoint());
  });
}

TEST_P(Listening, AcceptReturnsANewStreamOnAnExecutor) {
  EXPECT_EQ(p.client.connect_now(p.at.endpoint()), std::error_code());
  const asio::any_io_executor strand = asio::make_strand(here.executor());
  p.at.with([&](auto& a) {
    auto made = a.accept(strand);
    EXPECT_TRUE(made.get_executor() == strand);
    asio::write(made, asio::buffer("new", 3));
  });
  std::string in(3, '\0');
  p.client.with([&](auto& s) { asio::read(s, asio::buffer(in)); });
  EXPECT_EQ(in, "new");
}

TEST_P(Listening, AFailedAcceptReturnsAClosedStream) {
  listener none = closed();
  none.with([this](auto& a) {
    auto made = a.accept(ec);
    EXPECT_FALSE(made.is_open());
  });
  EXPECT_EQ(ec, asio::error::bad_descriptor);
}

TEST_P(Listening, WhatWasWrittenBeforeTheAcceptIsReadAfterIt) {
  EXPECT_EQ(p.client.connect_now(p.at.endpoint()), std::error_code());
  p.client.with([](auto& s) { asio::write(s, asio::buffer("early", 5)); });
  EXPECT_EQ(p.at.accept_now(p.server), std::error_code());
  std::string in(5, '\0');
  p.server.with([&](auto& s) { asio::read(s, asio::buffer(in)); });
  EXPECT_EQ(in, "early");
}

TEST_P(Listening, AClientThatHasClosedIsStillAcceptedWithItsBytes) {
  EXPECT_EQ(p.client.connect_now(p.at.endpoint()), std::error_code());
  p.client.with([](auto& s) { asio::write(s, asio::buffer("gone", 4)); });
  EXPECT_EQ(p.client.close(), std::error_code());
  EXPECT_EQ(p.at.accept_now(p.server), std::error_code());
  std::string in(5, '\0');
  const std::size_t n = p.server.with([&](auto& s) { return asio::read(s, asio::buffer(in), ec); });
  EXPECT_EQ(ec, asio::error::eof);
  EXPECT_EQ(in.substr(0, n), "gone");
}

TEST_P(Listening, WhoWasNotAcceptedIsResetWhenTheListenerCloses) {
  EXPECT_EQ(p.client.connect_now(p.at.endpoint()), std::error_code());
  EXPECT_EQ(p.at.close(), std::error_code());
  char in[4];
  EXPECT_EQ(p.client.read_now({asio::buffer(in)}, ec), 0u);
  EXPECT_EQ(ec, asio::error::connection_reset);
}

TEST_P(Listening, AcceptedStreamsOutliveTheirAcceptor) {
  connect();
  EXPECT_EQ(p.at.close(), std::error_code());
  expect_connected(p.client, p.server);
  EXPECT_EQ(p.client.connect_now(p.server.local_endpoint()), asio::error::already_connected);
}

TEST_P(Listening, OptionsOfAnAcceptorAreReadBackAsSet) {
  p.at.with([](auto& a) {
    for (const bool value : {false, true}) {
      a.set_option(socket_base::reuse_address(value));
      socket_base::reuse_address got(!value);
      a.get_option(got);
      EXPECT_EQ(got.value(), value);
      a.set_option(socket_base::enable_connection_aborted(value));
      socket_base::enable_connection_aborted aborted(!value);
      a.get_option(aborted);
      EXPECT_EQ(aborted.value(), value);
    }
    a.set_option(socket_base::receive_buffer_size(30'000));
    socket_base::receive_buffer_size size;
    a.get_option(size);
    EXPECT_GE(size.value(), 30'000);
  });
}

INSTANTIATE_TEST_SUITE_P(Everywhere, Listening, in_both_contexts(), name_of_combination);

}  // namespace
}  // namespace smc::test
