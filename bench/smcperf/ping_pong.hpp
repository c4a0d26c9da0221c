#pragma once
// Round trips: latency on one connection, request and response (rr) on many.
#include <asio/awaitable.hpp>
#include <cstdint>

#include "smcperf/options.hpp"
#include "smcperf/recorder.hpp"

namespace smcperf {

/// Client: sends a message of `size` bytes and waits for one of the same size, until the limits.
template <typename Stream>
asio::awaitable<void> ping(Stream& stream, std::uint64_t size, message_mode mode, limits until,
                           recorder& record);

/// Server: answers each message of `size` bytes until the stream ends, which leaves as an
/// exception.
template <typename Stream>
asio::awaitable<void> pong(Stream& stream, std::uint64_t size, message_mode mode);

}  // namespace smcperf
