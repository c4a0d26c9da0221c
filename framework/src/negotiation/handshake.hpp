#pragma once
// What a transport contributes to choosing it. One handshake object lives on each side of one
// connection attempt:
//
//   client: propose() ─►                        confirm(ACCEPT) ─► [CONFIRM is sent] ─► take()
//   server:            answer(proposal) ─► [ACCEPT is sent]          establish(CONFIRM) ─► take()
//
// Rules:
//  H1  Nothing is shared, mapped or promised before the peer was identified by the link.
//  H2  A step that can't be done answers a reason; the connection is then TCP, and destroying the
//  handshake
//      undoes everything it made.
//  H3  confirm() and establish() prove locality: each side has seen this connection's token in
//  memory that it
//      mapped from the other.
//  H4  All calls are made exclusively in the link's context (context_service::exclusively).
#include <cstddef>
#include <memory>
#include <optional>
#include <smc/error.hpp>
#include <smc/transport_kind.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "negotiation/clc.hpp"
#include "negotiation/envelope.hpp"
#include "stream/transport.hpp"
#include "system/descriptor.hpp"

namespace smc {
class config;
}
namespace smc::detail {
class context_service;
}

namespace smc::negotiation {

class link;

/// What one step sends: the transport's fields of the CLC message, bytes of its own, descriptors by
/// position.
struct offer {
  std::optional<clc::smcd_endpoint> smcd;
  std::vector<std::byte> extension;
  std::vector<int> descriptors;  ///< stay the transport's; valid until the message was sent
};

/// What one step got from the peer.
struct received_offer {
  std::optional<clc::smcd_endpoint> smcd;
  std::span<const std::byte> extension;
  std::span<system::descriptor> descriptors;  ///< to be moved from
};

/// What a transport may know of the connection to be.
struct connection_plan {
  detail::context_service& service;  ///< where its operations will run
  negotiation::link& link;           ///< to the peer process
  const config& settings;
  std::size_t ring_size = 0;     ///< bytes, as configured for this peer
  std::size_t receive_size = 0;  ///< bytes wished for by socket options; 0: as configured
  std::size_t send_size = 0;
  /// The handshake runs exclusively in another context than `service`: what it makes must stand
  /// several threads.
  bool foreign_context = false;
};

class handshake {
 public:
  virtual ~handshake() = default;
  virtual reason answer(const received_offer& proposal, offer& accept) = 0;
  virtual reason confirm(const received_offer& accept, offer& confirm) = 0;
  virtual reason establish(const received_offer& confirm) = 0;
  /// The connection; once, after confirm() or establish().
  virtual std::unique_ptr<detail::connection> take() = 0;
};

class transport {
 public:
  virtual ~transport() = default;
  virtual transport_kind kind() const noexcept = 0;
  /// In the configuration, in messages and for people; lives as long as the program.
  virtual std::string_view name() const noexcept = 0;
  /// Whether it could be used here at all.
  virtual reason probe(const config& settings) = 0;
  /// Adds the client's part of a proposal: to the CLC message, or a part of its own.
  virtual void propose(const connection_plan& plan, clc::proposal& clc,
                       std::vector<part>& parts) = 0;
  virtual std::unique_ptr<handshake> begin(const connection_plan& plan) = 0;
};

}  // namespace smc::negotiation
