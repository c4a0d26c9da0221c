#include "smcperf/one_way.hpp"

#include <algorithm>
#include <asio/redirect_error.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "smcperf/message.hpp"
#include "smcperf/protocol.hpp"
#include "smcperf/sockets.hpp"

namespace smcperf {
namespace {

// Small messages cost about as much as a look at the clock: look at every 64th.
constexpr std::uint64_t large_message = 16 << 10;
constexpr std::uint64_t between_looks = 64;

constexpr std::size_t smallest_sink = 64 << 10;
constexpr std::size_t largest_sink = 1 << 20;

// One step of the sink; the number of bytes read, 0 at the end of the stream.
template <typename Stream>
asio::awaitable<std::size_t> drop_in_place(Stream& stream) {
  std::error_code ec;
  const asio::const_buffer bytes =
      co_await stream.async_data(1, asio::redirect_error(asio::use_awaitable, ec));
  if (ec && ec != asio::error::eof) throw std::system_error(ec);
  const std::size_t n = bytes.size();
  if (n > 0) {
    read_in_place(bytes);
    stream.consume(n);
  }
  co_return n;
}

}  // namespace

template <typename Stream>
asio::awaitable<std::uint64_t> send_messages(Stream& stream, std::uint64_t size, message_mode mode,
                                             limits until, recorder& record) {
  const std::vector<char> bytes(size, 'm');
  const asio::const_buffer message = asio::buffer(bytes);
  std::uint64_t sent = 0;
  const std::uint64_t step = size >= large_message ? 1 : between_looks;
  for (std::uint64_t done = 0; until.count == 0 || done < until.count; ++done) {
    if (done % step == 0 && clock::now() >= until.end) break;
    std::size_t moved = 0;
    if (mode == message_mode::some)
      moved = co_await stream.async_write_some(message, asio::use_awaitable);
    if (moved < size) co_await send_rest(stream, message + moved, mode);
    record.add(size);
    sent += size;
  }
  record.finished(clock::now());
  co_return sent;
}

template <typename Stream>
asio::awaitable<void> await_receipt(Stream& stream, std::uint64_t sent, recorder& record) {
  stream.shutdown(asio::socket_base::shutdown_send);
  wire_message answer;
  co_await asio::async_read(stream, asio::buffer(answer), asio::use_awaitable);
  const std::uint64_t taken = decode_receipt(answer).bytes;
  if (taken != sent)
    throw std::runtime_error("sent " + std::to_string(sent) + " bytes, the server received " +
                             std::to_string(taken));
  record.finished(clock::now());
}

template <typename Stream>
asio::awaitable<void> sink(Stream& stream, std::uint64_t size, message_mode mode,
                           std::atomic<std::uint64_t>& received) {
  receipt total;
  std::vector<char> bytes(std::clamp<std::size_t>(size, smallest_sink, largest_sink));
  for (;;) {
    std::error_code ec;
    std::size_t n = 0;
    if (mode == message_mode::zero_copy) {
      if constexpr (zero_copy_stream<Stream>)
        n = co_await drop_in_place(stream);
      else
        throw std::runtime_error("zero copy was asked of a bare socket");
    } else if (mode == message_mode::whole) {
      n = co_await asio::async_read(stream, asio::buffer(bytes, size), smc::transfer_whole(),
                                    asio::redirect_error(asio::use_awaitable, ec));
    } else {
      n = co_await stream.async_read_some(asio::buffer(bytes),
                                          asio::redirect_error(asio::use_awaitable, ec));
    }
    if (ec && ec != asio::error::eof) throw std::system_error(ec);
    total.bytes += n;
    received.fetch_add(n, std::memory_order_relaxed);
    if (ec || n == 0) break;
  }
  const wire_message answer = encode(total);
  co_await asio::async_write(stream, asio::buffer(answer), asio::use_awaitable);
}

template asio::awaitable<std::uint64_t> send_messages(smc_sockets::stream&, std::uint64_t,
                                                      message_mode, limits, recorder&);
template asio::awaitable<void> await_receipt(smc_sockets::stream&, std::uint64_t, recorder&);
template asio::awaitable<void> sink(smc_sockets::stream&, std::uint64_t, message_mode,
                                    std::atomic<std::uint64_t>&);
template asio::awaitable<std::uint64_t> send_messages(bare_sockets::stream&, std::uint64_t,
                                                      message_mode, limits, recorder&);
template asio::awaitable<void> await_receipt(bare_sockets::stream&, std::uint64_t, recorder&);
template asio::awaitable<void> sink(bare_sockets::stream&, std::uint64_t, message_mode,
                                    std::atomic<std::uint64_t>&);

}  // namespace smcperf
