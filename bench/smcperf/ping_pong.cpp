#include "smcperf/ping_pong.hpp"

#include <vector>

#include "smcperf/message.hpp"
#include "smcperf/sockets.hpp"

namespace smcperf {

// The usual case, one call that moves the whole message, is written out in both loops: a nested
// coroutine for each message would be a good part of what is measured.

template <typename Stream>
asio::awaitable<void> ping(Stream& stream, std::uint64_t size, message_mode mode, limits until,
                           recorder& record) {
  std::vector<char> bytes(size, 'p');
  const asio::mutable_buffer message = asio::buffer(bytes);
  clock::time_point begin = clock::now();
  for (std::uint64_t done = 0; (until.count == 0 || done < until.count) && begin < until.end;
       ++done) {
    std::size_t moved = 0;
    if (mode == message_mode::some)
      moved = co_await stream.async_write_some(message, asio::use_awaitable);
    if (moved < size) co_await send_rest(stream, message + moved, mode);
    moved = 0;
    if (mode == message_mode::some)
      moved = co_await stream.async_read_some(message, asio::use_awaitable);
    if (moved < size) co_await receive_rest(stream, message + moved, mode);
    const auto end = clock::now();
    record.add_timed(2 * size, end - begin);
    begin = end;
  }
  record.finished(begin);
}

template <typename Stream>
asio::awaitable<void> pong(Stream& stream, std::uint64_t size, message_mode mode) {
  std::vector<char> bytes(size);
  const asio::mutable_buffer message = asio::buffer(bytes);
  for (;;) {
    std::size_t moved = 0;
    if (mode == message_mode::some)
      moved = co_await stream.async_read_some(message, asio::use_awaitable);
    if (moved < size) co_await receive_rest(stream, message + moved, mode);
    moved = 0;
    if (mode == message_mode::some)
      moved = co_await stream.async_write_some(message, asio::use_awaitable);
    if (moved < size) co_await send_rest(stream, message + moved, mode);
  }
}

template asio::awaitable<void> ping(smc_sockets::stream&, std::uint64_t, message_mode, limits,
                                    recorder&);
template asio::awaitable<void> pong(smc_sockets::stream&, std::uint64_t, message_mode);
template asio::awaitable<void> ping(bare_sockets::stream&, std::uint64_t, message_mode, limits,
                                    recorder&);
template asio::awaitable<void> pong(bare_sockets::stream&, std::uint64_t, message_mode);

}  // namespace smcperf
