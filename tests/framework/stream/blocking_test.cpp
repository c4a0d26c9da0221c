// Blocking calls from inside a handler: they take in what peers say, but run nobody's handlers.
#include "setting.hpp"

namespace smc::test {
namespace {

using StreamBlocking = each_setting;

TEST_P(StreamBlocking, ReadsOfOtherStreamsDoNotCompleteInsideABlockingConnect) {
  connected([this](pair& p) -> asio::awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    outcome read;
    char in[4];
    p.server.async_read_some(asio::buffer(in), store(read));
    co_await turns();
    stream another(executor, settings());
    (void)p.client.write_some(asio::buffer("x", 1));
    another.connect(p.listener.local_endpoint());
    stream accepted(executor, settings());
    p.listener.accept(accepted);
    EXPECT_FALSE(read.called) << "inside a blocking call";
    co_await until([&read] { return read.called; });
    EXPECT_EQ(read.bytes, 1u);
  });
}

TEST_P(StreamBlocking, AConnectDoesNotCompleteInsideABlockingAcceptOrRead) {
  connected([this](pair& p) -> asio::awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    outcome made;
    stream another(executor, settings()), accepted(executor, settings());
    another.async_connect(p.listener.local_endpoint(), store(made));
    p.listener.accept(accepted);
    EXPECT_FALSE(made.called) << "inside accept()";
    (void)p.client.write_some(asio::buffer("x", 1));
    char in[4];
    EXPECT_EQ(p.server.read_some(asio::buffer(in)), 1u);
    EXPECT_FALSE(made.called) << "inside read_some()";
    co_await until([&made] { return made.called; });
    EXPECT_FALSE(made.error);
    EXPECT_EQ(another.transport(), p.kind);
    EXPECT_EQ(accepted.transport(), p.kind);
  });
}

INSTANTIATE_TEST_SUITE_P(Everywhere, StreamBlocking, all_settings(), name_of_setting);

}  // namespace
}  // namespace smc::test
