// A program of a user: echoes on one event_loop, and prints how the public types are laid out here.
#include <asio.hpp>
#include <cstdio>
#include <exception>
#include <smc/smc.hpp>
#include <string>
#include <utility>

namespace {

using asio::use_awaitable;

void rethrow(std::exception_ptr e) {
  if (e) std::rethrow_exception(e);
}

/// Compiled and not called: overloads that each compiler must tell apart.
[[maybe_unused]] void accept_in_every_way(smc::acceptor& acceptor, asio::io_context& context) {
  std::error_code error;
  smc::stream peer = acceptor.accept();
  peer = acceptor.accept(error);
  acceptor.accept(peer);
  acceptor.accept(peer, error);
  (void)acceptor.accept(context);
  (void)acceptor.accept(context, error);
  (void)acceptor.accept(context.get_executor());
  (void)acceptor.accept(context.get_executor(), error);
}

asio::awaitable<void> serve(smc::acceptor& acceptor) {
  smc::stream stream = co_await acceptor.async_accept(use_awaitable);
  char bytes[64];
  for (;;) {
    asio::error_code ec;
    const std::size_t n = co_await stream.async_read_some(asio::buffer(bytes),
                                                          asio::redirect_error(use_awaitable, ec));
    if (ec == asio::error::eof) break;
    if (ec) throw asio::system_error(ec);
    co_await asio::async_write(stream, asio::buffer(bytes, n), use_awaitable);
  }
}

asio::awaitable<void> ask(asio::ip::tcp::endpoint server, int& answers) {
  smc::stream stream(co_await asio::this_coro::executor);
  co_await stream.async_connect(server, use_awaitable);
  const std::string question = "how far is it?";
  for (int i = 0; i < 100; ++i) {
    std::string answer(question.size(), ' ');
    co_await asio::async_write(stream, asio::buffer(question), use_awaitable);
    co_await asio::async_read(stream, asio::buffer(answer), use_awaitable);
    if (answer == question) ++answers;
  }
  std::printf("transport %s\n", std::string(stream.transport_name()).c_str());
}

int echo() {
  smc::event_loop loop;
  smc::acceptor acceptor(loop, {asio::ip::address_v4::loopback(), 0});
  int answers = 0;
  asio::co_spawn(loop, serve(acceptor), rethrow);
  asio::co_spawn(loop, ask(acceptor.local_endpoint(), answers), rethrow);
  loop.run();
  return answers == 100 ? 0 : 1;
}

template <typename... T>
void print_layout() {
  std::printf("layout smc %s", smc::library_version());
  (std::printf(" %zu/%zu", sizeof(T), alignof(T)), ...);
  std::printf("\n");
}

}  // namespace

#ifdef ECHO_AS_PLUGIN
extern "C" int run_echo() { return echo(); }
#else
int main() {
  print_layout<smc::event_loop, smc::event_loop::executor_type, smc::event_loop_pool,
               smc::event_loop_options, smc::stream, smc::acceptor, smc::config, smc::rule,
               smc::connection_statistics, smc::process_statistics, smc::peer_identity>();
  return echo();
}
#endif
