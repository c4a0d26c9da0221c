#pragma once
// The two kinds of socket that a test can run on, behind the same names.
#include <asio/ip/tcp.hpp>
#include <smc/smc.hpp>
#include <string_view>

namespace smcperf {

/// asio-smc's streams: the transport is chosen at the handshake.
struct smc_sockets {
  using stream = smc::stream;
  using acceptor = smc::acceptor;
  static stream make_stream(const asio::any_io_executor& executor, const smc::config& config) {
    return stream(executor, config);
  }
  static acceptor make_acceptor(const asio::any_io_executor& executor,
                                const asio::ip::tcp::endpoint& endpoint,
                                const smc::config& config) {
    return acceptor(executor, endpoint, true, config);
  }
};

/// Asio's own TCP sockets, the measure of what our stream costs on TCP.
struct bare_sockets {
  using stream = asio::ip::tcp::socket;
  using acceptor = asio::ip::tcp::acceptor;
  static stream make_stream(const asio::any_io_executor& executor, const smc::config&) {
    return stream(executor);
  }
  static acceptor make_acceptor(const asio::any_io_executor& executor,
                                const asio::ip::tcp::endpoint& endpoint, const smc::config&) {
    return acceptor(executor, endpoint, true);
  }
};

inline std::string_view transport_of(const smc::stream& stream) { return stream.transport_name(); }
inline std::string_view transport_of(const asio::ip::tcp::socket&) { return "tcp"; }
inline std::error_code fallback_of(const smc::stream& stream) { return stream.fallback_reason(); }
inline std::error_code fallback_of(const asio::ip::tcp::socket&) { return {}; }
inline std::size_t ring_of(const smc::stream& stream) { return stream.statistics().sent.ring_size; }
inline std::size_t ring_of(const asio::ip::tcp::socket&) { return 0; }

}  // namespace smcperf
