// smc-demo: the same work on TCP and on SMC-D between two real processes, side by side.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <string>
#include <variant>
#include <vector>

#include "demo/baseline.hpp"
#include "demo/comparison.hpp"
#include "demo/outcome.hpp"
#include "demo/server_process.hpp"
#include "smcperf/server.hpp"
#include "smcperf/session.hpp"
#include "smcperf/units.hpp"

namespace {

using namespace demo;
using smcperf::transport_choice;

// Exit codes as smcperf has them.
constexpr int lost = 1, usage = 2, fell_back = 3;

struct options {
  std::size_t pairs = 0;  // 0: as many as the comparison takes by default
  std::string slice = "150ms";
  std::string limit = "26s";
  std::string baseline;
  bool json = false;
  bool judge = false;  // the exit code tells whether the comparison was won
};

int run_server(const std::vector<std::string>& arguments) {
  const auto command = smcperf::parse_command_line(arguments);
  const auto* server = std::get_if<smcperf::server_options>(&command);
  if (server == nullptr) return usage;
  if (server->cpu) smcperf::pin_to(*server->cpu);
  smcperf::serve(*server, [](const asio::ip::tcp::endpoint& address) {
    std::cout << "smc-demo server listening on " << address << std::endl;
  });
  return 0;
}

std::vector<std::string> server_arguments(const std::vector<int>& cpus) {
  return {"--port", "0", "--cpu", std::to_string(cpus.front())};
}

void print_topology(const char* when, const std::vector<int>& cpus) {
  const auto found = smcperf::calibrate(cpus);
  std::printf("CPUs %s: %s", when, std::string(to_string(found.label)).c_str());
  if (found.bounce_ns > 0)
    std::printf(" (CPU %d to CPU %d and back: %.0f ns)", cpus[0], cpus[1], found.bounce_ns);
  std::puts("");
}

// Runs the plan with a line of progress that a terminal overwrites.
std::vector<trial> run_plan(const plan& plan, bool quiet) {
  if (!quiet) print_topology("before", plan.cpus);
  const bool terminal = !quiet && ::isatty(STDERR_FILENO) == 1;
  auto rounds = compare(plan, [&](std::size_t pass) {
    if (terminal) std::fprintf(stderr, "\r%zu of %zu passes", pass, plan.rounds);
  });
  if (!quiet) {
    if (terminal) std::fprintf(stderr, "\r                      \r");
    print_topology("after", plan.cpus);
  }
  return rounds;
}

int compare_transports(const options& asked, plan plan) {
  plan.works = transport_works(smcperf::parse_duration(asked.slice));
  plan.rounds = asked.pairs > 0 ? asked.pairs : 5;
  const server_process server(server_arguments(plan.cpus));
  for (const auto choice : {transport_choice::tcp, transport_choice::smc_d})
    plan.contenders.push_back(
        {std::string(to_string(choice)), [choice, &server](smcperf::client_options& o) {
           o.transport = choice;
           o.port = server.port();
         }});
  const auto rounds = run_plan(plan, asked.json);
  const outcome result = judge(plan, rounds);
  if (asked.json) {
    nlohmann::ordered_json json{{"schema", "smc-demo-1"}, {"comparison", "tcp, smc-d"}};
    json.update(to_json(result));
    json["pairs"] = to_json(plan, rounds);
    std::cout << json.dump() << std::endl;
  } else {
    std::cout << "\n" << to_table(result) << "\n" << result.sentence << std::endl;
  }
  return result.won || !asked.judge ? 0 : lost;
}

int compare_with_bare_sockets(const options& asked, plan plan) {
  plan.works = baseline_works(smcperf::parse_duration(asked.slice));
  plan.rounds = asked.pairs > 0 ? asked.pairs : 9;
  auto arguments = server_arguments(plan.cpus);
  arguments.insert(arguments.end(), {"--executor", "io_context", "--transport", "tcp"});
  const server_process ours(arguments);
  arguments.push_back("--bare");
  const server_process bare(arguments);
  const auto contend = [](const server_process& server, bool bare_sockets) {
    return [&server, bare_sockets](smcperf::client_options& o) {
      o.executor = smcperf::executor_kind::io_context;
      o.transport = transport_choice::tcp;
      o.bare = bare_sockets;
      o.port = server.port();
    };
  };
  plan.contenders = {{"asio", contend(bare, true)},
                     {"smc on tcp", contend(ours, false)},
                     {"asio again", contend(bare, true)}};
  const auto rounds = run_plan(plan, asked.json);
  const auto lines = judge_baseline(plan, rounds);
  if (asked.json) {
    nlohmann::ordered_json json{{"schema", "smc-demo-1"}, {"comparison", "asio, smc on tcp, asio"}};
    json["holds"] = holds(plan, lines);
    json["sentence"] = to_sentence(plan, lines);
    json["lines"] = to_json(lines);
    json["rounds"] = to_json(plan, rounds);
    std::cout << json.dump() << std::endl;
  } else {
    std::cout << "\n" << to_table(lines) << "\n" << to_sentence(plan, lines) << std::endl;
  }
  return holds(plan, lines) || !asked.judge ? 0 : lost;
}

int run_client(const options& asked) {
  plan plan;
  plan.cpus = smcperf::usable_cpus();
  if (plan.cpus.empty()) throw std::runtime_error("cannot tell which CPUs may be used");
  plan.limit = smcperf::parse_duration(asked.limit);
  smcperf::pin_to(plan.cpus.size() > 1 ? plan.cpus[1] : plan.cpus[0]);
  return asked.baseline.empty() ? compare_transports(asked, std::move(plan))
                                : compare_with_bare_sockets(asked, std::move(plan));
}

int report_fallback(const options& asked, const smcperf::transport_not_had& e) {
  const std::string sentence =
      "SMC-D was not used, so there is nothing to compare: " + std::string(e.what()) +
      (e.remedy().empty() ? "" : " (" + e.remedy() + ")") + ".";
  if (asked.json)
    std::cout << nlohmann::ordered_json{{"schema", "smc-demo-1"},
                                        {"won", false},
                                        {"sentence", sentence}}
                     .dump()
              << std::endl;
  else
    std::cout << "\n" << sentence << std::endl;
  return fell_back;
}

std::string parses(const std::string& text) {
  try {
    (void)smcperf::parse_duration(text);
    return {};
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  options asked;
  CLI::App app("Compares TCP and SMC-D between two processes of this machine.", "smc-demo");
  app.add_option("--pairs", asked.pairs, "interleaved pairs (default 5; 9 for figures to publish)")
      ->check(CLI::PositiveNumber);
  app.add_option("--time", asked.slice, "measured time of one slice")
      ->check(parses)
      ->type_name("TIME")
      ->capture_default_str();
  app.add_option("--limit", asked.limit, "begin no pair that would end later")
      ->check(parses)
      ->type_name("TIME")
      ->capture_default_str();
  app.add_option("--baseline", asked.baseline,
                 "asio: compare our stream on TCP with Asio's own socket instead")
      ->check(CLI::IsMember({"asio"}));
  app.add_flag("--json", asked.json, "print one JSON object");
  app.add_flag("--judge", asked.judge, "exit with 1 where the comparison is lost");
  try {
    if (!arguments.empty() && arguments.front() == "server") return run_server(arguments);
    app.parse(argc, argv);
    return run_client(asked);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : usage;
  } catch (const smcperf::transport_not_had& e) {
    return report_fallback(asked, e);
  } catch (const std::exception& e) {
    std::cerr << "smc-demo: " << e.what() << "\n";
    return lost;
  }
}
