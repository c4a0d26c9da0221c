#pragma once
// The server: accepts, reads the job, does it; reports to whoever holds a control connection.
#include <asio/ip/tcp.hpp>
#include <atomic>
#include <functional>

#include "smcperf/options.hpp"

namespace smcperf {

/// Serves until SIGINT or SIGTERM, with one_off until the first client's control connection ends.
/// `listening` is called once with the address that was bound. Throws std::system_error where
/// listening fails, and whatever leaves a loop.
void serve(const server_options& options,
           const std::function<void(const asio::ip::tcp::endpoint&)>& listening);

}  // namespace smcperf
