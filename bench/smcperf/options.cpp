#include "smcperf/options.hpp"

#include <CLI/CLI.hpp>
#include <functional>
#include <sstream>
#include <stdexcept>

#include "smcperf/units.hpp"

namespace smcperf {
namespace {

constexpr std::uint64_t largest_message = std::uint64_t{1} << 30;
constexpr int usage_error = 2;

// Reads the option with `read`, turning its complaint into one of the command line.
void add_parsed(CLI::App* app, const std::string& name, const std::string& description,
                const std::string& type, std::function<void(const std::string&)> read) {
  app->add_option_function<std::string>(
         name,
         [name, read = std::move(read)](const std::string& text) {
           try {
             read(text);
           } catch (const std::invalid_argument& e) {
             throw CLI::ValidationError(name, e.what());
           }
         },
         description)
      ->type_name(type);
}

// Reads one of a few names.
template <typename Value>
void add_choice(CLI::App* app, const std::string& name, const std::string& description,
                Value& value, std::vector<Value> choices) {
  add_parsed(app, name, description, "NAME", [&value, choices](const std::string& text) {
    std::string right;
    for (const Value choice : choices) {
      if (text == to_string(choice)) {
        value = choice;
        return;
      }
      right += (right.empty() ? "" : ", ") + std::string(to_string(choice));
    }
    throw std::invalid_argument("'" + text + "': expected one of " + right);
  });
}

void read_spin(const std::string& text, std::optional<smc::event_loop_options>& spin) {
  smc::event_loop_options options;
  if (text == "automatic") {
    options.spin = smc::spin_policy::automatic;
  } else if (text == "never") {
    options.spin = smc::spin_policy::never;
  } else {
    try {
      options.spin = smc::spin_policy::fixed;
      options.spin_time =
          std::chrono::duration_cast<std::chrono::microseconds>(parse_duration(text));
    } catch (const std::invalid_argument&) {
      throw std::invalid_argument("'" + text +
                                  "': expected automatic, never or a time such as 50us");
    }
  }
  spin = options;
}

void add_endpoint_options(CLI::App* app, endpoint_options& options) {
  app->add_option("-p,--port", options.port, "TCP port")->capture_default_str();
  app->add_option("--threads", options.threads, "loops, one thread each")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  add_parsed(app, "--ring", "ring size of SMC connections (default: from SMC_RING)", "SIZE",
             [&options](const std::string& text) { options.ring = parse_size(text); });
  add_choice(app, "--transport", "tcp, smc-d or auto (default)", options.transport,
             {transport_choice::tcp, transport_choice::smc_d, transport_choice::automatic});
  add_parsed(app, "--spin",
             "polling before sleeping: automatic, never or a time (default: from SMC_SPIN)",
             "POLICY", [&options](const std::string& text) { read_spin(text, options.spin); });
  add_choice(app, "--executor", "event_loop (default) or io_context", options.executor,
             {executor_kind::event_loop, executor_kind::io_context});
  app->add_flag("--bare", options.bare,
                "Asio's own TCP sockets, to compare with (say it on both sides)");
  app->add_option("--cpu", options.cpu, "run on this CPU only")->check(CLI::NonNegativeNumber);
}

void add_client_options(CLI::App* app, client_options& options) {
  app->add_option("host", options.host, "where smcperf server runs")->required();
  add_endpoint_options(app, options);
  const bool one_way = options.kind == test_kind::stream || options.kind == test_kind::rate;
  add_parsed(app, "-s,--size", "bytes of a message (default " + format_size(options.size) + ")",
             "SIZE", [&options](const std::string& text) {
               options.size = parse_size(text);
               if (options.size == 0 || options.size > largest_message)
                 throw std::invalid_argument("'" + text + "': expected 1 byte to 1G");
             });
  add_parsed(app, "-t,--time", "how long to measure (default 5s)", "TIME",
             [&options](const std::string& text) { options.time = parse_duration(text); });
  app->add_option("-n,--count", options.count, "operations to measure, instead of --time");
  add_parsed(app, "--warmup", "run this long first, uncounted (default 100ms)", "TIME",
             [&options](const std::string& text) { options.warmup = parse_duration(text); });
  add_parsed(app, "-i,--interval", "time between live lines, 0 for none (default 1s)", "TIME",
             [&options](const std::string& text) { options.interval = parse_duration(text); });
  if (options.kind == test_kind::connect) {
    app->add_option("--in-flight", options.in_flight, "connects at the same time")
        ->check(CLI::Range(1, 65536))
        ->capture_default_str();
    app->add_flag("--request", options.request,
                  "one request and a reply of --size bytes on every connection");
  } else {
    app->add_option("-c,--connections", options.connections, "connections at the same time")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    auto* zero_copy = app->add_flag_callback(
        "--zero-copy", [&options] { options.mode = message_mode::zero_copy; },
        "write with prepare/commit, read with data/consume");
    app->add_flag_callback(
           "--whole", [&options] { options.mode = message_mode::whole; },
           one_way ? "one async_write for the whole message"
                   : "one async_write and async_read for the whole message")
        ->excludes(zero_copy);
  }
  app->add_flag("--json", options.json, "print one JSON object");
}

struct kind_description {
  test_kind kind;
  const char* name;
  const char* description;
  std::uint64_t size;
};
constexpr kind_description kinds[] = {
    {test_kind::latency, "latency", "round trips of one message", 100},
    {test_kind::stream, "stream", "bandwidth in one direction", 64 << 10},
    {test_kind::rate, "rate", "small messages in one direction, one write each", 100},
    {test_kind::rr, "rr", "request and response on many connections", 100},
    {test_kind::connect, "connect", "connections opened, accepted and closed", 100},
};

// Contradictions that no single option shows; empty: none.
std::string contradiction(const endpoint_options& options) {
  if (options.bare && options.transport == transport_choice::smc_d)
    return "--bare: Asio's own sockets have no transport but tcp";
  return {};
}

}  // namespace

std::string_view to_string(test_kind kind) noexcept {
  for (const auto& known : kinds)
    if (known.kind == kind) return known.name;
  return "?";
}

std::string_view to_string(message_mode mode) noexcept {
  switch (mode) {
    case message_mode::some:
      return "some";
    case message_mode::whole:
      return "whole";
    case message_mode::zero_copy:
      break;
  }
  return "zero-copy";
}

std::string_view to_string(transport_choice choice) noexcept {
  switch (choice) {
    case transport_choice::tcp:
      return "tcp";
    case transport_choice::smc_d:
      return "smc-d";
    case transport_choice::automatic:
      break;
  }
  return "auto";
}

std::string_view to_string(executor_kind kind) noexcept {
  return kind == executor_kind::event_loop ? "event_loop" : "io_context";
}

command parse_command_line(const std::vector<std::string>& arguments) {
  CLI::App app("Measures asio-smc streams between two processes.", "smcperf");
  app.require_subcommand(1);
  server_options server;
  auto* serve = app.add_subcommand("server", "answer clients until interrupted");
  add_endpoint_options(serve, server);
  serve->add_option("--bind", server.bind, "address to listen on")->capture_default_str();
  serve->add_flag("--one-off", server.one_off, "exit after one client");
  std::vector<client_options> clients(std::size(kinds));
  std::vector<CLI::App*> tests;
  for (std::size_t i = 0; i < std::size(kinds); ++i) {
    clients[i].kind = kinds[i].kind;
    clients[i].size = kinds[i].size;
    tests.push_back(app.add_subcommand(kinds[i].name, kinds[i].description));
    add_client_options(tests.back(), clients[i]);
  }

  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 takes them
    app.parse(std::move(reversed));
  } catch (const CLI::ParseError& e) {
    std::ostringstream text;
    const bool asked = app.exit(e, text, text) == 0;
    return refusal{asked ? 0 : usage_error, text.str()};
  }
  const auto checked = [](const auto& options) -> command {
    if (const auto wrong = contradiction(options); !wrong.empty())
      return refusal{usage_error, wrong + "\n"};
    return options;
  };
  if (serve->parsed()) return checked(server);
  for (std::size_t i = 0; i < tests.size(); ++i) {
    if (!tests[i]->parsed()) continue;
    if (clients[i].bare && clients[i].mode == message_mode::zero_copy)
      return refusal{usage_error, "--zero-copy: Asio's own sockets (--bare) cannot do that\n"};
    return checked(clients[i]);
  }
  return refusal{usage_error, app.help()};
}

smc::config make_config(const endpoint_options& options) {
  smc::config config = smc::config::process_default();
  switch (options.transport) {
    case transport_choice::tcp:
      config.transports = {smc::transport_kind::tcp};
      break;
    case transport_choice::smc_d:
      // TCP stays allowed, so that a fallback can be named with its reason instead of a failed
      // connect.
      config.transports = {smc::transport_kind::smc_d, smc::transport_kind::tcp};
      config.fallback = smc::fallback_policy::allow;
      break;
    case transport_choice::automatic:
      break;
  }
  if (options.ring) config.ring_size = *options.ring;
  if (options.spin) {
    config.spin = options.spin->spin;
    config.spin_time = options.spin->spin_time;
  }
  return config;
}

}  // namespace smcperf
