#pragma once
// Reasons: why a connection has no faster transport, or why one could not be had.
//
// Errors of transfers, names and sockets are Asio's own codes. The values here are only for the
// choice of the transport: stream.fallback_reason(), connect() where fallback is forbidden, and the
// statistics.
//
//   std::error_code why = stream.fallback_reason();
//   if (why == smc::reason::other_user) …
//   if (why) log(why.message(), smc::remedy(static_cast<smc::reason>(why.value())));
//
// Threading: every function here may be called from any thread at any time.
#include <string_view>
#include <system_error>
#include <type_traits>

namespace smc {

/// Values of the category "smc". Numbers are stable: they are stored, counted and sent to local
/// peers.
enum class reason {
  /// No reason: what was wanted is what there is.
  none = 0,
  /// The other side did not offer anything faster.
  not_offered = 1,
  /// Nobody announced SMC at the destination.
  peer_unknown = 2,
  /// The local peer runs as a user that is not allowed.
  other_user = 3,
  /// The peer could not be shown to be on this host.
  other_host = 4,
  /// The system has no memory for the rings.
  no_memory = 5,
  /// The configured limit for buffer memory is reached.
  memory_limit = 6,
  /// The process has too many memory mappings.
  mapping_limit = 7,
  /// The process has too many open descriptors.
  descriptor_limit = 8,
  /// The rendezvous of the local peer could not be reached or ended.
  rendezvous_unreachable = 9,
  /// The two sides have no protocol version in common.
  version_mismatch = 10,
  /// The other side did not answer in time.
  handshake_timed_out = 11,
  /// The other side declined without a reason known here.
  declined_by_peer = 12,
  /// The configuration does not allow any faster transport for this connection.
  not_configured = 13,
  /// There is no device for the wanted transport.
  no_device = 14,
  /// The two sides have no enterprise id (EID) in common.
  no_common_eid = 15,
  /// The device did not register the buffer.
  registration_failed = 16,
  /// The link of the group could not be set up or was lost.
  link_failed = 17,
  /// The other side broke the protocol.
  protocol_error = 18,
  /// The object belongs to the process before a fork.
  after_fork = 19,
  /// The system refused an operation that the transport needs.
  not_permitted = 20
};

/// The category of all reasons; its name is "smc".
const std::error_category& reason_category() noexcept;

/// An error code of category "smc"; `reason::none` gives one that is false.
std::error_code make_error_code(reason why) noexcept;

/// What a user or an administrator can do about it, as a sentence; empty for `reason::none` and for
/// values that are no reason.
std::string_view remedy(reason why) noexcept;

}  // namespace smc

template <>
struct std::is_error_code_enum<smc::reason> : std::true_type {};
