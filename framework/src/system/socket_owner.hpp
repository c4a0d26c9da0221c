#pragma once
#include <sys/types.h>

#include <asio/ip/tcp.hpp>

#include "system/result.hpp"

namespace smc::system {

/// The user who made the TCP socket of this network namespace that is bound to `local` and
/// connected to `remote` (sock_diag(7)). Errors: ENOENT where there is none (any more), and those
/// of a system without sock_diag.
result<uid_t> owner_of_socket(const asio::ip::tcp::endpoint& local,
                              const asio::ip::tcp::endpoint& remote) noexcept;

}  // namespace smc::system
