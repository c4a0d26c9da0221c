#include "smcperf/client.hpp"

#include <algorithm>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_future.hpp>
#include <future>
#include <optional>

#include "smcperf/connect.hpp"
#include "smcperf/control.hpp"
#include "smcperf/loops.hpp"
#include "smcperf/one_way.hpp"
#include "smcperf/ping_pong.hpp"

namespace smcperf {
namespace {

constexpr auto settle_limit = std::chrono::seconds(10);
constexpr auto settle_step = std::chrono::microseconds(200);

bool is_one_way(test_kind kind) { return kind == test_kind::stream || kind == test_kind::rate; }

job job_for(const client_options& options) {
  return {is_one_way(options.kind) ? job_kind::sink : job_kind::echo, options.mode, options.size};
}

template <typename Sockets>
class client {
 public:
  using stream = typename Sockets::stream;

  client(const client_options& options, const std::vector<int>& cpus,
         const std::function<void(const progress&)>& live)
      : options_(options),
        cpus_(cpus),
        live_(live),
        loops_(options.executor, options.threads, options.spin) {
    session_.config = make_config(options);
    session_.asked = options.transport;
  }
  ~client() { loops_.stop(); }  // before the streams and recorders go that its coroutines use
  client(const client&) = delete;
  client& operator=(const client&) = delete;

  row run() {
    row result;
    result.asked = options_;
    result.where.before = calibrate(cpus_);
    open_control();
    open_shares();
    if (options_.warmup.count() > 0) warm_up();
    measure(result);
    result.where.after = calibrate(cpus_);
    for (const auto& s : shares_) {
      result.latencies.merge(s->record.latencies());
      result.operations += s->record.operations();
      result.bytes += s->record.bytes();
      result.tally.merge(s->tally);
      if (result.shortfall.empty()) result.shortfall = s->shortfall;
      if (result.ring == 0 && !s->connections.empty())
        result.ring = ring_of(s->connections.front().stream_);
    }
    return result;
  }

 private:
  struct connection {
    explicit connection(stream&& opened) : stream_(std::move(opened)) {}
    stream stream_;
    std::uint64_t sent = 0;  // bytes, warm-up included
  };

  // What belongs to one loop, and is touched by its thread only while coroutines run.
  struct share {
    explicit share(const asio::any_io_executor& on, const asio::ip::tcp::endpoint& server)
        : executor(on), to(server) {}
    asio::any_io_executor executor;
    std::vector<connection> connections;
    recorder warm, record;
    transport_tally tally;
    destinations to;
    std::string shortfall;
  };

  void open_control() {
    asio::io_context context;
    const auto found =
        asio::ip::tcp::resolver(context).resolve(options_.host, std::to_string(options_.port));
    std::exception_ptr last;
    for (const auto& entry : found) {
      session_.server = entry.endpoint();
      try {
        asio::co_spawn(loops_.executor(0), control_.open(loops_.executor(0), session_),
                       asio::use_future)
            .get();
        return;
      } catch (const std::system_error&) {
        last = std::current_exception();
      }
    }
    if (last) std::rethrow_exception(last);
    throw std::system_error(asio::error::host_not_found);
  }

  // The i-th of n parts of `total`, as even as can be.
  static std::uint64_t part(std::uint64_t total, std::size_t i, std::size_t n) {
    return total / n + (i < total % n ? 1 : 0);
  }

  void open_shares() {
    std::vector<std::future<void>> opened;
    for (std::size_t i = 0; i < loops_.size(); ++i) {
      shares_.push_back(std::make_unique<share>(loops_.executor(i), session_.server));
      if (options_.kind == test_kind::connect) continue;
      const auto wanted = part(options_.connections, i, loops_.size());
      opened.push_back(
          asio::co_spawn(shares_[i]->executor, open(*shares_[i], wanted), asio::use_future));
    }
    for (auto& done : opened) done.get();
    const bool none = std::all_of(shares_.begin(), shares_.end(),
                                  [](const auto& s) { return s->connections.empty(); });
    if (none && !opened.empty())
      throw std::runtime_error("no connection: " + shares_.front()->shortfall);
  }

  asio::awaitable<void> open(share& s, std::uint64_t wanted) {
    try {
      s.connections.reserve(wanted);
      while (s.connections.size() < wanted)
        s.connections.emplace_back(
            co_await open_session<Sockets>(s.executor, session_, job_for(options_), s.tally));
    } catch (const std::system_error& e) {
      s.shortfall = e.what();  // so many can be had, and the row says so
    }
  }

  void warm_up() {
    const server_report before = ask();
    const limits until{0, clock::now() + options_.warmup};
    std::vector<std::future<void>> done;
    start_workers(done, false, [&](std::size_t, std::size_t) { return until; });
    for (auto& worker : done) worker.get();
    std::uint64_t operations = 0, bytes = 0;
    for (const auto& s : shares_) {
      operations += s->warm.operations();
      bytes += s->warm.bytes();
    }
    settle(before, operations, bytes);
  }

  void measure(row& result) {
    const server_report server_before = ask();
    const cpu_time client_before = process_cpu_time();
    const auto begin = clock::now();
    const auto end = options_.count > 0 ? clock::time_point::max() : begin + options_.time;
    std::vector<std::future<void>> done;
    start_workers(done, true, [&](std::size_t i, std::size_t n) {
      return limits{part(options_.count, i, n), end};
    });
    for (auto& worker : done) watch(worker, begin);
    auto finish = begin;
    std::uint64_t operations = 0;
    for (const auto& s : shares_) {
      finish = std::max(finish, s->record.last_finish());
      operations += s->record.operations();
    }
    if (options_.kind == test_kind::connect) {  // a connection counts when the server has it
      settle(server_before, operations, 0);
      finish = clock::now();
    }
    const cpu_time client_after = process_cpu_time();
    result.client = client_after - client_before;
    result.server = ask().cpu - server_before.cpu;
    result.seconds = std::chrono::duration<double>(finish - begin).count();
  }

  // One worker for each connection, or for each connector of the connect test; `until(i, n)` are
  // the limits of the i-th of n.
  template <typename Until>
  void start_workers(std::vector<std::future<void>>& done, bool measured, const Until& until) {
    std::size_t n = options_.in_flight;
    if (options_.kind != test_kind::connect) {
      n = 0;
      for (const auto& s : shares_) n += s->connections.size();
    }
    std::size_t i = 0;
    const auto start = [&](share& s, auto&& work) {
      done.push_back(asio::co_spawn(s.executor, std::move(work), asio::use_future));
    };
    const bool counted = measured && options_.count > 0;
    if (options_.kind == test_kind::connect) {
      for (; i < n; ++i) {
        auto& s = *shares_[i % shares_.size()];
        const limits own = until(i, n);
        if (!counted || own.count > 0) start(s, connect(s, own, measured ? s.record : s.warm));
      }
      return;
    }
    for (const auto& s : shares_)
      for (auto& c : s->connections) {
        const limits own = until(i++, n);
        start(*s, exchange(c, own, counted && own.count == 0, measured,
                           measured ? s->record : s->warm));
      }
  }

  asio::awaitable<void> connect(share& s, limits until, recorder& record) {
    co_await connect_repeatedly<Sockets>(s.executor, session_, options_.request ? options_.size : 0,
                                         s.to, until, record, s.tally);
  }

  asio::awaitable<void> exchange(connection& c, limits until, bool nothing_to_do, bool last,
                                 recorder& record) {
    if (!is_one_way(options_.kind)) {
      if (!nothing_to_do) co_await ping(c.stream_, options_.size, options_.mode, until, record);
      co_return;
    }
    if (!nothing_to_do)
      c.sent += co_await send_messages(c.stream_, options_.size, options_.mode, until, record);
    if (last) co_await await_receipt(c.stream_, c.sent, record);
  }

  // Waits for a worker and prints a live line whenever one is due.
  void watch(std::future<void>& worker, clock::time_point begin) {
    if (!live_ || options_.interval.count() <= 0) return worker.get();
    if (next_line_ == clock::time_point{}) next_line_ = begin + options_.interval;
    while (worker.wait_until(next_line_) == std::future_status::timeout) {
      progress now;
      now.from_seconds = shown_.to_seconds;
      now.to_seconds = std::chrono::duration<double>(clock::now() - begin).count();
      std::uint64_t operations = 0, bytes = 0;
      for (const auto& s : shares_) {
        operations += s->record.operations();
        bytes += s->record.bytes();
      }
      now.operations = operations - shown_.operations;
      now.bytes = bytes - shown_.bytes;
      live_(now);
      shown_ = {0, now.to_seconds, operations, bytes};
      next_line_ += options_.interval;
    }
    worker.get();
  }

  // Waits until the server has taken what was sent and accepted what was connected since `before`.
  void settle(const server_report& before, std::uint64_t operations, std::uint64_t bytes) {
    const auto arrived = [&] {
      const server_report now = ask();
      if (options_.kind == test_kind::connect) return now.accepted - before.accepted >= operations;
      return !is_one_way(options_.kind) || now.received - before.received >= bytes;
    };
    const auto limit = clock::now() + settle_limit;
    while (!arrived()) {
      if (clock::now() > limit)
        throw std::runtime_error("the server has not received what was sent");
      std::this_thread::sleep_for(settle_step);
    }
  }

  server_report ask() {
    server_report answer;
    asio::co_spawn(loops_.executor(0), control_.ask(answer), asio::use_future).get();
    return answer;
  }

  const client_options& options_;
  const std::vector<int>& cpus_;
  const std::function<void(const progress&)>& live_;
  session_options session_;
  loops loops_;
  control_connection<Sockets> control_;
  std::vector<std::unique_ptr<share>> shares_;
  clock::time_point next_line_{};
  progress shown_;
};

}  // namespace

row run_client(const client_options& options, const std::vector<int>& cpus,
               const std::function<void(const progress&)>& live) {
  if (options.bare) return client<bare_sockets>(options, cpus, live).run();
  return client<smc_sockets>(options, cpus, live).run();
}

}  // namespace smcperf
