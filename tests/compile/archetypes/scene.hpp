#pragma once
// Where archetypes are tried: an acceptor and two sockets, of Asio as the reference or the
// library's, and each asynchronous operation that they have.
#include <gtest/gtest.h>

#include <asio/connect.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <chrono>
#include <cstddef>
#include <smc/smc.hpp>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace smc::test {

template <typename Stream, typename Acceptor>
struct scene {
  using stream_type = Stream;
  using executor_type = typename Stream::executor_type;
  static constexpr bool reference =
      std::is_base_of_v<asio::basic_socket<asio::ip::tcp, executor_type>, Stream>;

  scene() : scene([](asio::io_context& c) { return executor_type(c.get_executor()); }) {}
  template <typename MakeExecutor>
  explicit scene(MakeExecutor make)
      : executor(make(context)),
        acceptor(executor, asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), 0)),
        client(executor),
        server(executor) {}

  asio::ip::tcp::endpoint endpoint() const { return acceptor.local_endpoint(); }
  void connect() {
    client = Stream(executor);
    server = Stream(executor);
    client.connect(endpoint());
    acceptor.accept(server);
  }
  void send(std::string_view bytes) {
    EXPECT_EQ(server.write_some(asio::buffer(bytes)), bytes.size());
  }
  /// Runs until `done()`, and what is ready then.
  template <typename Done>
  bool comes(Done done) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!done() && std::chrono::steady_clock::now() < limit) {
      context.run_one_for(std::chrono::milliseconds(100));
    }
    context.poll();
    return done();
  }

  asio::io_context context;
  // Executors of own make need not count work.
  const asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
  executor_type executor;
  Acceptor acceptor;
  Stream client, server;
};

using own_scene = scene<stream, acceptor>;
using reference_scene = scene<asio::ip::tcp::socket, asio::ip::tcp::acceptor>;
template <typename Executor>
using own_scene_on = scene<basic_stream<Executor>, basic_acceptor<Executor>>;
template <typename Executor>
using reference_scene_on = scene<asio::basic_stream_socket<asio::ip::tcp, Executor>,
                                 asio::basic_socket_acceptor<asio::ip::tcp, Executor>>;

/// The library's, and Asio's as the proof that what is asked of them is fair.
#ifdef SMC_TEST_WITHOUT_REFERENCE
using scenes_to_try = testing::Types<own_scene>;
#else
using scenes_to_try = testing::Types<own_scene, reference_scene>;
#endif

using only_error = void(std::error_code);
using error_and_bytes = void(std::error_code, std::size_t);
using error_and_endpoint = void(std::error_code, asio::ip::tcp::endpoint);
template <typename Scene>
using error_and_stream = void(std::error_code, typename Scene::stream_type);

// `perform.operator()<Signature>(initiate)` is to start and end an operation: `initiate(token)`.

template <typename Scene, typename Perform>
void connect_and_accept(Scene& s, Perform perform) {
  using Stream = typename Scene::stream_type;
  s.client = Stream(s.executor);
  perform.template operator()<only_error>([&](auto&& token) {
    return s.client.async_connect(s.endpoint(), std::forward<decltype(token)>(token));
  });
  s.server = Stream(s.executor);
  perform.template operator()<only_error>([&](auto&& token) {
    return s.acceptor.async_accept(s.server, std::forward<decltype(token)>(token));
  });
  const std::vector<asio::ip::tcp::endpoint> endpoints{s.endpoint()};
  s.client = Stream(s.executor);
  perform.template operator()<error_and_endpoint>([&](auto&& token) {
    return async_connect(s.client, endpoints, std::forward<decltype(token)>(token));
  });
  perform.template operator()<only_error>([&](auto&& token) {
    return s.acceptor.async_wait(Stream::wait_read, std::forward<decltype(token)>(token));
  });
  perform.template operator()<error_and_stream<Scene>>(
      [&](auto&& token) { return s.acceptor.async_accept(std::forward<decltype(token)>(token)); });
}

template <typename Scene, typename Perform>
void accept_otherwise(Scene& s, Perform perform) {
  using Stream = typename Scene::stream_type;
  asio::ip::tcp::endpoint peer;
  const auto connect = [&s] {
    s.client = Stream(s.executor);
    s.client.connect(s.endpoint());
  };
  connect();
  s.server = Stream(s.executor);
  perform.template operator()<only_error>([&](auto&& token) {
    return s.acceptor.async_accept(s.server, peer, std::forward<decltype(token)>(token));
  });
  EXPECT_EQ(peer, s.client.local_endpoint());
  connect();
  perform.template operator()<error_and_stream<Scene>>([&](auto&& token) {
    return s.acceptor.async_accept(peer, std::forward<decltype(token)>(token));
  });
  EXPECT_EQ(peer, s.client.local_endpoint());
  connect();
  perform.template operator()<error_and_stream<Scene>>([&](auto&& token) {
    return s.acceptor.async_accept(s.executor, std::forward<decltype(token)>(token));
  });
  connect();
  perform.template operator()<error_and_stream<Scene>>([&](auto&& token) {
    return s.acceptor.async_accept(s.executor, peer, std::forward<decltype(token)>(token));
  });
  EXPECT_EQ(peer, s.client.local_endpoint());
}

template <typename Scene, typename Perform>
void read_and_write(Scene& s, Perform perform) {
  s.connect();
  char in[2];
  s.send("ab");
  perform.template operator()<error_and_bytes>([&](auto&& token) {
    return s.client.async_read_some(asio::buffer(in), std::forward<decltype(token)>(token));
  });
  EXPECT_EQ(std::string_view(in, 2), "ab");
  perform.template operator()<error_and_bytes>([&](auto&& token) {
    return s.client.async_write_some(asio::buffer(in), std::forward<decltype(token)>(token));
  });
  perform.template operator()<only_error>([&](auto&& token) {
    return s.server.async_wait(asio::socket_base::wait_read, std::forward<decltype(token)>(token));
  });
  EXPECT_EQ(s.server.available(), 2u);
}

template <typename Scene, typename Perform>
void receive_and_send(Scene& s, Perform perform) {
  s.connect();
  char in[2] = {};
  s.send("abcd");
  perform.template operator()<error_and_bytes>([&](auto&& token) {
    return s.client.async_receive(asio::buffer(in), std::forward<decltype(token)>(token));
  });
  EXPECT_EQ(std::string_view(in, 2), "ab");
  for (const int flags : {int{asio::socket_base::message_peek}, 0}) {
    in[0] = ' ';
    perform.template operator()<error_and_bytes>([&](auto&& token) {
      return s.client.async_receive(asio::buffer(in), flags, std::forward<decltype(token)>(token));
    });
    EXPECT_EQ(std::string_view(in, 2), "cd");
  }
  EXPECT_EQ(s.client.available(), 0u);
  perform.template operator()<error_and_bytes>([&](auto&& token) {
    return s.client.async_send(asio::buffer(in), std::forward<decltype(token)>(token));
  });
  perform.template operator()<error_and_bytes>([&](auto&& token) {
    return s.client.async_send(asio::buffer(in), 0, std::forward<decltype(token)>(token));
  });
  EXPECT_EQ(s.server.available(), 4u);
}

/// What Asio's sockets have not.
template <typename Scene, typename Perform>
void transfer_without_copy(Scene& s, Perform perform) {
  if constexpr (!Scene::reference) {
    s.connect();
    s.send("ab");
    perform.template operator()<void(std::error_code, asio::const_buffer)>(
        [&](auto&& token) { return s.client.async_data(2, std::forward<decltype(token)>(token)); });
    perform.template operator()<void(std::error_code, asio::mutable_buffer)>([&](auto&& token) {
      return s.client.async_prepare(1, std::forward<decltype(token)>(token));
    });
  }
}

template <typename Scene, typename Perform>
void every_operation(Scene& s, Perform perform) {
  connect_and_accept(s, perform);
  accept_otherwise(s, perform);
  read_and_write(s, perform);
  receive_and_send(s, perform);
  transfer_without_copy(s, perform);
}

}  // namespace smc::test
