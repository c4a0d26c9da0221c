// Asio's composed operations and adapters over a stream.
#include <asio/buffered_read_stream.hpp>
#include <asio/completion_condition.hpp>
#include <asio/read.hpp>
#include <asio/read_until.hpp>
#include <asio/streambuf.hpp>
#include <asio/write.hpp>
#include <istream>
#include <ostream>

#include "conformance/fixture.hpp"

namespace smc::test {
namespace {

/// What a handler of a composed operation was told, and the wait for it.
class told {
 public:
  auto handler() {
    return [o = outcome_](std::error_code ec, std::size_t n) {
      EXPECT_FALSE(o->called);
      *o = {true, ec ? ec : std::error_code(), n};
    };
  }
  bool done() const { return outcome_->called; }
  std::size_t bytes() const { return outcome_->bytes; }
  asio::awaitable<std::error_code> end() {
    co_await until([this] { return done(); });
    co_return outcome_->error;
  }

 private:
  std::shared_ptr<outcome> outcome_ = std::make_shared<outcome>();
};

using Composed = conformance;

TEST_P(Composed, AReadIntoAGrowingBufferEndsWithTheStream) {
  connected([](peers& p) -> asio::awaitable<void> {
    const std::string text = pattern_text(0, 10'000);
    std::string in;
    told read;
    p.server.with([&](auto& s) { asio::async_read(s, asio::dynamic_buffer(in), read.handler()); });
    co_await send(p.client, text);
    co_await turns();
    EXPECT_FALSE(read.done());
    p.client.shutdown(asio::socket_base::shutdown_send);
    EXPECT_EQ(co_await read.end(), asio::error::eof);
    EXPECT_EQ(read.bytes(), text.size());
    EXPECT_TRUE(in == text);
  });
}

TEST_P(Composed, AReadIntoALimitedBufferEndsWhenItIsFull) {
  connected([](peers& p) -> asio::awaitable<void> {
    co_await send(p.client, "twelve bytes and more");
    std::string in;
    told read;
    p.server.with(
        [&](auto& s) { asio::async_read(s, asio::dynamic_buffer(in, 12), read.handler()); });
    EXPECT_EQ(co_await read.end(), std::error_code());
    EXPECT_EQ(in, "twelve bytes");
    EXPECT_EQ(co_await receive(p.server, 9), " and more");
  });
}

TEST_P(Composed, AWriteOfAGrowingBufferEmptiesIt) {
  connected([](peers& p) -> asio::awaitable<void> {
    std::string out = pattern_text(0, 5000);
    told write;
    p.client.with(
        [&](auto& s) { asio::async_write(s, asio::dynamic_buffer(out), write.handler()); });
    EXPECT_EQ(co_await write.end(), std::error_code());
    EXPECT_EQ(write.bytes(), 5000u);
    EXPECT_TRUE(out.empty());
    EXPECT_TRUE(co_await receive(p.server, 5000) == pattern_text(0, 5000));
  });
}

TEST_P(Composed, LinesAreReadThroughAStreambuf) {
  connected([](peers& p) -> asio::awaitable<void> {
    asio::streambuf out, in;
    std::ostream(&out) << "one\ntwo\nthree";
    told write;
    p.client.with([&](auto& s) { asio::async_write(s, out, write.handler()); });
    EXPECT_EQ(co_await write.end(), std::error_code());
    for (const std::string wanted : {"one", "two"}) {
      told line;
      p.server.with([&](auto& s) { asio::async_read_until(s, in, '\n', line.handler()); });
      EXPECT_EQ(co_await line.end(), std::error_code());
      EXPECT_EQ(line.bytes(), wanted.size() + 1);
      std::string got;
      std::getline(std::istream(&in), got);
      EXPECT_EQ(got, wanted);
    }
    p.client.shutdown(asio::socket_base::shutdown_send);
    told rest;
    p.server.with([&](auto& s) { asio::async_read_until(s, in, '\n', rest.handler()); });
    EXPECT_EQ(co_await rest.end(), asio::error::eof);
    EXPECT_EQ(in.size(), 5u);
  });
}

TEST_P(Composed, ReadUntilBeyondTheLimitIsNotFound) {
  connected([](peers& p) -> asio::awaitable<void> {
    co_await send(p.client, "a line that is too long\n");
    std::string in;
    told line;
    p.server.with([&](auto& s) {
      asio::async_read_until(s, asio::dynamic_buffer(in, 10), '\n', line.handler());
    });
    EXPECT_EQ(co_await line.end(), asio::error::not_found);
    EXPECT_EQ(in, "a line tha");
    EXPECT_EQ(co_await receive(p.server, 14), "t is too long\n");
  });
}

TEST_P(Composed, ReadUntilTakesAMatchConditionOfTheProgram) {
  using position = asio::buffers_iterator<asio::streambuf::const_buffers_type>;
  connected([](peers& p) -> asio::awaitable<void> {
    const auto digit = [](position from, position to) {
      for (; from != to; ++from) {
        if (*from >= '0' && *from <= '9') return std::pair(std::next(from), true);
      }
      return std::pair(to, false);
    };
    const std::function<std::pair<position, bool>(position, position)> match = digit;
    asio::streambuf in;
    told found;
    p.server.with([&](auto& s) { asio::async_read_until(s, in, match, found.handler()); });
    co_await send(p.client, "abc");
    co_await turns();
    EXPECT_FALSE(found.done());
    co_await send(p.client, "d7e");
    EXPECT_EQ(co_await found.end(), std::error_code());
    EXPECT_EQ(found.bytes(), 5u);
    EXPECT_EQ(in.size(), 6u);
  });
}

TEST_P(Composed, AReadAtTheEndIsEndOfStreamWithNothing) {
  connected([](peers& p) -> asio::awaitable<void> {
    p.client.shutdown(asio::socket_base::shutdown_send);
    char in[10];
    auto read = p.server.read(asio::buffer(in));
    EXPECT_EQ(co_await read.end(), asio::error::eof);
    EXPECT_EQ(read.bytes(), 0u);
  });
}

TEST_P(Composed, AReadThatIsFullAtTheEndIsNoEndOfStream) {
  connected([](peers& p) -> asio::awaitable<void> {
    co_await send(p.client, "full");
    p.client.shutdown(asio::socket_base::shutdown_send);
    EXPECT_EQ(co_await receive(p.server, 4), "full");
    EXPECT_EQ(co_await read_end(p.server), asio::error::eof);
  });
}

TEST_P(Composed, AWriteToAResetStreamTellsWhatWentBefore) {
  connected([](peers& p) -> asio::awaitable<void> {
    const std::string much(std::size_t{16} << 20, 'm');
    auto write = p.client.write(asio::buffer(much));
    co_await arrived(p.server, 1);
    p.server.close();
    const auto error = co_await write.end();
    EXPECT_TRUE(error == asio::error::connection_reset || error == asio::error::broken_pipe);
    EXPECT_GT(write.bytes(), 0u);
    EXPECT_LT(write.bytes(), much.size());
  });
}

TEST_P(Composed, AConditionMayEndAReadAfterAnyStep) {
  connected([](peers& p) -> asio::awaitable<void> {
    std::string in(100, '\0');
    auto read = p.server.read({asio::buffer(in)}, [](const std::error_code& ec, std::size_t n) {
      return ec || n >= 5 ? std::size_t{0} : std::size_t{2};  // two at a time, until it is five
    });
    co_await send(p.client, "abcdefgh");
    EXPECT_EQ(co_await read.end(), std::error_code());
    EXPECT_EQ(read.bytes(), 6u);
    EXPECT_EQ(co_await receive(p.server, 2), "gh");
  });
}

TEST_P(Composed, AConditionThatWantsNothingEndsAtOnce) {
  connected([](peers& p) -> asio::awaitable<void> {
    char in[10];
    auto read = p.server.read({asio::buffer(in)}, asio::transfer_at_least(0));
    EXPECT_EQ(co_await read.end(), std::error_code());
    EXPECT_EQ(read.bytes(), 0u);
  });
}

TEST_P(Composed, ABufferedReadStreamWorksOverAStream) {
  connected([](peers& p) -> asio::awaitable<void> {
    co_await send(p.client, "buffered");
    co_await arrived(p.server, 8);
    char first, rest[7];
    told one, others;
    co_await p.server.with([&]<typename Socket>(Socket& s) -> asio::awaitable<void> {
      asio::buffered_read_stream<Socket&> buffered(s);
      asio::async_read(buffered, asio::buffer(&first, 1), one.handler());
      EXPECT_EQ(co_await one.end(), std::error_code());
      EXPECT_EQ(s.available(), 0u);
      EXPECT_EQ(buffered.in_avail(), 7u);
      asio::async_read(buffered, asio::buffer(rest), others.handler());
      EXPECT_EQ(co_await others.end(), std::error_code());
    });
    EXPECT_EQ(first + std::string(rest, 7), "buffered");
  });
}

TEST_P(Composed, OneDirectionIsReadWhileTheOtherIsWritten) {
  connected([](peers& p) -> asio::awaitable<void> {
    const std::string text = pattern_text(0, 4 * test_ring);
    std::string back(text.size(), '\0'), echo(text.size(), '\0');
    auto write = p.client.write(asio::buffer(text));
    auto read = p.client.read(asio::buffer(back));
    for (std::size_t n = 0; n < text.size();) {
      auto some = p.server.read_some(asio::buffer(echo.data() + n, 9'999));
      const auto error = co_await some.end();
      if (error) throw std::system_error(error);
      auto again = p.server.write(asio::buffer(echo.data() + n, some.bytes()));
      EXPECT_EQ(co_await again.end(), std::error_code());
      n += some.bytes();
    }
    EXPECT_EQ(co_await write.end(), std::error_code());
    EXPECT_EQ(co_await read.end(), std::error_code());
    EXPECT_TRUE(back == text);
  });
}

INSTANTIATE_TEST_SUITE_P(Everywhere, Composed, in_all_places(), name_of_combination);

class ComposedCalls : public conformance_of_calls {
 protected:
  ComposedCalls() { connect(); }
  std::error_code ec;
};

TEST_P(ComposedCalls, ReadUntilKeepsWhatIsBehindTheDelimiter) {
  p.client.with([](auto& s) { asio::write(s, asio::buffer("line\nrest", 9)); });
  p.server.wait_now(asio::socket_base::wait_read);
  std::string in;
  p.server.with(
      [&](auto& s) { EXPECT_EQ(asio::read_until(s, asio::dynamic_buffer(in), '\n'), 5u); });
  EXPECT_EQ(in, "line\nrest");
}

TEST_P(ComposedCalls, AReadEndsWithTheCountOfWhatCameBeforeTheEnd) {
  p.client.with([](auto& s) { asio::write(s, asio::buffer("short", 5)); });
  p.client.close();
  std::string in(10, '\0');
  EXPECT_EQ(p.server.with([&](auto& s) { return asio::read(s, asio::buffer(in), ec); }), 5u);
  EXPECT_EQ(ec, asio::error::eof);
  p.server.with([&](auto& s) {
    EXPECT_EQ(thrown_by([&] { asio::read(s, asio::buffer(in)); }), asio::error::eof);
  });
}

TEST_P(ComposedCalls, ANonBlockingReadTellsWhatItHadBeforeItWouldBlock) {
  p.client.with([](auto& s) { asio::write(s, asio::buffer("some", 4)); });
  p.server.wait_now(asio::socket_base::wait_read);
  p.server.non_blocking(true);
  std::string in(10, '\0');
  EXPECT_EQ(p.server.with([&](auto& s) { return asio::read(s, asio::buffer(in), ec); }), 4u);
  EXPECT_EQ(ec, asio::error::would_block);
}

INSTANTIATE_TEST_SUITE_P(Everywhere, ComposedCalls, in_both_contexts(), name_of_combination);

}  // namespace
}  // namespace smc::test
