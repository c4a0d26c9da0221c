#pragma once
// Moving one message of known size, in the three ways that a program can choose from.
#include <algorithm>
#include <asio/awaitable.hpp>
#include <asio/buffer.hpp>
#include <asio/read.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>
#include <cstdint>
#include <cstring>
#include <smc/smc.hpp>
#include <stdexcept>

#include "smcperf/options.hpp"

namespace smcperf {

template <typename Stream>
concept zero_copy_stream = requires(Stream& stream) {
  stream.commit(std::size_t{1});
};

/// Reads every byte where it lies, as a parser would, and keeps the compiler from dropping that.
inline void read_in_place(asio::const_buffer bytes) noexcept {
  const auto* p = static_cast<const unsigned char*>(bytes.data());
  std::size_t left = bytes.size();
  std::uint64_t sum = 0;
  for (; left >= sizeof sum; p += sizeof sum, left -= sizeof sum) {
    std::uint64_t word;
    std::memcpy(&word, p, sizeof word);
    sum += word;
  }
  for (; left > 0; ++p, --left) sum += *p;
  asm volatile("" : : "r"(sum) : "memory");
}

/// Sends all of `rest`. In zero-copy mode only its size counts: the bytes are made in the peer's
/// memory.
template <typename Stream>
asio::awaitable<void> send_rest(Stream& stream, asio::const_buffer rest, message_mode mode) {
  switch (mode) {
    case message_mode::some:
      while (rest.size() > 0) rest += co_await stream.async_write_some(rest, asio::use_awaitable);
      break;
    case message_mode::whole:
      co_await asio::async_write(stream, rest, smc::transfer_whole(), asio::use_awaitable);
      break;
    case message_mode::zero_copy:
      if constexpr (zero_copy_stream<Stream>) {
        while (rest.size() > 0) {
          const asio::mutable_buffer room = co_await stream.async_prepare(1, asio::use_awaitable);
          const std::size_t n = std::min(room.size(), rest.size());
          std::memset(room.data(), 'z', n);
          stream.commit(n);
          rest += n;
        }
      } else {
        throw std::logic_error("this stream has no prepare and commit");
      }
      break;
  }
}

/// Receives until `rest` is full. In zero-copy mode only its size counts: the bytes are read where
/// they arrived.
template <typename Stream>
asio::awaitable<void> receive_rest(Stream& stream, asio::mutable_buffer rest, message_mode mode) {
  switch (mode) {
    case message_mode::some:
      while (rest.size() > 0) rest += co_await stream.async_read_some(rest, asio::use_awaitable);
      break;
    case message_mode::whole:
      co_await asio::async_read(stream, rest, smc::transfer_whole(), asio::use_awaitable);
      break;
    case message_mode::zero_copy:
      if constexpr (zero_copy_stream<Stream>) {
        while (rest.size() > 0) {
          const asio::const_buffer bytes = co_await stream.async_data(1, asio::use_awaitable);
          const std::size_t n = std::min(bytes.size(), rest.size());
          read_in_place(asio::buffer(bytes, n));
          stream.consume(n);
          rest += n;
        }
      } else {
        throw std::logic_error("this stream has no data and consume");
      }
      break;
  }
}

}  // namespace smcperf
