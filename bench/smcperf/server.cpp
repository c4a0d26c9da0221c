#include "smcperf/server.hpp"

#include <unistd.h>

#include <asio/bind_executor.hpp>
#include <asio/co_spawn.hpp>
#include <asio/read.hpp>
#include <asio/redirect_error.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_future.hpp>
#include <csignal>
#include <cstdio>
#include <vector>

#include "smcperf/loops.hpp"
#include "smcperf/message.hpp"
#include "smcperf/one_way.hpp"
#include "smcperf/ping_pong.hpp"
#include "smcperf/protocol.hpp"
#include "smcperf/sockets.hpp"

namespace smcperf {
namespace {

struct counters {
  std::atomic<std::uint64_t> accepted{0};
  std::atomic<std::uint64_t> open{0};
  std::atomic<std::uint64_t> received{0};
};

void rethrow(std::exception_ptr e) {
  if (e) std::rethrow_exception(e);
}

// A client that goes away, at whatever moment, is how every connection ends.
bool is_departure(std::error_code ec) {
  return ec == asio::error::eof || ec == asio::error::connection_reset ||
         ec == asio::error::broken_pipe || ec == asio::error::operation_aborted;
}

template <typename Sockets>
class server {
 public:
  using stream = typename Sockets::stream;

  server(const server_options& options, loops& on)
      : options_(options),
        loops_(on),
        acceptor_(Sockets::make_acceptor(on.executor(0),
                                         {asio::ip::make_address(options.bind), options.port},
                                         make_config(options))),
        signals_(on.executor(0), SIGINT, SIGTERM) {}

  asio::ip::tcp::endpoint address() const { return acceptor_.local_endpoint(); }

  void start() {
    asio::co_spawn(loops_.executor(0), accept_all(), rethrow);
    signals_.async_wait([this](std::error_code ec, int) {
      if (!ec) loops_.request_stop();
    });
  }

 private:
  asio::awaitable<void> accept_all() {
    for (;;) {
      const asio::any_io_executor where = loops_.next();
      stream peer = Sockets::make_stream(where, config_);
      std::error_code ec;
      co_await acceptor_.async_accept(peer, asio::redirect_error(asio::use_awaitable, ec));
      if (ec == asio::error::operation_aborted) co_return;
      if (ec) {  // out of descriptors, or a client that was gone already
        std::fprintf(stderr, "smcperf: accept: %s\n", ec.message().c_str());
        asio::steady_timer pause(loops_.executor(0), std::chrono::milliseconds(10));
        co_await pause.async_wait(asio::use_awaitable);
        continue;
      }
      counters_.accepted.fetch_add(1, std::memory_order_relaxed);
      asio::co_spawn(where, converse(std::move(peer)), rethrow);
    }
  }

  asio::awaitable<void> converse(stream peer) {
    counters_.open.fetch_add(1, std::memory_order_relaxed);
    bool was_control = false;
    try {
      wire_message message;
      co_await asio::async_read(peer, asio::buffer(message), asio::use_awaitable);
      const job what = decode_job(message);
      was_control = what.kind == job_kind::control;
      co_await do_job(peer, what);
    } catch (const std::system_error& e) {
      if (!is_departure(e.code())) std::fprintf(stderr, "smcperf: connection: %s\n", e.what());
    } catch (const std::exception& e) {
      std::fprintf(stderr, "smcperf: connection: %s\n", e.what());
    }
    counters_.open.fetch_sub(1, std::memory_order_relaxed);
    if (was_control && options_.one_off) loops_.request_stop();
  }

  asio::awaitable<void> do_job(stream& peer, const job& what) {
    if (what.kind == job_kind::request) {
      const std::vector<char> reply(what.size, 'r');
      co_await send_rest(peer, asio::buffer(reply), message_mode::some);
      co_return;
    }
    peer.set_option(asio::ip::tcp::no_delay(true));
    const wire_message answer =
        encode(welcome{static_cast<std::uint64_t>(::getpid()), std::string(transport_of(peer))});
    co_await asio::async_write(peer, asio::buffer(answer), asio::use_awaitable);
    switch (what.kind) {
      case job_kind::echo:
        co_await pong(peer, what.size, what.mode);
        break;
      case job_kind::sink:
        co_await sink(peer, what.size, what.mode, counters_.received);
        break;
      default:
        co_await report_on_demand(peer);
        break;
    }
  }

  asio::awaitable<void> report_on_demand(stream& peer) {
    for (;;) {
      char demand;
      co_await asio::async_read(peer, asio::buffer(&demand, 1), asio::use_awaitable);
      const wire_message report =
          encode(server_report{process_cpu_time(), counters_.accepted.load(), counters_.open.load(),
                               counters_.received.load()});
      co_await asio::async_write(peer, asio::buffer(report), asio::use_awaitable);
    }
  }

  const server_options& options_;
  loops& loops_;
  smc::config config_ = make_config(options_);
  counters counters_;
  typename Sockets::acceptor acceptor_;
  asio::signal_set signals_;
};

template <typename Sockets>
void serve_on(const server_options& options,
              const std::function<void(const asio::ip::tcp::endpoint&)>& listening) {
  loops on(options.executor, options.threads, options.spin);
  server<Sockets> serving(options, on);
  // Whatever happens, no loop may run when the server's members go.
  struct stopper {
    loops& on;
    ~stopper() { on.stop(); }
  } stop_first{on};
  const auto address = serving.address();
  serving.start();
  listening(address);
  on.wait();
}

}  // namespace

void serve(const server_options& options,
           const std::function<void(const asio::ip::tcp::endpoint&)>& listening) {
  if (options.bare) {
    serve_on<bare_sockets>(options, listening);
  } else {
    serve_on<smc_sockets>(options, listening);
  }
}

}  // namespace smcperf
