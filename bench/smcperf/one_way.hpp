#pragma once
// Messages in one direction: bandwidth (stream) and message rate (rate).
#include <asio/awaitable.hpp>
#include <cstdint>

#include "smcperf/options.hpp"
#include "smcperf/recorder.hpp"

namespace smcperf {

/// Client: sends messages of `size` bytes until the limits; the number of bytes sent.
template <typename Stream>
asio::awaitable<std::uint64_t> send_messages(Stream& stream, std::uint64_t size, message_mode mode,
                                             limits until, recorder& record);

/// Client: ends the stream and waits for the server's receipt. Throws unless it took exactly `sent`
/// bytes.
template <typename Stream>
asio::awaitable<void> await_receipt(Stream& stream, std::uint64_t sent, recorder& record);

/// Server: reads and drops until end of stream, adds what came to `received`, answers with the
/// receipt.
template <typename Stream>
asio::awaitable<void> sink(Stream& stream, std::uint64_t size, message_mode mode,
                           std::atomic<std::uint64_t>& received);

}  // namespace smcperf
