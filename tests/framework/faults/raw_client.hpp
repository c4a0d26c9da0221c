#pragma once
// A client that speaks to a real acceptor's rendezvous by hand, and may say whatever it likes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <asio/ip/tcp.hpp>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <variant>
#include <vector>

#include "framework/stream/setting.hpp"
#include "negotiation/clc_offer.hpp"
#include "negotiation/envelope.hpp"
#include "negotiation/rendezvous.hpp"
#include "smcd/handshake_extension.hpp"
#include "system/descriptor.hpp"
#include "system/events.hpp"
#include "system/sockets.hpp"

namespace smc::test {

template <typename T>
T taken(system::result<T> from) {
  if (from.error) throw std::system_error(from.error);
  return std::move(from.value);
}

inline system::descriptor own_process() { return taken(system::open_process(::getpid())); }

/// A message that arrived, and the sender's mailbox and doorbell where they came with it.
struct arrived_message {
  negotiation::message what;
  std::vector<system::descriptor> descriptors;  ///< without those of the introduction
  system::descriptor mailbox;
  system::descriptor doorbell;
};

class raw_client {
 public:
  explicit raw_client(std::uint16_t port, unsigned k = 0)
      : socket_(taken(negotiation::call_announcer(negotiation::rendezvous_place(port), k))) {}
  explicit raw_client(system::descriptor socket) : socket_(std::move(socket)) {}

  /// Bytes and descriptors as they are. A server that has hung up or is full is no error here.
  void send_bytes(std::span<const std::byte> bytes, const std::vector<int>& descriptors = {}) {
    // Past the library's own function, which sends no more than eight descriptors.
    iovec piece{const_cast<std::byte*>(bytes.data()), bytes.size()};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    const std::size_t size = descriptors.size() * sizeof(int);
    std::vector<std::size_t> control(CMSG_SPACE(size) / sizeof(std::size_t) + 1);
    if (!descriptors.empty()) {
      message.msg_control = control.data();
      message.msg_controllen = CMSG_SPACE(size);
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(size);
      std::memcpy(CMSG_DATA(header), descriptors.data(), size);
    }
    (void)::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  /// A message as it should be: introduced by the first, numbered.
  void send(const negotiation::message& what, std::vector<int> descriptors = {}) {
    system::descriptor self;
    if (next_ == 0) {
      self = own_process();
      descriptors.insert(descriptors.begin(), self.get());
    }
    send_bytes(encoded(what), descriptors);
  }

  /// The bytes of the next message.
  std::vector<std::byte> encoded(const negotiation::message& what, bool with_mailbox = false) {
    return encoded_as(next_++, what, with_mailbox);
  }
  static std::vector<std::byte> encoded_as(std::uint32_t number, const negotiation::message& what,
                                           bool with_mailbox = false) {
    std::vector<std::byte> bytes;
    negotiation::encode(what, bytes, {number, with_mailbox});
    return bytes;
  }

  /// What has arrived, if anything has.
  std::optional<arrived_message> receive() {
    std::array<std::byte, negotiation::max_message_size> bytes;
    auto got = system::receive_message(socket_, bytes);
    if (got.error == asio::error::would_block) return std::nullopt;
    if (got.error || got.value.bytes == 0) {
      hung_up_ = true;
      return std::nullopt;
    }
    const auto packet = std::span<const std::byte>(bytes).first(got.value.bytes);
    auto decoded = negotiation::decode(packet);
    if (!decoded) throw std::runtime_error("the library sent what it would not understand");
    arrived_message message;
    message.what = *decoded;
    std::size_t next = received_++ == 0 ? 1 : 0;  // the sender's process
    if (negotiation::header_of(packet).introduces_mailbox) {
      message.mailbox = std::move(got.value.descriptors[next++]);
      message.doorbell = std::move(got.value.descriptors[next++]);
    }
    for (; next < got.value.descriptor_count; ++next) {
      message.descriptors.push_back(std::move(got.value.descriptors[next]));
    }
    return message;
  }

  /// Whether the other side has hung up. What it said before is dropped.
  bool hung_up() {
    while (!hung_up_ && receive()) {
    }
    return hung_up_;
  }

  asio::awaitable<void> hang_up_comes() {
    co_await until([this] { return hung_up(); });
  }

  /// The next message, waited for. Throws where a hang-up comes instead.
  asio::awaitable<arrived_message> next() {
    std::optional<arrived_message> message;
    co_await until([&] { return (message = receive()).has_value() || hung_up_; });
    if (!message) throw std::runtime_error("a hang-up instead of a message");
    co_return std::move(*message);
  }

  const system::descriptor& socket() const noexcept { return socket_; }

 private:
  system::descriptor socket_;
  std::uint32_t next_ = 0;
  std::uint32_t received_ = 0;
  bool hung_up_ = false;
};

inline negotiation::intent intent_for(std::uint64_t attempt, const asio::ip::tcp::endpoint& to) {
  return {attempt, negotiation::endpoint(to), negotiation::shared_layout_version};
}

/// A proposal of SMC-D as the library makes it.
inline negotiation::proposal proposal_for(std::uint64_t attempt,
                                          const asio::ip::tcp::endpoint& from,
                                          const asio::ip::tcp::endpoint& to) {
  negotiation::proposal message;
  message.attempt = attempt;
  message.connection = {negotiation::endpoint(from), negotiation::endpoint(to)};
  clc::proposal offered = negotiation::local_proposal();
  offered.v2x->smcd.emplace();
  offered.v2x->smcd->gids.push_back({0x1111, 0x2222, clc::smcd_gid::loopback_chid});
  clc::encode(offered, message.clc);
  message.parts.push_back({"smc-d", smcd::encode(smcd::proposal_extension{})});
  return message;
}

}  // namespace smc::test
