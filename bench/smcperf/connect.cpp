#include "smcperf/connect.hpp"

#include <asio/read.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>
#include <vector>

#include "smcperf/message.hpp"

namespace smcperf {
namespace {

constexpr std::uint32_t loopback_addresses = 64;

}  // namespace

destinations::destinations(asio::ip::tcp::endpoint server)
    : server_(server), rotate_(server.address() == asio::ip::address_v4::loopback()) {}

asio::ip::tcp::endpoint destinations::next() noexcept {
  if (!rotate_) return server_;
  const std::uint32_t first = asio::ip::address_v4::loopback().to_uint();
  return {asio::ip::address_v4(first + turn_++ % loopback_addresses), server_.port()};
}

template <typename Sockets>
asio::awaitable<void> connect_repeatedly(asio::any_io_executor executor,
                                         const session_options& options, std::uint64_t reply_size,
                                         destinations& to, limits until, recorder& record,
                                         transport_tally& tally) {
  const wire_message request = encode(job{job_kind::request, message_mode::some, reply_size});
  std::vector<char> bytes(reply_size);
  const asio::mutable_buffer reply = asio::buffer(bytes);
  clock::time_point begin = clock::now();
  for (std::uint64_t done = 0; (until.count == 0 || done < until.count) && begin < until.end;
       ++done) {
    auto stream = Sockets::make_stream(executor, options.config);
    co_await stream.async_connect(to.next(), asio::use_awaitable);
    tally.count(options.asked, transport_of(stream), fallback_of(stream));
    if (reply_size > 0) {
      stream.set_option(asio::ip::tcp::no_delay(true));
      co_await asio::async_write(stream, asio::buffer(request), asio::use_awaitable);
      co_await receive_rest(stream, reply, message_mode::some);
    }
    stream.close();
    const auto end = clock::now();
    record.add_timed(reply_size, end - begin);
    begin = end;
  }
  record.finished(begin);
}

template asio::awaitable<void> connect_repeatedly<smc_sockets>(asio::any_io_executor,
                                                               const session_options&,
                                                               std::uint64_t, destinations&, limits,
                                                               recorder&, transport_tally&);
template asio::awaitable<void> connect_repeatedly<bare_sockets>(asio::any_io_executor,
                                                                const session_options&,
                                                                std::uint64_t, destinations&,
                                                                limits, recorder&,
                                                                transport_tally&);

}  // namespace smcperf
