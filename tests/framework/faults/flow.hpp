#pragma once
// Bytes that flow both ways through a stream until it ends, and are known to the reader.
#include <asio/redirect_error.hpp>
#include <atomic>
#include <cstdint>

#include "framework/stream/setting.hpp"

namespace smc::test {

struct flow_result {
  std::uint64_t bytes = 0;
  std::error_code error;
  bool as_written = true;
};

/// Writes the pattern without end. `written` counts what was written for certain.
inline asio::awaitable<std::error_code> write_without_end(stream& to,
                                                          std::atomic<std::uint64_t>& written) {
  std::uint64_t at = 0;
  for (std::error_code error;;) {
    const std::string text = pattern_text(static_cast<std::size_t>(at), 1 + at % 7919);
    at += co_await asio::async_write(to, asio::buffer(text),
                                     asio::redirect_error(asio::use_awaitable, error));
    written.store(at, std::memory_order_release);
    if (error) co_return error;
  }
}

/// Reads and compares until the end, whatever it is.
inline asio::awaitable<void> read_to_the_end(stream& from, flow_result& result) {
  std::string text(6000, '\0');
  for (;;) {
    std::error_code error;
    const std::size_t n = co_await from.async_read_some(
        asio::buffer(text), asio::redirect_error(asio::use_awaitable, error));
    const auto expected = pattern_text(static_cast<std::size_t>(result.bytes), n);
    result.as_written = result.as_written && text.compare(0, n, expected) == 0;
    result.bytes += n;
    if (error) {
      result.error = error;
      co_return;
    }
  }
}

}  // namespace smc::test
