#pragma once
// The transports that this process can use, besides TCP.
#include <asio/ip/tcp.hpp>
#include <memory>
#include <smc/transport_kind.hpp>
#include <vector>

#include "negotiation/handshake.hpp"

namespace smc::detail {
class loop_core;
}

namespace smc::negotiation {

/// All registered transports. Valid as long as the program; any thread.
std::vector<transport*> registered_transports();

/// Registers a further one (kind `other`, say). Any thread; never taken back.
void register_transport(std::unique_ptr<transport> added);

struct probed_transport {
  transport* which;
  reason obstacle;  ///< none: it can be used here
};

/// Those that `kinds` prefers to TCP, asked whether they can be used with `settings`.
std::vector<probed_transport> probe_transports(const std::vector<transport_kind>& kinds,
                                               const config& settings);

/// Those of `probed` that `kinds` prefers to TCP and that can be used, in order of preference.
/// `why`: what kept the first wanted one from being used; none where nothing faster than TCP is
/// wanted.
std::vector<transport*> usable_transports(const std::vector<transport_kind>& kinds,
                                          const std::vector<probed_transport>& probed, reason& why);

/// TCP itself, the reference and the fallback.
std::unique_ptr<detail::connection> make_tcp_connection(asio::ip::tcp::socket& socket,
                                                        detail::loop_core* loop);

}  // namespace smc::negotiation
