#pragma once
// Connections per second: connect, maybe one request and reply, close.
#include <asio/awaitable.hpp>
#include <cstdint>

#include "smcperf/recorder.hpp"
#include "smcperf/session.hpp"

namespace smcperf {

/// Spreads connections over 127.0.0.1 … 127.0.0.64 when the server is at 127.0.0.1: closed TCP
/// connections keep their port for a minute, per destination. Any other server is left as it is.
class destinations {
 public:
  explicit destinations(asio::ip::tcp::endpoint server);
  asio::ip::tcp::endpoint next() noexcept;

 private:
  asio::ip::tcp::endpoint server_;
  bool rotate_;
  std::uint32_t turn_ = 0;
};

/// One of the concurrent connectors of a loop. `reply_size` 0: no request. The connections are
/// counted in `tally`.
template <typename Sockets>
asio::awaitable<void> connect_repeatedly(asio::any_io_executor executor,
                                         const session_options& options, std::uint64_t reply_size,
                                         destinations& to, limits until, recorder& record,
                                         transport_tally& tally);

}  // namespace smcperf
