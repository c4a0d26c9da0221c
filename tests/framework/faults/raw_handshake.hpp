#pragma once
// A client by hand that goes the whole way to SMC-D: what it confirms can be bent before it is
// sent.
#include <functional>
#include <memory>

#include "framework/faults/attack.hpp"
#include "smcd/connection.hpp"
#include "smcd/link_group.hpp"

namespace smc::test {

/// What the acceptor said.
struct raw_accept {
  negotiation::accept message;
  smcd::ring_extension ring;
  system::descriptor inbox, doorbell, slab;
};

/// The client's memory, and its CONFIRM in parts.
struct raw_confirm {
  smcd::ring_extension ring;
  clc::smcd_endpoint clc;
  std::string transport = "smc-d";
  std::vector<int> descriptors;  ///< inbox, doorbell, slab
  std::function<void(negotiation::confirm&)> last_touch = [](negotiation::confirm&) {};
};

class raw_handshake {
 public:
  raw_handshake(raw_client& client, asio::ip::tcp::socket& socket)
      : client_(client), socket_(socket), doorbell_(taken(system::create_event())) {}

  asio::awaitable<void> up_to_accept(attacker& hostile) {
    client_.send(hostile.intent());
    co_await socket_.async_connect(hostile.target(), asio::use_awaitable);
    client_.send(hostile.proposal(socket_));
    auto answer = co_await client_.next();
    auto* message = std::get_if<negotiation::accept>(&answer.what);
    if (!message || answer.descriptors.size() != 3) throw std::runtime_error("no ACCEPT");
    accepted_.message = *message;
    accepted_.ring = smcd::decode_ring(message->extension).value();
    accepted_.inbox = std::move(answer.descriptors[0]);
    accepted_.doorbell = std::move(answer.descriptors[1]);
    accepted_.slab = std::move(answer.descriptors[2]);
  }

  /// Makes the client's side; with `attached` as an honest client does, who writes the token into
  /// the ring that it was offered.
  raw_confirm prepare(bool attached = true) {
    smcd::group_options options;
    options.own_doorbell = doorbell_.get();
    group_ = smcd::link_group::create(options).value;
    if (group_->attach_peer(taken(accepted_.inbox.duplicate()),
                            taken(accepted_.doorbell.duplicate())) != reason::none) {
      throw std::runtime_error("the acceptor's inbox");
    }
    auto opened = group_->open_ring(test_ring);
    raw_confirm c;
    c.ring.group = accepted_.ring.group;
    c.ring.introduces = true;
    c.ring.with_slab = true;
    c.ring.ring = opened.value.descriptor();
    c.clc.gid = {0x1111, 0x2222, clc::smcd_gid::loopback_chid};
    c.clc.token = c.ring.ring.token;
    c.clc.size_code = clc::size_code_of(static_cast<std::size_t>(c.ring.ring.ring_size));
    c.clc.link_id = accepted_.ring.group;
    c.clc.first_contact = true;
    c.descriptors = {group_->inbox_file().get(), doorbell_.get(), opened.value.slab_file()->get()};
    if (attached) {
      connection_ = group_
                        ->connect(std::move(opened.value), accepted_.ring.ring,
                                  taken(accepted_.slab.duplicate()))
                        .value;
    } else {
      offer_ = std::move(opened.value);
    }
    return c;
  }

  void send(const raw_confirm& c) {
    negotiation::confirm message;
    message.attempt = 1;
    message.transport = c.transport;
    message.extension = smcd::encode(c.ring);
    negotiation::encode_endpoint(clc::message_type::confirm, c.clc, message.clc);
    message.descriptors = static_cast<std::uint8_t>(c.descriptors.size());
    c.last_touch(message);
    client_.send(message, c.descriptors);
  }

  const raw_accept& accepted() const noexcept { return accepted_; }
  smcd::connection& connection() noexcept { return *connection_; }

 private:
  raw_client& client_;
  asio::ip::tcp::socket& socket_;
  system::descriptor doorbell_;
  raw_accept accepted_;
  std::shared_ptr<smcd::link_group> group_;
  smcd::ring_offer offer_;
  std::unique_ptr<smcd::connection> connection_;
};

/// Whether the server threw the TCP connection away.
inline asio::awaitable<void> reset_comes(asio::ip::tcp::socket& socket) {
  char byte = 0;
  std::error_code error;
  (void)co_await socket.async_read_some(asio::buffer(&byte, 1),
                                        asio::redirect_error(asio::use_awaitable, error));
  EXPECT_EQ(error, asio::error::connection_reset);
}

}  // namespace smc::test
