#pragma once
// What the server's machine asks its glue to do.
#include <compare>
#include <cstdint>
#include <iosfwd>
#include <smc/error.hpp>
#include <string>

namespace smc::negotiation {

/// A rendezvous connection of one client process; chosen by the glue, not reused while the machine
/// lives.
enum class link_id : std::uint64_t {};

/// An accepted TCP connection; chosen by the glue, not reused while the machine lives.
enum class connection_id : std::uint64_t {};

/// Clients number their attempts per link.
struct attempt_key {
  link_id link{};
  std::uint64_t attempt = 0;

  auto operator<=>(const attempt_key&) const = default;
};

struct server_action {
  enum class kind : std::uint8_t {
    answer,        ///< ask the transports; send ACCEPT and report answered, or report answer_failed
    establish,     ///< hand CONFIRM to the transport; report established or establish_failed
    abandon,       ///< free what answer made for this connection and attempt
    send_decline,  ///< to link and attempt, with why
    deliver,       ///< the connection is accepted, on the transport
    deliver_tcp,   ///< the connection is accepted, on TCP, because of why
    drop           ///< reset the connection: it can't be accepted on anything both sides agree on
  };

  kind what;
  connection_id connection{};
  attempt_key by{};
  reason why = reason::none;

  bool operator==(const server_action&) const = default;
};

std::string to_string(const server_action& a);
std::ostream& operator<<(std::ostream& out, const server_action& a);

}  // namespace smc::negotiation
