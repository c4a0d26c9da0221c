// Two loops that one thread runs by turns, and streams between them.
#include <asio/detached.hpp>

#include "setting.hpp"

namespace smc::test {
namespace {

class TwoLoops : public testing::TestWithParam<carrier> {
 protected:
  void by_turns(const std::function<bool()>& until_done) {
    for (int round = 0; round < 1'000'000 && !until_done(); ++round) {
      for (event_loop* each : {&here, &there}) {
        if (each->stopped()) each->restart();
        each->poll();
      }
    }
    EXPECT_TRUE(until_done());
  }

  event_loop here, there;
};

TEST_P(TwoLoops, OfOneThreadTalkToEachOther) {
  acceptor listener(there, any_port(), settings_for(GetParam()));
  stream client(here, settings_for(GetParam())), server(there, settings_for(GetParam()));
  outcome accepted, connected, written, read;
  listener.async_accept(server, store(accepted));
  client.async_connect(listener.local_endpoint(), store(connected));
  by_turns([&] { return accepted.called && connected.called; });
  EXPECT_EQ(client.transport(), expected(GetParam())) << client.fallback_reason().message();
  EXPECT_EQ(server.transport(), expected(GetParam())) << server.fallback_reason().message();
  const std::string text = pattern_text(0, 3 * test_ring);  // neither can do without the other
  std::string got(text.size(), '\0');
  asio::async_write(client, asio::buffer(text), store(written));
  asio::async_read(server, asio::buffer(got), store(read));
  by_turns([&] { return written.called && read.called; });
  EXPECT_EQ(read.bytes, text.size());
  EXPECT_EQ(got, text);
  outcome at_end;
  char byte = 0;
  client.close();
  server.async_read_some(asio::buffer(&byte, 1), store(at_end));
  by_turns([&] { return at_end.called; });
  EXPECT_EQ(at_end.error, asio::error::eof);
}

TEST_P(TwoLoops, OneRunsInsideAHandlerOfTheOther) {
  bool inner_done = false;
  asio::post(here, [&] {
    pair streams(there.get_executor(), GetParam());
    asio::co_spawn(
        there.get_executor(),
        [&]() -> asio::awaitable<void> {
          co_await streams.connect();
          co_await asio::async_write(streams.client, asio::buffer("word", 4), asio::use_awaitable);
          EXPECT_EQ(co_await read_text(streams.server, 4), "word");
          inner_done = true;
        },
        asio::detached);
    there.run();
  });
  here.run();
  EXPECT_TRUE(inner_done);
}

TEST_P(TwoLoops, BlockingCallsInsideAHandlerUseTheOthersStream) {
  acceptor listener(there, any_port(), settings_for(GetParam()));
  stream client(here, settings_for(GetParam()));
  outcome connected;
  client.async_connect(listener.local_endpoint(), store(connected));
  here.run();
  ASSERT_TRUE(connected.called);
  bool done = false;
  asio::post(there, [&] {
    stream server = listener.accept();
    asio::write(server, asio::buffer("word", 4));
    char text[4];
    asio::read(client, asio::buffer(text));
    EXPECT_EQ(std::string_view(text, 4), "word");
    done = true;
  });
  there.run();
  EXPECT_TRUE(done);
}

INSTANTIATE_TEST_SUITE_P(Everywhere, TwoLoops, all_carriers(), name_of_carrier);

}  // namespace
}  // namespace smc::test
