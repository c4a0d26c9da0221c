// Whose a TCP socket of this machine is.
#include "system/socket_owner.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <optional>

#include "system/injection.hpp"

namespace smc::system {
namespace {

using asio::ip::tcp;

class SocketOwner : public testing::Test {
 protected:
  /// Connects from `by` to a listener at `at`; false where the machine has no such address.
  bool connect(const tcp& by, const tcp::endpoint& to, const tcp::endpoint& at) {
    std::error_code ec;
    listener_.emplace(context_);
    (void)listener_->open(at.protocol(), ec);
    if (at.protocol() == tcp::v6()) (void)listener_->set_option(asio::ip::v6_only(false), ec);
    (void)listener_->bind(at, ec);
    (void)listener_->listen(1, ec);
    client_.emplace(context_);
    (void)client_->open(by, ec);
    const auto port = listener_->local_endpoint(ec).port();
    (void)client_->connect({to.address(), port}, ec);
    return !ec;
  }
  result<uid_t> owner_of_client() const {
    return owner_of_socket(client_->local_endpoint(), client_->remote_endpoint());
  }

  asio::io_context context_;
  std::optional<tcp::acceptor> listener_;
  std::optional<tcp::socket> client_;
};

const tcp::endpoint loopback_v4{asio::ip::address_v4::loopback(), 0};
const tcp::endpoint loopback_v6{asio::ip::address_v6::loopback(), 0};

TEST_F(SocketOwner, IsTheUserWhoMadeIt) {
  ASSERT_TRUE(connect(tcp::v4(), loopback_v4, loopback_v4));
  const auto owner = owner_of_client();
  ASSERT_FALSE(owner.error) << owner.error.message();
  EXPECT_EQ(owner.value, ::geteuid());
}

TEST_F(SocketOwner, IsFoundByIpv6Addresses) {
  if (!connect(tcp::v6(), loopback_v6, loopback_v6)) GTEST_SKIP() << "no IPv6 here";
  const auto owner = owner_of_client();
  ASSERT_FALSE(owner.error) << owner.error.message();
  EXPECT_EQ(owner.value, ::geteuid());
}

TEST_F(SocketOwner, IsFoundByItsIpv4AddressWhereTheSocketIsOfIpv6) {
  const tcp::endpoint mapped{
      asio::ip::make_address_v6(asio::ip::v4_mapped, asio::ip::address_v4::loopback()), 0};
  if (!connect(tcp::v6(), mapped, loopback_v4)) GTEST_SKIP() << "no IPv6 here";
  const auto own_port = client_->local_endpoint().port();
  const auto owner =
      owner_of_socket({loopback_v4.address(), own_port}, listener_->local_endpoint());
  ASSERT_FALSE(owner.error) << owner.error.message();
  EXPECT_EQ(owner.value, ::geteuid());
}

TEST_F(SocketOwner, OfAConnectionThatIsGoneIsNoListenersOwner) {
  ASSERT_TRUE(connect(tcp::v4(), loopback_v4, loopback_v4));
  const auto there = listener_->local_endpoint();
  // The kernel finds the listener where it finds no connection.
  const auto owner = owner_of_socket(there, there);
  EXPECT_EQ(owner.error, std::error_code(ENOENT, asio::error::get_system_category()));
}

TEST_F(SocketOwner, IsNotKnownWhereASystemCallFails) {
  ASSERT_TRUE(connect(tcp::v4(), loopback_v4, loopback_v4));
  for (const call kind : {call::socket, call::send, call::receive}) {
    const failure_scope failing(kind, 0, EPERM);
    EXPECT_EQ(owner_of_client().error, error_of(EPERM));
    EXPECT_TRUE(failing.triggered());
  }
}

}  // namespace
}  // namespace smc::system
