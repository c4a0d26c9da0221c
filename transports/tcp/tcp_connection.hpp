#pragma once
// The reference and the fallback: a connected TCP socket behind the seam.
#include <asio/ip/tcp.hpp>
#include <memory>

#include "stream/transport.hpp"

namespace smc::detail {
class loop_core;
}

namespace smc::tcp {

/// Wraps `socket` (connected, owned by the stream, which closes it after the connection's close()).
/// `loop`: the event_loop whose inner context the socket belongs to, or nullptr.
std::unique_ptr<detail::connection> make_connection(asio::ip::tcp::socket& socket,
                                                    detail::loop_core* loop);

}  // namespace smc::tcp
