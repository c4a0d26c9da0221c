// Messages larger than what a transport can hold (zeromq/libzmq #1153, apache/brpc #3290,
// valkey-io/valkey #1385).
#include <asio/experimental/awaitable_operators.hpp>

#include "setting.hpp"

namespace smc::test {
namespace {

using namespace asio::experimental::awaitable_operators;
using asio::use_awaitable;

constexpr std::size_t megabyte = std::size_t{1} << 20;

/// The longest message; the others are its beginnings.
const std::string& message() {
  static const std::string text = random_text(64 * megabyte, 1);
  return text;
}

asio::awaitable<void> pass(stream& from, stream& to, std::size_t size, bool whole) {
  std::string got(size, '\0');
  const auto out = asio::buffer(message().data(), size);
  std::size_t written = 0, read = 0;
  if (whole) {
    std::tie(written, read) =
        co_await (asio::async_write(from, out, transfer_whole(), use_awaitable) &&
                  asio::async_read(to, asio::buffer(got), transfer_whole(), use_awaitable));
  } else {
    std::tie(written, read) = co_await (asio::async_write(from, out, use_awaitable) &&
                                        asio::async_read(to, asio::buffer(got), use_awaitable));
  }
  EXPECT_EQ(written, size);
  EXPECT_EQ(read, size);
  EXPECT_EQ(message().compare(0, size, got), 0) << "wrong bytes of " << size;
}

TEST_P(Field, AMessageOfAnySizeGoesThroughASmallRing) {
  connected([](pair& p) -> asio::awaitable<void> {
    constexpr std::size_t r = test_ring;
    for (const std::size_t size : {std::size_t{1}, r / 2 - 1, r / 2, r / 2 + 1, r - 1, r, r + 1,
                                   2 * r, 6 * megabyte, 64 * megabyte}) {
      co_await pass(p.client, p.server, size, false);
      co_await pass(p.server, p.client, size, true);
    }
    EXPECT_EQ(p.client.available() + p.server.available(), 0u);
  });
}

TEST_P(Field, BothSidesMayWriteMoreThanARingAtOnceIfEachReads) {
  connected([](pair& p) -> asio::awaitable<void> {
    co_await (pass(p.client, p.server, 8 * megabyte, false) &&
              pass(p.server, p.client, 8 * megabyte, false));
    co_await (pass(p.client, p.server, 8 * megabyte, true) &&
              pass(p.server, p.client, 8 * megabyte, true));
  });
}

TEST_P(Field, SpaceComesBackBeforeTheRingIsEmpty) {
  connected([](pair& p) -> asio::awaitable<void> {
    keep_little(p);
    p.client.non_blocking(true);
    std::error_code error;
    std::size_t filled = 0;
    while (!error) filled += p.client.write_some(asio::buffer(message(), 10'000), error);
    EXPECT_EQ(error, asio::error::would_block);
    outcome write;
    p.client.async_write_some(asio::buffer("more", 4), store(write));
    // TCP sends what it holds once half of that was taken, others sooner.
    std::size_t got = 0;
    while (!write.called && got < filled) {
      got += (co_await read_text(p.server, std::min<std::size_t>(filled - got, 1000))).size();
      co_await turns();
    }
    EXPECT_LT(got, filled) << "everything had to be read first";
    co_await until([&write] { return write.called; });
    EXPECT_FALSE(write.error);
    EXPECT_EQ((co_await read_text(p.server, filled - got + write.bytes)).substr(filled - got),
              std::string("more").substr(0, write.bytes));
  });
}

TEST_P(Field, ALargeMessageGoesThroughBlockingCallsOfTwoThreads) {
  world here(where());
  pair p(here.executor(), by());
  p.client.connect(p.listener.local_endpoint());
  p.listener.accept(p.server);
  ASSERT_EQ(p.server.transport(), p.kind);
  constexpr std::size_t size = 6 * megabyte;
  std::thread answering([&] {
    std::string got(size, '\0');
    EXPECT_EQ(asio::read(p.server, asio::buffer(got)), size);
    EXPECT_EQ(asio::write(p.server, asio::buffer(got), transfer_whole()), size);
  });
  EXPECT_EQ(asio::write(p.client, asio::buffer(message(), size), transfer_whole()), size);
  std::string back(size, '\0');
  EXPECT_EQ(asio::read(p.client, asio::buffer(back)), size);
  answering.join();
  EXPECT_EQ(message().compare(0, size, back), 0);
}

}  // namespace
}  // namespace smc::test
