// What a peer is told of a close, with bytes still unread or not (tokio-rs/turmoil #269,
// dotnet/corefx #6559). A plain TCP socket says what is right.
#include <asio/redirect_error.hpp>

#include "setting.hpp"

namespace smc::test {
namespace {

using asio::redirect_error;
using asio::use_awaitable;
using tcp = asio::ip::tcp;

template <typename Stream>
using story = std::function<asio::awaitable<void>(Stream& closing, Stream& watching)>;

template <typename Stream>
asio::awaitable<void> say(Stream& to, std::size_t size) {
  const std::string text = pattern_text(0, size);
  co_await asio::async_write(to, asio::buffer(text), use_awaitable);
}

template <typename Stream>
asio::awaitable<void> hear(Stream& from, std::size_t size) {
  std::string text(size, '\0');
  co_await asio::async_read(from, asio::buffer(text), use_awaitable);
  EXPECT_EQ(text, pattern_text(0, size));
}

/// Everything that comes, how it ends, and what the next call says. That one does not wait: Asio's
/// asynchronous reads behind an end of stream may.
template <typename Stream>
asio::awaitable<std::string> rest_of(Stream& from) {
  std::string text(100'000, '\0');
  std::error_code error, again;
  const std::size_t n =
      co_await asio::async_read(from, asio::buffer(text), redirect_error(use_awaitable, error));
  EXPECT_EQ(text.substr(0, n), pattern_text(0, n));
  const std::size_t more = from.read_some(asio::buffer(text), again);
  co_return std::to_string(n) + " bytes, " + error.message() + "; " + std::to_string(more) +
      " bytes, " + again.message() + "; ";
}

/// How writes end. TCP may take some before it hears of it.
template <typename Stream>
asio::awaitable<std::string> writes_end(Stream& to) {
  std::error_code error;
  for (int tries = 0; !error && tries < 100'000; ++tries) {
    co_await to.async_write_some(asio::buffer("later", 5), redirect_error(use_awaitable, error));
  }
  const bool over = error == asio::error::connection_reset || error == asio::error::broken_pipe;
  co_return over ? "over" : error.message();
}

template <typename Stream>
std::vector<std::pair<const char*, story<Stream>>> stories() {
  return {
      {"unread bytes",
       [](Stream& b, Stream& a) -> asio::awaitable<void> {
         co_await say(a, 1000);
         co_await until([&b] { return b.available() == 1000; });
         b.close();
       }},
      {"part of them unread",
       [](Stream& b, Stream& a) -> asio::awaitable<void> {
         co_await say(a, 1000);
         co_await hear(b, 999);
         b.close();
       }},
      {"everything read",
       [](Stream& b, Stream& a) -> asio::awaitable<void> {
         co_await say(a, 1000);
         co_await hear(b, 1000);
         b.close();
       }},
      {"unread bytes behind an answer",
       [](Stream& b, Stream& a) -> asio::awaitable<void> {
         co_await say(a, 1000);
         co_await until([&b] { return b.available() == 1000; });
         co_await say(b, 5000);
         co_await until([&a] { return a.available() == 5000; });
         b.close();
       }},
      {"unread bytes behind an answer and its end",
       [](Stream& b, Stream& a) -> asio::awaitable<void> {
         co_await say(a, 1000);
         co_await until([&b] { return b.available() == 1000; });
         co_await say(b, 5000);
         b.shutdown(asio::socket_base::shutdown_send);
         b.close();
       }},
      {"unread end of stream only",
       [](Stream& b, Stream& a) -> asio::awaitable<void> {
         a.shutdown(asio::socket_base::shutdown_send);
         co_await say(b, 10);
         b.close();
       }},
      {"bytes that come after the close",
       [](Stream& b, Stream& a) -> asio::awaitable<void> {
         co_await say(b, 10);
         b.close();
         std::error_code ignored;
         co_await asio::async_write(a, asio::buffer("late", 4),
                                    redirect_error(use_awaitable, ignored));
       }},
  };
}

template <typename Stream>
asio::awaitable<std::string> told(const story<Stream>& tale, Stream& closing, Stream& watching) {
  co_await tale(closing, watching);
  std::string all = co_await rest_of(watching);
  all += co_await writes_end(watching);
  co_return all;
}

TEST_P(Field, ACloseIsToldAsTcpTellsIt) {
  world here(where());
  here.run([&]() -> asio::awaitable<void> {
    const auto right = stories<tcp::socket>();
    const auto ours = stories<stream>();
    for (std::size_t i = 0; i < right.size(); ++i) {
      for (const bool client_closes : {false, true}) {
        tcp::acceptor plain(here.executor(), any_port());
        tcp::socket from(here.executor());
        co_await from.async_connect(plain.local_endpoint(), use_awaitable);
        tcp::socket at = co_await plain.async_accept(use_awaitable);
        const std::string wanted =
            co_await told(right[i].second, client_closes ? from : at, client_closes ? at : from);
        pair p(here.executor(), by());
        co_await p.connect();
        EXPECT_EQ(co_await told(ours[i].second, client_closes ? p.client : p.server,
                                client_closes ? p.server : p.client),
                  wanted)
            << right[i].first;
      }
    }
  });
}

}  // namespace
}  // namespace smc::test
