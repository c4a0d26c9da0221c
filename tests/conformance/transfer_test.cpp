// Bytes: how many, in which order, from and into which buffers.
#include <numeric>

#include "conformance/fixture.hpp"

namespace smc::test {
namespace {

using Transfer = conformance;

TEST_P(Transfer, AReadTakesWhatIsThereAndNoMore) {
  connected([](peers& p) -> asio::awaitable<void> {
    co_await send(p.client, "some");
    co_await arrived(p.server, 4);
    char in[100];
    auto read = p.server.read_some(asio::buffer(in));
    EXPECT_EQ(co_await read.end(), std::error_code());
    EXPECT_EQ(std::string_view(in, read.bytes()), "some");
  });
}

TEST_P(Transfer, AReadIntoLessThanIsThereLeavesTheRest) {
  connected([](peers& p) -> asio::awaitable<void> {
    co_await send(p.client, "abcdef");
    co_await arrived(p.server, 6);
    char in[4];
    auto read = p.server.read_some(asio::buffer(in));
    EXPECT_EQ(co_await read.end(), std::error_code());
    EXPECT_EQ(read.bytes(), 4u);
    EXPECT_EQ(p.server.available(), 2u);
    EXPECT_EQ(co_await receive(p.server, 2), "ef");
  });
}

TEST_P(Transfer, AReadThatWaitsTakesTheFirstBytesThatCome) {
  connected([](peers& p) -> asio::awaitable<void> {
    char in[8];
    auto read = p.server.read_some(asio::buffer(in));
    co_await turns();
    EXPECT_FALSE(read.done());
    co_await send(p.client, "x");
    EXPECT_EQ(co_await read.end(), std::error_code());
    EXPECT_EQ(read.bytes(), 1u);
    EXPECT_EQ(in[0], 'x');
  });
}

TEST_P(Transfer, EmptyBuffersCompleteAtOnceWithNothing) {
  connected([](peers& p) -> asio::awaitable<void> {
    auto read = p.server.read_some(asio::mutable_buffer());
    auto write = p.server.write_some(asio::const_buffer());
    EXPECT_EQ(co_await read.end(), std::error_code());
    EXPECT_EQ(co_await write.end(), std::error_code());
    EXPECT_EQ(read.bytes() + write.bytes(), 0u);
  });
}

TEST_P(Transfer, EmptySequencesCompleteAtOnceWithNothing) {
  connected([](peers& p) -> asio::awaitable<void> {
    auto read = p.server.read_some(mutable_list{});
    auto write = p.server.write_some(const_list{});
    auto reads = p.server.read_some(mutable_list(3));
    auto writes = p.server.write_some(const_list(3));
    auto whole = p.server.write(const_list{});
    for (operation* each : {&read, &write, &reads, &writes, &whole}) {
      EXPECT_EQ(co_await each->end(), std::error_code());
      EXPECT_EQ(each->bytes(), 0u);
    }
  });
}

TEST_P(Transfer, AnEmptyReadLeavesWhatIsThere) {
  connected([](peers& p) -> asio::awaitable<void> {
    co_await send(p.client, "kept");
    co_await arrived(p.server, 4);
    auto read = p.server.read_some(asio::mutable_buffer());
    EXPECT_EQ(co_await read.end(), std::error_code());
    EXPECT_EQ(co_await receive(p.server, 4), "kept");
  });
}

TEST_P(Transfer, AnEmptyReadAtTheEndOfStreamIsNoEndOfStream) {
  connected([](peers& p) -> asio::awaitable<void> {
    p.client.shutdown(asio::socket_base::shutdown_send);
    EXPECT_EQ(co_await read_end(p.server), asio::error::eof);
    auto read = p.server.read_some(asio::mutable_buffer());
    EXPECT_EQ(co_await read.end(), std::error_code());
  });
}

TEST_P(Transfer, EmptyBuffersWithinASequenceAreSkipped) {
  connected([](peers& p) -> asio::awaitable<void> {
    const asio::const_buffer none;
    auto write = p.client.write_some(
        const_list{none, asio::buffer("ab", 2), none, none, asio::buffer("c", 1), none});
    EXPECT_EQ(co_await write.end(), std::error_code());
    EXPECT_EQ(write.bytes(), 3u);
    char first, rest[2];
    auto read = p.server.read(mutable_list{asio::mutable_buffer(), asio::buffer(&first, 1),
                                           asio::mutable_buffer(), asio::buffer(rest)});
    EXPECT_EQ(co_await read.end(), std::error_code());
    EXPECT_EQ(std::string(1, first) + std::string(rest, 2), "abc");
  });
}

TEST_P(Transfer, ManyEmptyBuffersDoNotHideTheOneBehindThem) {
  connected([](peers& p) -> asio::awaitable<void> {
    const_list out(15);
    out.push_back(asio::buffer("hidden", 6));
    auto write = p.client.write_some(out);
    EXPECT_EQ(co_await write.end(), std::error_code());
    EXPECT_EQ(write.bytes(), 6u);
    std::string in(6, '\0');
    mutable_list into(15);
    into.push_back(asio::buffer(in));
    co_await arrived(p.server, 6);
    auto read = p.server.read_some(into);
    EXPECT_EQ(co_await read.end(), std::error_code());
    EXPECT_EQ(read.bytes(), 6u);
    EXPECT_EQ(in, "hidden");
  });
}

TEST_P(Transfer, SequencesOfOneToSeventyPiecesArriveInOrder) {
  connected([](peers& p) -> asio::awaitable<void> {
    for (const std::size_t pieces : {1u, 2u, 3u, 15u, 16u, 17u, 33u, 63u, 64u, 65u, 70u}) {
      const std::string text = pattern_text(pieces, pieces * 11);
      const_list out;
      for (std::size_t i = 0; i < pieces; ++i)
        out.push_back(asio::buffer(text.data() + i * 11, 11));
      std::string in(text.size(), '\0');
      mutable_list into;
      for (std::size_t i = 0; i < pieces * 11; i += 7) {
        into.push_back(asio::buffer(in.data() + i, std::min<std::size_t>(7, in.size() - i)));
      }
      auto write = p.client.write(out);
      auto read = p.server.read(into);
      EXPECT_EQ(co_await write.end(), std::error_code());
      EXPECT_EQ(co_await read.end(), std::error_code());
      EXPECT_EQ(write.bytes(), text.size());
      EXPECT_TRUE(in == text) << pieces;
    }
  });
}

TEST_P(Transfer, OneWriteOfManyPiecesTakesAtLeastSixteenOfThem) {
  connected([](peers& p) -> asio::awaitable<void> {
    const std::string text = pattern_text(0, 70);
    const_list out;
    for (const char& each : text) out.push_back(asio::buffer(&each, 1));
    auto write = p.client.write_some(out);
    EXPECT_EQ(co_await write.end(), std::error_code());
    EXPECT_GE(write.bytes(), 16u);
    EXPECT_EQ(co_await receive(p.server, write.bytes()), text.substr(0, write.bytes()));
  });
}

TEST_P(Transfer, SizesAroundTheRingsArriveWhole) {
  connected([](peers& p) -> asio::awaitable<void> {
    std::size_t at = 0;
    for (const std::size_t size :
         {std::size_t{1}, test_ring / 2, test_ring - 1, test_ring, test_ring + 1, 2 * test_ring - 1,
          2 * test_ring, 2 * test_ring + 1, 3 * test_ring + 77}) {
      const std::string text = pattern_text(at, size);
      std::string in(size, '\0');
      auto read = p.server.read(asio::buffer(in), transfer_whole());
      auto write = p.client.write(asio::buffer(text), transfer_whole());
      EXPECT_EQ(co_await write.end(), std::error_code());
      EXPECT_EQ(co_await read.end(), std::error_code());
      EXPECT_EQ(write.bytes(), size);
      EXPECT_TRUE(in == text) << size;
      at += size;
    }
    EXPECT_EQ(p.server.available(), 0u);
  });
}

TEST_P(Transfer, ARingFullIsWrittenAndReadWithoutWaiting) {
  connected([](peers& p) -> asio::awaitable<void> {
    const std::string text = pattern_text(3, test_ring);
    auto write = p.client.write(asio::buffer(text));
    EXPECT_EQ(co_await write.end(), std::error_code());
    co_await arrived(p.server, test_ring);
    EXPECT_EQ(p.server.available(), test_ring);
    EXPECT_TRUE(co_await receive(p.server, test_ring) == text);
  });
}

TEST_P(Transfer, SixMebibytesArriveAtASlowReader) {
  connected([](peers& p) -> asio::awaitable<void> {
    constexpr std::size_t size = std::size_t{6} << 20;
    const std::string text = pattern_text(0, size);
    auto write = p.client.write(asio::buffer(text), transfer_whole());
    std::string in(size, '\0');
    for (std::size_t got = 0; got < size;) {
      auto read = p.server.read_some(
          asio::buffer(in.data() + got, std::min<std::size_t>(50'021, size - got)));
      const auto error = co_await read.end();
      if (error) throw std::system_error(error);
      got += read.bytes();
      co_await turns(1);
    }
    EXPECT_EQ(co_await write.end(), std::error_code());
    EXPECT_EQ(write.bytes(), size);
    EXPECT_TRUE(in == text);
  });
}

TEST_P(Transfer, BothDirectionsCarryMoreThanBothRingsTogether) {
  connected([](peers& p) -> asio::awaitable<void> {
    const std::string there = pattern_text(0, 5 * test_ring),
                      back = pattern_text(99, 5 * test_ring);
    std::string at_server(there.size(), '\0'), at_client(back.size(), '\0');
    auto w1 = p.client.write(asio::buffer(there)), w2 = p.server.write(asio::buffer(back));
    auto r1 = p.server.read(asio::buffer(at_server)), r2 = p.client.read(asio::buffer(at_client));
    for (operation* each : {&w1, &w2, &r1, &r2}) EXPECT_EQ(co_await each->end(), std::error_code());
    EXPECT_TRUE(at_server == there);
    EXPECT_TRUE(at_client == back);
  });
}

TEST_P(Transfer, ADirectionThatIsFullDoesNotHoldTheOtherUp) {
  connected([](peers& p) -> asio::awaitable<void> {
    const std::size_t filled = co_await fill(p.client);
    for (int i = 0; i < 10; ++i) {
      co_await send(p.server, pattern_text(0, 5000));
      EXPECT_TRUE(co_await receive(p.client, 5000) == pattern_text(0, 5000));
    }
    EXPECT_EQ(co_await receive(p.server, filled), std::string(filled, 'f'));
  });
}

TEST_P(Transfer, AnEchoOfManySizesComesBackAsItWent) {
  connected([](peers& p) -> asio::awaitable<void> {
    for (std::size_t i = 0; i < 60; ++i) {
      const std::string text = pattern_text(i, 1 + i * i * 7);
      co_await send(p.client, text);
      co_await send(p.server, co_await receive(p.server, text.size()));
      EXPECT_TRUE(co_await receive(p.client, text.size()) == text) << i;
    }
  });
}

TEST_P(Transfer, QueuedReadsCompleteInOrder) {
  connected([](peers& p) -> asio::awaitable<void> {
    char in[8] = {};
    std::vector<operation> reads;
    for (char& each : in) reads.push_back(p.server.read_some(asio::buffer(&each, 1)));
    co_await send(p.client, "abcdefgh");
    for (auto& each : reads) {
      EXPECT_EQ(co_await each.end(), std::error_code());
      EXPECT_EQ(each.bytes(), 1u);
    }
    EXPECT_EQ(std::string(in, 8), "abcdefgh");
  });
}

TEST_P(Transfer, AQueuedReadWaitsForTheOneBeforeIt) {
  connected([](peers& p) -> asio::awaitable<void> {
    char in[2] = {};
    auto first = p.server.read_some(asio::buffer(&in[0], 1));
    auto second = p.server.read_some(asio::buffer(&in[1], 1));
    co_await send(p.client, "1");
    EXPECT_EQ(co_await first.end(), std::error_code());
    co_await turns();
    EXPECT_FALSE(second.done());
    co_await send(p.client, "2");
    EXPECT_EQ(co_await second.end(), std::error_code());
    EXPECT_EQ(std::string(in, 2), "12");
  });
}

TEST_P(Transfer, QueuedWritesKeepTheirOrder) {
  connected([](peers& p) -> asio::awaitable<void> {
    std::vector<std::string> texts;
    for (int i = 0; i < 16; ++i) texts.emplace_back(20'000, static_cast<char>('a' + i));
    std::vector<operation> writes;
    for (const auto& each : texts) writes.push_back(p.client.write_some(asio::buffer(each)));
    std::string got(20'000 * 16, '\0');
    std::size_t n = 0;
    const auto all_written = [&] {
      return std::all_of(writes.begin(), writes.end(), [](const operation& o) { return o.done(); });
    };
    while (!all_written() || p.server.available() != 0) {
      co_await until([&] { return p.server.available() != 0 || all_written(); });
      if (p.server.available() == 0) continue;
      auto read = p.server.read_some(asio::buffer(got.data() + n, got.size() - n));
      EXPECT_EQ(co_await read.end(), std::error_code());
      n += read.bytes();
    }
    std::string wanted;
    for (std::size_t i = 0; i < 16; ++i) {
      EXPECT_EQ(writes[i].error(), std::error_code());
      wanted += texts[i].substr(0, writes[i].bytes());
    }
    got.resize(n);
    if (got.size() < wanted.size()) got += co_await receive(p.server, wanted.size() - got.size());
    EXPECT_TRUE(got == wanted) << got.size() << " of " << wanted.size();
  });
}

TEST_P(Transfer, ConditionsEndComposedOperationsEarly) {
  connected([](peers& p) -> asio::awaitable<void> {
    const std::string text = pattern_text(0, 100);
    auto write = p.client.write({asio::buffer(text)}, asio::transfer_exactly(40));
    EXPECT_EQ(co_await write.end(), std::error_code());
    EXPECT_EQ(write.bytes(), 40u);
    std::string in(100, '\0');
    auto exactly = p.server.read({asio::buffer(in)}, asio::transfer_exactly(10));
    EXPECT_EQ(co_await exactly.end(), std::error_code());
    EXPECT_EQ(exactly.bytes(), 10u);
    co_await arrived(p.server, 30);
    auto at_least = p.server.read({asio::buffer(in)}, asio::transfer_at_least(1));
    EXPECT_EQ(co_await at_least.end(), std::error_code());
    EXPECT_EQ(at_least.bytes(), 30u);
    EXPECT_EQ(in.substr(0, 30), text.substr(10, 30));
  });
}

TEST_P(Transfer, TransferWholePassesMoreThanAsiosPieces) {
  connected([](peers& p) -> asio::awaitable<void> {
    const std::string text = pattern_text(0, 10 * test_ring);
    std::string in(text.size(), '\0');
    auto read = p.server.read({asio::buffer(in)}, transfer_whole());
    auto write = p.client.write({asio::buffer(text)}, transfer_whole());
    EXPECT_EQ(co_await write.end(), std::error_code());
    EXPECT_EQ(co_await read.end(), std::error_code());
    EXPECT_EQ(write.bytes(), text.size());
    EXPECT_TRUE(in == text);
  });
}

TEST_P(Transfer, ReadUntilStopsBehindTheDelimiterAndKeepsTheRest) {
  connected([](peers& p) -> asio::awaitable<void> {
    std::string in;
    auto line = p.server.read_until(in, "\r\n");
    co_await send(p.client, "first\r");
    co_await turns();
    EXPECT_FALSE(line.done());
    co_await send(p.client, "\nsecond\r\n");
    EXPECT_EQ(co_await line.end(), std::error_code());
    EXPECT_EQ(in.substr(0, line.bytes()), "first\r\n");
    in.erase(0, line.bytes());
    auto next = p.server.read_until(in, "\r\n");
    EXPECT_EQ(co_await next.end(), std::error_code());
    EXPECT_EQ(in.substr(0, next.bytes()), "second\r\n");
  });
}

TEST_P(Transfer, ReadUntilWithoutTheDelimiterEndsAtTheEndOfStream) {
  connected([](peers& p) -> asio::awaitable<void> {
    std::string in;
    auto line = p.server.read_until(in, "\n");
    co_await send(p.client, "no newline");
    p.client.close();
    EXPECT_EQ(co_await line.end(), asio::error::eof);
    EXPECT_EQ(in, "no newline");
  });
}

TEST_P(Transfer, AvailableSaysHowMuchCanBeReadNow) {
  connected([](peers& p) -> asio::awaitable<void> {
    EXPECT_EQ(p.server.available(), 0u);
    co_await send(p.client, std::string(777, 'a'));
    co_await arrived(p.server, 777);
    EXPECT_EQ(p.server.available(), 777u);
    (void)co_await receive(p.server, 700);
    EXPECT_EQ(p.server.available(), 77u);
    EXPECT_EQ(p.client.available(), 0u);
  });
}

INSTANTIATE_TEST_SUITE_P(Everywhere, Transfer, in_all_styles(), name_of_combination);

}  // namespace
}  // namespace smc::test
