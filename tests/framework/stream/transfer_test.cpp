// Bytes: how many, in which order, and on whose executor and memory.
#include <asio/bind_executor.hpp>
#include <asio/experimental/awaitable_operators.hpp>
#include <asio/redirect_error.hpp>
#include <atomic>
#include <cstring>

#include "setting.hpp"
#include "support/counting_allocator.hpp"

namespace smc::test {
namespace {

using namespace asio::experimental::awaitable_operators;

using StreamTransfer = each_setting;

constexpr std::size_t megabytes = std::size_t{3} << 20;

asio::awaitable<void> write_pattern(stream& to, std::size_t size) {
  const std::string text = pattern_text(0, size);
  EXPECT_EQ(co_await asio::async_write(to, asio::buffer(text), smc::transfer_whole(),
                                       asio::use_awaitable),
            size);
}

asio::awaitable<void> read_pattern_slowly(stream& from, std::size_t size) {
  std::vector<char> piece(7001);
  std::size_t got = 0;
  while (got < size) {
    const std::size_t n = co_await from.async_read_some(asio::buffer(piece), asio::use_awaitable);
    const std::string expected_text = pattern_text(got, n);
    if (std::memcmp(expected_text.data(), piece.data(), n) != 0) {
      throw std::runtime_error("wrong bytes behind position " + std::to_string(got));
    }
    got += n;
    co_await turns(2);
  }
  EXPECT_EQ(got, size);
}

TEST_P(StreamTransfer, WritesLargerThanTheRingArriveWholeAtASlowReader) {
  connected([](pair& p) -> asio::awaitable<void> {
    co_await (write_pattern(p.client, megabytes) && read_pattern_slowly(p.server, megabytes));
    EXPECT_EQ(p.server.available(), 0u);
  });
}

TEST_P(StreamTransfer, FlagsOtherThanPeekAreNotSupportedAndMoveNothing) {
  connected([](pair& p) -> asio::awaitable<void> {
    const auto flag = asio::socket_base::message_out_of_band;
    const auto refused = std::error_code(asio::error::operation_not_supported);
    char byte = 'x';
    const auto one = asio::buffer(&byte, 1);
    co_await asio::async_write(p.client, one, asio::use_awaitable);
    co_await p.server.async_wait(asio::socket_base::wait_read, asio::use_awaitable);
    std::error_code ec;
    asio::redirect_error_t<asio::use_awaitable_t<>> token(asio::use_awaitable, ec);
    EXPECT_EQ(co_await p.server.async_receive(one, flag, token), 0u);
    EXPECT_EQ(ec, refused);
    EXPECT_EQ(co_await p.client.async_send(one, flag, token), 0u);
    EXPECT_EQ(ec, refused);
    EXPECT_EQ(p.server.receive(one, flag, ec), 0u);
    EXPECT_EQ(ec, refused);
    EXPECT_EQ(p.client.send(one, flag, ec), 0u);
    EXPECT_EQ(ec, refused);
    EXPECT_EQ(p.server.available(), 1u);
  });
}

TEST_P(StreamTransfer, APeekWaitsForBytesLeavesThemAndSeesTheEnd) {
  connected([](pair& p) -> asio::awaitable<void> {
    char in[4] = {};
    const auto peek = asio::socket_base::message_peek;
    std::size_t seen = 0;
    p.server.async_receive(asio::buffer(in), peek, [&seen](std::error_code ec, std::size_t n) {
      EXPECT_FALSE(ec) << ec.message();
      seen = n;
    });
    co_await turns();
    EXPECT_EQ(seen, 0u);
    co_await asio::async_write(p.client, asio::buffer("ab", 2), asio::use_awaitable);
    co_await until([&seen] { return seen != 0; });
    p.client.shutdown(stream::shutdown_send);
    EXPECT_EQ(co_await asio::async_read(p.server, asio::buffer(in, 2), asio::use_awaitable), 2u);
    EXPECT_EQ(std::string(in, 2), "ab");
    std::error_code ec;
    asio::redirect_error_t<asio::use_awaitable_t<>> token(asio::use_awaitable, ec);
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(co_await p.server.async_receive(asio::buffer(in), peek, token), 0u);
      EXPECT_EQ(ec, asio::error::eof);
    }
  });
}

TEST_P(StreamTransfer, QueuedReadsCompleteInOrder) {
  connected([](pair& p) -> asio::awaitable<void> {
    char in[4] = {};
    std::vector<int> order;
    for (int i = 0; i < 4; ++i) {
      p.server.async_read_some(asio::buffer(&in[i], 1),
                               [&order, i](std::error_code ec, std::size_t n) {
                                 EXPECT_FALSE(ec);
                                 EXPECT_EQ(n, 1u);
                                 order.push_back(i);
                               });
    }
    EXPECT_TRUE(order.empty());
    co_await asio::async_write(p.client, asio::buffer("abcd", 4), asio::use_awaitable);
    co_await until([&order] { return order.size() == 4; });
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
    EXPECT_EQ(std::string(in, 4), "abcd");
  });
}

TEST_P(StreamTransfer, QueuedWritesKeepTheirOrder) {
  connected([](pair& p) -> asio::awaitable<void> {
    std::vector<std::string> texts;
    for (int i = 0; i < 16; ++i) texts.emplace_back(20'000, static_cast<char>('a' + i));
    std::vector<std::size_t> counts(16);
    int called = 0;
    for (std::size_t i = 0; i < 16; ++i) {
      p.client.async_write_some(asio::buffer(texts[i]), [&, i](std::error_code ec, std::size_t n) {
        EXPECT_FALSE(ec);
        EXPECT_EQ(static_cast<std::size_t>(called++), i);
        counts[i] = n;
      });
    }
    std::string got;
    std::vector<char> piece(30'000);
    while (called < 16 || p.server.available() != 0) {
      const std::size_t n =
          co_await p.server.async_read_some(asio::buffer(piece), asio::use_awaitable);
      got.append(piece.data(), n);
      co_await turns();
    }
    std::string wanted;
    for (std::size_t i = 0; i < 16; ++i) wanted += texts[i].substr(0, counts[i]);
    EXPECT_EQ(got.size(), wanted.size());
    EXPECT_TRUE(got == wanted);
  });
}

TEST_P(StreamTransfer, EmptyBuffersCompleteAtOnceButNotInside) {
  connected([](pair& p) -> asio::awaitable<void> {
    outcome read, write;
    p.server.async_read_some(asio::mutable_buffer(), store(read));
    p.server.async_write_some(asio::const_buffer(), store(write));
    EXPECT_FALSE(read.called || write.called);
    co_await until([&] { return read.called && write.called; });
    EXPECT_FALSE(read.error || write.error);
    EXPECT_EQ(read.bytes + write.bytes, 0u);
  });
}

TEST_P(StreamTransfer, NonBlockingCallsSayWouldBlock) {
  connected([](pair& p) -> asio::awaitable<void> {
    p.server.non_blocking(true);
    p.client.non_blocking(true);
    std::vector<char> piece(10'000, 'n');
    std::error_code ec;
    EXPECT_EQ(p.server.read_some(asio::buffer(piece), ec), 0u);
    EXPECT_EQ(ec, asio::error::would_block);
    std::size_t written = 0;
    for (ec.clear(); !ec;) written += p.client.write_some(asio::buffer(piece), ec);
    EXPECT_EQ(ec, asio::error::would_block);
    EXPECT_GT(written, 0u);
    std::size_t got = 0;
    while (got < written)
      got += co_await p.server.async_read_some(asio::buffer(piece), asio::use_awaitable);
    EXPECT_EQ(got, written);
    p.server.read_some(asio::buffer(piece), ec);
    EXPECT_EQ(ec, asio::error::would_block);
  });
}

TEST_P(StreamTransfer, PreparedBytesArriveInPlaceWhenCommitted) {
  connected([](pair& p) -> asio::awaitable<void> {
    const asio::mutable_buffer room = co_await p.client.async_prepare(8, asio::use_awaitable);
    EXPECT_GE(room.size(), 8u);
    EXPECT_THROW(p.client.commit(room.size() + 1), std::system_error);
    EXPECT_EQ(p.server.available(), 0u);
    std::memcpy(room.data(), "in place", 8);
    p.client.commit(8);
    const asio::const_buffer bytes = co_await p.server.async_data(8, asio::use_awaitable);
    EXPECT_EQ(std::string_view(static_cast<const char*>(bytes.data()), bytes.size()), "in place");
    EXPECT_THROW(p.server.consume(bytes.size() + 1), std::system_error);
    p.server.consume(3);
    EXPECT_EQ(co_await read_text(p.server, 5), "place");
    EXPECT_EQ(p.server.data().size(), 0u);
    EXPECT_LE(p.client.prepare(5).size(), 5u);
  });
}

TEST_P(StreamTransfer, MoreThanCanBePreparedIsCommittedAsInvalidArgument) {
  connected([](pair& p) -> asio::awaitable<void> {
    const asio::mutable_buffer room = p.client.prepare(100);
    std::error_code ec;
    try {
      p.client.commit(room.size() + 1);
    } catch (const std::system_error& e) {
      ec = e.code();
    }
    EXPECT_EQ(ec, asio::error::invalid_argument);
    co_return;
  });
}

TEST_P(StreamTransfer, RoomOrDataBeyondAnyRingIsNoBufferSpace) {
  connected([](pair& p) -> asio::awaitable<void> {
    std::error_code prepared, received;
    bool called[2] = {};
    p.client.async_prepare(std::size_t{1} << 40, [&](std::error_code ec, asio::mutable_buffer) {
      prepared = ec;
      called[0] = true;
    });
    p.server.async_data(std::size_t{1} << 40, [&](std::error_code ec, asio::const_buffer) {
      received = ec;
      called[1] = true;
    });
    EXPECT_FALSE(called[0] || called[1]);
    co_await until([&called] { return called[0] && called[1]; });
    EXPECT_EQ(prepared, asio::error::no_buffer_space);
    EXPECT_EQ(received, asio::error::no_buffer_space);
  });
}

TEST_P(StreamTransfer, HandlersRunOnTheExecutorTheyAreBoundTo) {
  connected([](pair& p) -> asio::awaitable<void> {
    asio::io_context other;
    outcome read;
    char in[8];
    p.server.async_read_some(asio::buffer(in),
                             asio::bind_executor(other.get_executor(), store(read)));
    co_await asio::async_write(p.client, asio::buffer("x", 1), asio::use_awaitable);
    co_await turns(200);
    EXPECT_FALSE(read.called);
    co_await until([&] {
      other.restart();
      other.run_for(1ms);
      return read.called;
    });
    EXPECT_EQ(read.bytes, 1u);
  });
}

struct allocating_handler {
  using allocator_type = counting_allocator<void*>;
  allocator_type get_allocator() const { return {live, all}; }
  void operator()(std::error_code ec, std::size_t n) const {
    result->bytes = n;
    result->error = ec;
    left_inside->store(live->load());
    result->called = true;
  }
  std::atomic<int>* live;
  std::atomic<int>* all;
  std::atomic<int>* left_inside;
  outcome* result;
};

TEST_P(StreamTransfer, OperationsLiveInTheHandlersMemoryAndLeaveItBeforeTheCall) {
  connected([](pair& p) -> asio::awaitable<void> {
    std::atomic<int> live{0}, all{0};
    std::atomic<int> left_inside{-1};
    outcome read;
    char in[8];
    p.server.async_read_some(asio::buffer(in),
                             allocating_handler{&live, &all, &left_inside, &read});
    EXPECT_GT(all, 0);
    EXPECT_GT(live, 0);
    co_await asio::async_write(p.client, asio::buffer("x", 1), asio::use_awaitable);
    co_await until([&read] { return read.called; });
    EXPECT_EQ(left_inside, 0);
    EXPECT_EQ(read.bytes, 1u);
  });
}

TEST_P(StreamTransfer, StatisticsCountRequestsAndBytesExactly) {
  connected([](pair& p) -> asio::awaitable<void> {
    for (int i = 0; i < 3; ++i) {
      const std::string text(100, 's');
      co_await asio::async_write(p.client, asio::buffer(text), asio::use_awaitable);
      (void)co_await read_text(p.server, 100);
    }
    const auto sent = p.client.statistics().sent;
    const auto received = p.server.statistics().received;
    EXPECT_EQ(sent.requests, 3u);
    EXPECT_EQ(sent.bytes, 300u);
    EXPECT_EQ(received.bytes, 300u);
    EXPECT_EQ(received.requests, 3u);
    const std::size_t ring = p.kind == transport_kind::tcp ? 0 : test_ring;
    EXPECT_EQ(sent.ring_size, ring);
    EXPECT_EQ(received.ring_size, ring);
    EXPECT_EQ(p.client.statistics().received.bytes, 0u);
  });
}

TEST_P(StreamTransfer, StatisticsCountRequestsLargerThanTheRing) {
  connected([](pair& p) -> asio::awaitable<void> {
    std::string text(test_ring + 1, 's');
    for (const std::size_t size : {test_ring, test_ring + 1}) {
      const auto n =
          co_await p.client.async_write_some(asio::buffer(text, size), asio::use_awaitable);
      std::size_t left = n;
      while (left != 0) {
        left -= co_await p.server.async_read_some(asio::buffer(text, size), asio::use_awaitable);
      }
    }
    const bool has_ring = p.client.statistics().sent.ring_size != 0;
    EXPECT_EQ(has_ring, p.kind != transport_kind::tcp);
    EXPECT_EQ(p.client.statistics().sent.buffer_too_small, has_ring ? 1u : 0u);
    EXPECT_EQ(p.server.statistics().received.buffer_too_small > 0, has_ring);
  });
}

INSTANTIATE_TEST_SUITE_P(Everywhere, StreamTransfer, all_settings(), name_of_setting);

}  // namespace
}  // namespace smc::test
