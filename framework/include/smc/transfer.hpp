#pragma once
#include <cstddef>
#include <smc/version.hpp>
#include <system_error>

namespace smc {

/// A completion condition for asio::async_read, async_write, read and write that passes whole
/// buffers on. Asio's own conditions hand at most 64 KiB to the stream at a time, so that a
/// transfer of 1 MiB costs 16 operations:
///
///   co_await asio::async_write(stream, asio::buffer(megabytes), smc::transfer_whole(),
///   asio::use_awaitable);
///
/// Ends when everything was transferred or an error occurred, as asio::transfer_all(). Asio passes
/// at most 16 buffers of a sequence at a time.
inline auto transfer_whole() {
  return [](const std::error_code& ec, std::size_t) -> std::size_t {
    return ec ? 0 : static_cast<std::size_t>(-1) / 2;
  };
}

}  // namespace smc
