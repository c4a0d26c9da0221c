// What a cancelled transfer says it has moved is what it has moved (chriskohlhoff/asio #1263,
// astrid-runtime/astrid #1146, dotnet/runtime #75225).
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>

#include "setting.hpp"

namespace smc::test {
namespace {

using asio::use_awaitable;

constexpr std::size_t payload = std::size_t{1} << 20;

/// Writes a payload in as many turns as the cancellations make of it; the reader takes 4 KiB at a
/// time, in whose course the write is cancelled now and then.
asio::awaitable<void> write_with_interruptions(pair& p, const std::string& text,
                                               std::minstd_rand& random, int& interrupted) {
  std::string got(payload, '\0');
  std::size_t sent = 0, read = 0;
  outcome write;
  asio::cancellation_signal signal;
  const auto go_on = [&] {
    write = {};
    asio::async_write(p.client, asio::buffer(text.data() + sent, payload - sent),
                      asio::bind_cancellation_slot(signal.slot(), store(write)));
  };
  go_on();
  while (read < payload) {
    if (random() % 6 == 0) {
      signal.emit(asio::cancellation_type::partial);
      co_await until([&write] { return write.called; });
    }
    if (write.called && sent < payload) {
      sent += write.bytes;
      if (write.error) {
        EXPECT_EQ(write.error, asio::error::operation_aborted);
        ++interrupted;
        go_on();
      } else {
        EXPECT_EQ(sent, payload);
      }
    }
    if (p.server.available() == 0 && !write.called) {
      co_await until([&] { return write.called || p.server.available() != 0; });
      continue;
    }
    if (p.server.available() == 0 && sent < payload) continue;
    const std::size_t most = std::min<std::size_t>(4096, payload - read);
    read += co_await p.server.async_read_some(asio::buffer(got.data() + read, most), use_awaitable);
    EXPECT_LE(read, sent + payload);
  }
  co_await until([&write] { return write.called; });
  if (sent < payload) sent += write.bytes;
  EXPECT_EQ(sent, payload);
  EXPECT_TRUE(got == text) << "the stream is broken";
  EXPECT_EQ(p.server.available(), 0u);
}

TEST_P(Field, ACancelledWriteGoesOnFromItsCount) {
  connected([](pair& p) -> asio::awaitable<void> {
    keep_little(p);
    const std::string text = random_text(payload, 2);
    std::minstd_rand random(3);
    int interrupted = 0;
    for (std::size_t round = 0; round < repeated(200) && !testing::Test::HasFailure(); ++round) {
      co_await write_with_interruptions(p, text, random, interrupted);
    }
    EXPECT_GT(interrupted, 0);
  });
}

// What was not counted must not be there, however long one waits.
TEST_P(Field, BytesThatACancelledWriteDoesNotCountNeverArrive) {
  connected([](pair& p) -> asio::awaitable<void> {
    keep_little(p);
    const std::string text = random_text(16 * payload, 4);
    for (const auto type : {asio::cancellation_type::partial, asio::cancellation_type::terminal}) {
      asio::cancellation_signal signal;
      outcome write;
      asio::async_write(p.client, asio::buffer(text), transfer_whole(),
                        asio::bind_cancellation_slot(signal.slot(), store(write)));
      co_await turns();
      EXPECT_FALSE(write.called);
      signal.emit(type);
      co_await until([&write] { return write.called; });
      EXPECT_EQ(write.error, asio::error::operation_aborted);
      EXPECT_GT(write.bytes, 0u);
      EXPECT_TRUE(text.compare(0, write.bytes, co_await read_text(p.server, write.bytes)) == 0);
      co_await turns();
      EXPECT_EQ(p.server.available(), 0u);
    }
  });
}

TEST_P(Field, ACancelledReadOfAHeaderSaysHowMuchOfItCame) {
  connected([](pair& p) -> asio::awaitable<void> {
    for (const auto type : {asio::cancellation_type::partial, asio::cancellation_type::terminal}) {
      for (std::size_t come = 1; come < 4; ++come) {
        asio::cancellation_signal signal;
        outcome read;
        char header[4] = {};
        asio::async_read(p.server, asio::buffer(header),
                         asio::bind_cancellation_slot(signal.slot(), store(read)));
        co_await asio::async_write(p.client, asio::buffer("HEAD", come), use_awaitable);
        co_await until([&] { return header[come - 1] != '\0'; });
        co_await turns();
        EXPECT_FALSE(read.called);
        signal.emit(type);
        co_await until([&read] { return read.called; });
        EXPECT_EQ(read.error, asio::error::operation_aborted);
        EXPECT_EQ(read.bytes, come);
        EXPECT_EQ(std::string(header, come), std::string("HEAD").substr(0, come));
        co_await asio::async_write(p.client, asio::buffer(&"HEADhello"[come], 9 - come),
                                   use_awaitable);
        EXPECT_EQ(co_await read_text(p.server, 9 - come), std::string("HEADhello").substr(come));
      }
    }
  });
}

// Composed reads answer total with what Asio's own answer: they go on.
TEST_P(Field, AComposedReadDoesNotHearATotalCancellationAsAsioHasIt) {
  connected([](pair& p) -> asio::awaitable<void> {
    asio::cancellation_signal signal;
    outcome read;
    char header[4] = {};
    asio::async_read(p.server, asio::buffer(header),
                     asio::bind_cancellation_slot(signal.slot(), store(read)));
    co_await asio::async_write(p.client, asio::buffer("HE", 2), use_awaitable);
    co_await until([&] { return header[1] != '\0'; });
    signal.emit(asio::cancellation_type::total);
    co_await turns();
    EXPECT_FALSE(read.called);
    co_await asio::async_write(p.client, asio::buffer("AD", 2), use_awaitable);
    co_await until([&read] { return read.called; });
    EXPECT_FALSE(read.error);
    EXPECT_EQ(read.bytes, 4u);
  });
}

TEST_P(Field, DataAndCancellationAtTheSameMomentLoseNothing) {
  connected([](pair& p) -> asio::awaitable<void> {
    std::minstd_rand random(5);
    std::string got;
    std::size_t sent = 0, cancelled = 0;
    for (std::size_t round = 0; round < repeated(10'000); ++round) {
      asio::cancellation_signal signal;
      outcome read;
      char in[16];
      p.server.async_read_some(asio::buffer(in),
                               asio::bind_cancellation_slot(signal.slot(), store(read)));
      const auto write = [&] {
        const std::string text = pattern_text(sent, 1 + random() % 3);
        sent += p.client.write_some(asio::buffer(text));
      };
      const auto first = random();
      if (first % 2 != 0) write();
      if (first % 3 != 0) co_await turns(static_cast<int>(first / 8 % 3));
      signal.emit(asio::cancellation_type::total);
      if (first % 2 == 0) write();
      co_await until([&read] { return read.called; });
      if (read.error) {
        EXPECT_EQ(read.error, asio::error::operation_aborted);
        EXPECT_EQ(read.bytes, 0u);
        ++cancelled;
      }
      got.append(in, read.bytes);
    }
    got += co_await read_text(p.server, sent - got.size());
    EXPECT_TRUE(got == pattern_text(0, sent));
    EXPECT_GT(cancelled, 0u);
  });
}

}  // namespace
}  // namespace smc::test
