// What a handler costs on an event_loop, and on an io_context in the same run.
#include <benchmark/benchmark.h>

#include <asio.hpp>
#include <smc/event_loop.hpp>
#include <thread>
#include <vector>

namespace {

constexpr int per_iteration = 1000;

template <typename Context>
struct chain {
  Context& context;
  int left;
  void operator()() {
    if (--left > 0) asio::post(context.get_executor(), chain(*this));
  }
};

template <typename Context>
void post(benchmark::State& state) {
  Context context;
  const auto guard = asio::make_work_guard(context);
  for (auto _ : state) {
    asio::post(context.get_executor(), chain<Context>{context, per_iteration});
    context.poll();
  }
  state.SetItemsProcessed(state.iterations() * per_iteration);
}
BENCHMARK_TEMPLATE(post, smc::event_loop);
BENCHMARK_TEMPLATE(post, asio::io_context);

template <typename Context>
void dispatch(benchmark::State& state) {
  Context context;
  const auto guard = asio::make_work_guard(context);
  int sum = 0;
  for (auto _ : state) {
    asio::post(context.get_executor(), [&] {
      for (int i = 0; i < per_iteration; ++i)
        asio::dispatch(context.get_executor(), [&] { benchmark::DoNotOptimize(++sum); });
    });
    context.poll();
  }
  state.SetItemsProcessed(state.iterations() * per_iteration);
}
BENCHMARK_TEMPLATE(dispatch, smc::event_loop);
BENCHMARK_TEMPLATE(dispatch, asio::io_context);

template <typename Context>
void co_await_post(benchmark::State& state) {
  Context context;
  const auto guard = asio::make_work_guard(context);
  for (auto _ : state) {
    asio::co_spawn(
        context,
        []() -> asio::awaitable<void> {
          for (int i = 0; i < per_iteration; ++i) co_await asio::post(asio::use_awaitable);
        },
        [](std::exception_ptr e) {
          if (e) std::rethrow_exception(e);
        });
    context.poll();
  }
  state.SetItemsProcessed(state.iterations() * per_iteration);
}
BENCHMARK_TEMPLATE(co_await_post, smc::event_loop);
BENCHMARK_TEMPLATE(co_await_post, asio::io_context);

// What a stream's operation pays: a unit of work and a node.
void push_node(benchmark::State& state) {
  struct node : smc::detail::ready_node {
    smc::detail::loop_core* core;
    int left;
  } n;
  smc::event_loop loop;
  const auto guard = asio::make_work_guard(loop);
  n.core = smc::detail::loop_of(loop);
  n.invoke = [](smc::detail::ready_node* base, smc::detail::ready_node::action) {
    auto* const self = static_cast<node*>(base);
    if (--self->left <= 0) return;
    self->core->work_started();
    self->core->push(self);
  };
  for (auto _ : state) {
    n.left = per_iteration;
    n.core->work_started();
    n.core->push(&n);
    loop.poll();
  }
  state.SetItemsProcessed(state.iterations() * per_iteration);
}
BENCHMARK(push_node);

// The same, many in one turn.
void push_nodes_in_one_turn(benchmark::State& state) {
  std::vector<smc::detail::ready_node> nodes(per_iteration);
  smc::event_loop loop;
  const auto guard = asio::make_work_guard(loop);
  auto* const core = smc::detail::loop_of(loop);
  for (auto& n : nodes) n.invoke = [](smc::detail::ready_node*, smc::detail::ready_node::action) {};
  for (auto _ : state) {
    asio::post(loop, [&] {
      for (auto& n : nodes) {
        core->work_started();
        core->push(&n);
      }
    });
    loop.poll();
  }
  state.SetItemsProcessed(state.iterations() * per_iteration);
}
BENCHMARK(push_nodes_in_one_turn);

// A post from another thread to a loop that mostly sleeps, and back.
template <typename Context>
void wake_up_round_trip(benchmark::State& state) {
  Context a, b;
  const auto guard_a = asio::make_work_guard(a);
  auto guard_b = asio::make_work_guard(b);
  std::thread other([&] { b.run(); });
  for (auto _ : state) {
    asio::post(b.get_executor(), [&] { asio::post(a.get_executor(), [] {}); });
    a.run_one();
  }
  guard_b.reset();
  other.join();
}
BENCHMARK_TEMPLATE(wake_up_round_trip, smc::event_loop)->UseRealTime();
BENCHMARK_TEMPLATE(wake_up_round_trip, asio::io_context)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
