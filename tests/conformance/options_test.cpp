// Options: what is set holds and is read back, whatever carries the bytes.
#include <asio/ip/multicast.hpp>
#include <asio/ip/unicast.hpp>
#include <asio/ip/v6_only.hpp>

#include "conformance/fixture.hpp"

namespace smc::test {
namespace {

using asio::socket_base;

class Options : public conformance_of_calls {
 protected:
  template <typename Option>
  std::error_code set(subject& on, const Option& option) {
    std::error_code ec;
    on.with([&](auto& s) { s.set_option(option, ec); });
    return ec ? ec : std::error_code();
  }
  template <typename Option>
  std::error_code get(subject& of, Option& option) {
    std::error_code ec;
    of.with([&](auto& s) { s.get_option(option, ec); });
    return ec ? ec : std::error_code();
  }
  template <typename Option>
  void expect_both_values(subject& on) {
    for (const bool value : {true, false, true}) {
      EXPECT_EQ(set(on, Option(value)), std::error_code());
      Option got(!value);
      EXPECT_EQ(get(on, got), std::error_code());
      EXPECT_EQ(got.value(), value);
    }
  }
};

TEST_P(Options, NoDelayIsReadBackAsSet) {
  connect();
  expect_both_values<tcp::no_delay>(p.client);
  expect_both_values<tcp::no_delay>(p.server);
}

TEST_P(Options, KeepAliveIsReadBackAsSet) {
  connect();
  expect_both_values<socket_base::keep_alive>(p.client);
  expect_both_values<socket_base::keep_alive>(p.server);
}

TEST_P(Options, OutOfBandInlineIsReadBackAsSet) {
  connect();
  expect_both_values<socket_base::out_of_band_inline>(p.client);
}

TEST_P(Options, EnableConnectionAbortedIsReadBackAsSet) {
  connect();
  expect_both_values<socket_base::enable_connection_aborted>(p.client);
}

TEST_P(Options, ReuseAddressIsReadBackAsSet) {
  EXPECT_EQ(p.client.open(), std::error_code());
  expect_both_values<socket_base::reuse_address>(p.client);
}

TEST_P(Options, LingerIsReadBackAsSet) {
  connect();
  EXPECT_EQ(set(p.client, socket_base::linger(true, 30)), std::error_code());
  socket_base::linger got;
  EXPECT_EQ(get(p.client, got), std::error_code());
  EXPECT_TRUE(got.enabled());
  EXPECT_EQ(got.timeout(), 30);
  EXPECT_EQ(set(p.client, socket_base::linger(false, 0)), std::error_code());
  EXPECT_EQ(get(p.client, got), std::error_code());
  EXPECT_FALSE(got.enabled());
}

TEST_P(Options, HopsAreReadBackAsSet) {
  connect();
  EXPECT_EQ(set(p.client, asio::ip::unicast::hops(7)), std::error_code());
  asio::ip::unicast::hops got;
  EXPECT_EQ(get(p.client, got), std::error_code());
  EXPECT_EQ(got.value(), 7);
}

TEST_P(Options, BufferSizesAreAtLeastWhatWasAskedFor) {
  connect();
  for (subject* each : {&p.client, &p.server}) {
    EXPECT_EQ(set(*each, socket_base::send_buffer_size(40'000)), std::error_code());
    EXPECT_EQ(set(*each, socket_base::receive_buffer_size(50'000)), std::error_code());
    socket_base::send_buffer_size sending;
    socket_base::receive_buffer_size receiving;
    EXPECT_EQ(get(*each, sending), std::error_code());
    EXPECT_EQ(get(*each, receiving), std::error_code());
    EXPECT_GE(sending.value(), 40'000);
    EXPECT_GE(receiving.value(), 50'000);
  }
}

TEST_P(Options, WhatIsSetBeforeConnectingHoldsAfterwards) {
  EXPECT_EQ(p.client.open(), std::error_code());
  EXPECT_EQ(set(p.client, tcp::no_delay(true)), std::error_code());
  EXPECT_EQ(set(p.client, socket_base::keep_alive(true)), std::error_code());
  EXPECT_EQ(set(p.client, socket_base::linger(true, 9)), std::error_code());
  connect();
  tcp::no_delay no_delay;
  socket_base::keep_alive keep_alive;
  socket_base::linger linger;
  EXPECT_EQ(get(p.client, no_delay), std::error_code());
  EXPECT_EQ(get(p.client, keep_alive), std::error_code());
  EXPECT_EQ(get(p.client, linger), std::error_code());
  EXPECT_TRUE(no_delay.value());
  EXPECT_TRUE(keep_alive.value());
  EXPECT_EQ(linger.timeout(), 9);
  EXPECT_EQ(set(p.client, socket_base::linger(false, 0)), std::error_code());
}

TEST_P(Options, EachSideHasItsOwn) {
  connect();
  EXPECT_EQ(set(p.client, tcp::no_delay(true)), std::error_code());
  tcp::no_delay got(true);
  EXPECT_EQ(get(p.server, got), std::error_code());
  EXPECT_FALSE(got.value());
}

TEST_P(Options, SmallBuffersStillCarryMuch) {
  EXPECT_EQ(p.client.open(), std::error_code());
  EXPECT_EQ(set(p.client, socket_base::send_buffer_size(1)), std::error_code());
  EXPECT_EQ(set(p.client, socket_base::receive_buffer_size(1)), std::error_code());
  connect();
  const std::string text = pattern_text(0, 300'000);
  std::thread writer([&] { p.client.with([&](auto& s) { asio::write(s, asio::buffer(text)); }); });
  std::string in(text.size(), '\0');
  p.server.with([&](auto& s) { asio::read(s, asio::buffer(in)); });
  writer.join();
  EXPECT_TRUE(in == text);
}

TEST_P(Options, ASendBufferSizedBeforeConnectingTakesSoMuchWithoutAReader) {
  constexpr std::size_t size = 3 * test_ring;
  EXPECT_EQ(p.client.open(), std::error_code());
  EXPECT_EQ(set(p.client, socket_base::send_buffer_size(static_cast<int>(size))),
            std::error_code());
  connect();
  EXPECT_EQ(p.client.non_blocking(true), std::error_code());
  const std::string text = pattern_text(0, size);
  std::size_t written = 0;
  for (std::error_code ec; !ec && written < size;) {
    written += p.client.write_now({asio::buffer(text.data() + written, size - written)}, ec);
    EXPECT_EQ(ec, std::error_code());
  }
  EXPECT_EQ(written, size);
  std::string in(size, '\0');
  p.server.with([&](auto& s) { asio::read(s, asio::buffer(in)); });
  EXPECT_TRUE(in == text);
}

TEST_P(Options, OfAClosedStreamTheyAreBadDescriptors) {
  tcp::no_delay got;
  EXPECT_EQ(set(p.client, tcp::no_delay(true)), asio::error::bad_descriptor);
  EXPECT_EQ(get(p.client, got), asio::error::bad_descriptor);
  p.client.with([&](auto& s) {
    EXPECT_EQ(thrown_by([&] { s.set_option(got); }), asio::error::bad_descriptor);
    EXPECT_EQ(thrown_by([&] { s.get_option(got); }), asio::error::bad_descriptor);
  });
}

TEST_P(Options, ThoseOfOtherProtocolsAreRefused) {
  connect();
  EXPECT_EQ(set(p.client, asio::ip::v6_only(true)), asio::error::no_protocol_option);
  EXPECT_EQ(set(p.client, asio::ip::multicast::hops(3)), asio::error::invalid_argument);
}

TEST_P(Options, NonBlockingModeIsReadBackAndEndsWithTheStream) {
  EXPECT_EQ(p.client.non_blocking(true), asio::error::bad_descriptor);
  connect();
  const auto mode = [this] { return p.client.with([](auto& s) { return s.non_blocking(); }); };
  EXPECT_FALSE(mode());
  EXPECT_EQ(p.client.non_blocking(true), std::error_code());
  EXPECT_TRUE(mode());
  EXPECT_EQ(p.client.close(), std::error_code());
  EXPECT_FALSE(mode());
  EXPECT_EQ(p.client.open(), std::error_code());
  EXPECT_FALSE(mode());
}

INSTANTIATE_TEST_SUITE_P(Everywhere, Options, in_both_contexts(), name_of_combination);

}  // namespace
}  // namespace smc::test
