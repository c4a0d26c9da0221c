#pragma once
// The client's side of one connection: opened, its transport checked, its job given.
#include <asio/awaitable.hpp>
#include <asio/ip/tcp.hpp>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>

#include "smcperf/options.hpp"
#include "smcperf/protocol.hpp"
#include "smcperf/sockets.hpp"

namespace smcperf {

/// A connection is not on the transport that was asked for.
class transport_not_had : public std::runtime_error {
 public:
  transport_not_had(transport_choice asked, std::string had, std::error_code reason);
  const std::string& had() const noexcept { return had_; }
  std::error_code reason() const noexcept { return reason_; }
  const std::string& remedy() const noexcept { return remedy_; }

 private:
  std::string had_;
  std::error_code reason_;
  std::string remedy_;
};

/// The transports that connections came to. Threading: one thread at a time.
class transport_tally {
 public:
  /// Counts a connection. Throws transport_not_had if it is not on what was asked for; automatic
  /// takes any.
  void count(transport_choice asked, std::string_view had, std::error_code reason);
  void merge(const transport_tally& other);

  std::uint64_t connections() const noexcept { return connections_; }
  const std::map<std::string, std::uint64_t>& transports() const noexcept { return transports_; }
  const std::map<std::string, std::uint64_t>& fallbacks() const noexcept { return fallbacks_; }
  /// The one name, "mixed" if there are several, "none" without connections.
  std::string name() const;

 private:
  std::uint64_t connections_ = 0;
  std::map<std::string, std::uint64_t> transports_, fallbacks_;
};

/// What every connection of a run has in common.
struct session_options {
  smc::config config;
  transport_choice asked = transport_choice::automatic;
  asio::ip::tcp::endpoint server;
};

/// Opens a connection, counts its transport and gives the job. Throws std::system_error,
/// transport_not_had, or std::runtime_error if the two sides disagree about the transport.
template <typename Sockets>
asio::awaitable<typename Sockets::stream> open_session(asio::any_io_executor executor,
                                                       const session_options& options, job what,
                                                       transport_tally& tally);

}  // namespace smcperf
