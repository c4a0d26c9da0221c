// smcperf: measures asio-smc streams between two processes.
#include <cstdio>
#include <exception>
#include <iostream>

#include "smcperf/client.hpp"
#include "smcperf/options.hpp"
#include "smcperf/server.hpp"
#include "smcperf/topology.hpp"
#include "smcperf/units.hpp"

namespace {

using namespace smcperf;

// Exit codes; 0 is success, 2 (from the command line) a wrong argument.
constexpr int failed = 1;
constexpr int wrong_transport = 3;

int run(const refusal& refused) {
  (refused.exit_code == 0 ? std::cout : std::cerr) << refused.text << std::flush;
  return refused.exit_code;
}

int run(const server_options& options) {
  if (options.cpu) pin_to(*options.cpu);
  serve(options, [](const asio::ip::tcp::endpoint& address) {
    std::cout << "smcperf server listening on " << address << std::endl;
  });
  return 0;
}

void print_live(const progress& now) {
  const double seconds = now.to_seconds - now.from_seconds;
  std::printf("[%6.2f - %6.2f s]  %s", now.from_seconds, now.to_seconds,
              format_rate(static_cast<double>(now.operations) / seconds, "ops/s").c_str());
  if (now.bytes > 0)
    std::printf("  %s", format_rate(static_cast<double>(now.bytes) / seconds, "B/s").c_str());
  std::puts("");
  std::fflush(stdout);
}

int run(const client_options& options) {
  const auto cpus = usable_cpus();  // before pinning: the server has the others
  if (options.cpu) pin_to(*options.cpu);
  try {
    const row result = run_client(options, cpus, options.json ? nullptr : print_live);
    std::cout << (options.json ? to_json(result).dump() + "\n" : to_table(result)) << std::flush;
    if (result.shortfall.empty()) return 0;
    std::cerr << "smcperf: only " << result.tally.connections() << " of " << options.connections
              << " connections: " << result.shortfall << "\n";
    return failed;
  } catch (const std::exception& e) {
    if (options.json) std::cout << to_json(options, e).dump() << std::endl;
    std::cerr << "smcperf: " << e.what() << "\n";
    const auto* fallback = dynamic_cast<const transport_not_had*>(&e);
    if (fallback == nullptr) return failed;
    if (!fallback->remedy().empty()) std::cerr << "smcperf: " << fallback->remedy() << "\n";
    return wrong_transport;
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return std::visit([](const auto& chosen) { return run(chosen); },
                      parse_command_line({argv + 1, argv + argc}));
  } catch (const std::exception& e) {
    std::cerr << "smcperf: " << e.what() << "\n";
    return failed;
  }
}
