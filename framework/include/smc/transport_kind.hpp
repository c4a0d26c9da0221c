#pragma once
#include <iosfwd>
#include <smc/version.hpp>
#include <string_view>

namespace smc {

/// What carries a connection's bytes.
enum class transport_kind {
  tcp,    ///< Asio's own TCP socket
  smc_d,  ///< shared memory with a process of this host
  smc_r,  ///< RDMA (RFC 7609)
  other   ///< registered by the program
};

/// The name used by the configuration too: "tcp", "smc-d", "smc-r", "other". Any thread.
std::string_view to_string(transport_kind kind) noexcept;

/// Writes to_string(kind).
std::ostream& operator<<(std::ostream& out, transport_kind kind);

}  // namespace smc
