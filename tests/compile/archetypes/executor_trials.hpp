#pragma once
// What sockets must do on executors that can do what Asio asks of one, and nothing else.
#include <asio/execution/any_executor.hpp>
#include <asio/strand.hpp>

#include "compile/archetypes/handler.hpp"
#include "compile/archetypes/scene.hpp"

namespace smc::test {

using minimal_strand = asio::strand<minimal_executor>;
/// Less than any_io_executor knows: no tracked work, no allocator, no relationship.
using few_properties =
    asio::execution::any_executor<asio::execution::context_as_t<asio::execution_context&>,
                                  asio::execution::blocking_t::never_t>;

using own_executors = testing::Types<minimal_executor, minimal_strand, few_properties>;

template <typename Executor>
Executor executor_of(asio::io_context& context) {
  if constexpr (std::is_same_v<Executor, minimal_strand>) {
    return minimal_strand(minimal_executor(context));
  } else {
    return Executor(minimal_executor(context));
  }
}

template <typename Scene>
void perform_on_own_executor() {
  Scene s(executor_of<typename Scene::executor_type>);
  const auto perform = [&s]<typename Signature>(auto initiate) {
    record r(s.context);
    initiate(bare_handler<Signature>(r));
    EXPECT_TRUE(s.comes([&r] { return r.called != 0; }));
    EXPECT_EQ(r.called, 1);
    EXPECT_FALSE(r.error) << r.error.message();
  };
  connect_and_accept(s, perform);
  read_and_write(s, perform);
}

template <typename Scene>
void rebind_executor() {
  using stream_type = typename Scene::stream_type;
  using executor = typename Scene::executor_type;
  static_assert(
      std::is_same_v<typename stream_type::template rebind_executor<executor>::other, stream_type>);
  Scene s(executor_of<executor>);
  s.connect();
  EXPECT_EQ(s.client.get_executor(), s.executor);
  using erased = typename stream_type::template rebind_executor<asio::any_io_executor>::other;
  erased client(std::move(s.client));
  client.write_some(asio::buffer("ab", 2));
  char in[2];
  EXPECT_EQ(s.server.read_some(asio::buffer(in)), 2u);
}

}  // namespace smc::test
