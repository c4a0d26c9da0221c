#include "smcperf/report.hpp"

#include <sstream>

#include "smcperf/units.hpp"

namespace smcperf {
namespace {

constexpr std::string_view schema = "smcperf-1";
constexpr std::pair<const char*, double> percentiles[] = {
    {"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}};

nlohmann::ordered_json asked_for(const client_options& asked) {
  nlohmann::ordered_json json;
  json["schema"] = schema;
  json["kind"] = to_string(asked.kind);
  json["size"] = asked.size;
  json["mode"] = to_string(asked.mode);
  json["request"] = asked.request;
  json["sockets"] = asked.bare ? "asio" : "smc";
  json["executor"] = to_string(asked.executor);
  json["threads"] = asked.threads;
  json["transport_asked"] = to_string(asked.transport);
  if (asked.kind == test_kind::connect) {
    json["in_flight"] = asked.in_flight;
  } else {
    json["connections_asked"] = asked.connections;
  }
  return json;
}

std::string describe_connections(const row& r) {
  const auto n = r.tally.connections();
  std::string text = std::to_string(n) + (n == 1 ? " connection" : " connections");
  if (!r.shortfall.empty())
    text += " of " + std::to_string(r.asked.connections) + " asked for (" + r.shortfall + ")";
  return text;
}

std::string describe_topology(const topology& where) {
  std::string text(to_string(where.before.label));
  if (where.before.label != distance::one_cpu) {
    std::ostringstream bounce;
    bounce.precision(0);
    bounce << std::fixed << " (flag bounce " << where.before.bounce_ns << " ns, after the run "
           << where.after.bounce_ns << " ns)";
    text += bounce.str();
  }
  if (where.changed())
    text +=
        ", CHANGED to " + std::string(to_string(where.after.label)) + " during the run: discard it";
  return text;
}

}  // namespace

nlohmann::ordered_json to_json(const row& r) {
  auto json = asked_for(r.asked);
  json["transport"] = r.tally.name();
  json["transports"] = r.tally.transports();
  json["fallback_reasons"] = r.tally.fallbacks();
  json["connections"] = r.tally.connections();
  if (!r.shortfall.empty()) json["shortfall"] = r.shortfall;
  json["ring"] = r.ring;
  json["seconds"] = r.seconds;
  json["operations"] = r.operations;
  json["operations_per_second"] = r.operations_per_second();
  json["bytes"] = r.bytes;
  json["bytes_per_second"] = r.bytes_per_second();
  if (r.latencies.count() > 0) {
    auto& latency = json["latency_us"];
    for (const auto& [name, q] : percentiles)
      latency[name] = static_cast<double>(r.latencies.quantile(q)) / 1e3;
    latency["min"] = static_cast<double>(r.latencies.minimum()) / 1e3;
    latency["max"] = static_cast<double>(r.latencies.maximum()) / 1e3;
  } else {
    json["latency_us"] = nullptr;
  }
  json["cpu_us_per_operation"] = {
      {"client", r.cpu_us_per_operation(r.client)},
      {"server", r.cpu_us_per_operation(r.server)},
      {"both", r.cpu_us_per_operation(r.client) + r.cpu_us_per_operation(r.server)}};
  json["topology"] = {{"label", to_string(r.where.label())},
                      {"before_ns", r.where.before.bounce_ns},
                      {"after_ns", r.where.after.bounce_ns},
                      {"changed", r.where.changed()}};
  return json;
}

nlohmann::ordered_json to_json(const client_options& asked, const std::exception& error) {
  auto json = asked_for(asked);
  auto& what = json["error"];
  what["message"] = error.what();
  if (const auto* fallback = dynamic_cast<const transport_not_had*>(&error)) {
    json["transport"] = fallback->had();
    what["reason"] = fallback->reason() ? fallback->reason().message() : "";
    what["remedy"] = fallback->remedy();
  }
  return json;
}

std::string to_table(const row& r) {
  std::ostringstream out;
  out << to_string(r.asked.kind);
  if (r.asked.kind != test_kind::connect) {
    out << ' ' << format_size(r.asked.size);
  } else if (r.asked.request) {
    out << " with a request and a reply of " << format_size(r.asked.size);
  }
  if (r.asked.mode != message_mode::some) out << " (" << to_string(r.asked.mode) << ")";
  out << ", " << describe_connections(r) << " on " << r.tally.name();
  if (r.ring > 0) out << " (ring " << format_size(r.ring) << ")";
  out << ", " << (r.asked.bare ? "Asio's sockets on " : "") << to_string(r.asked.executor) << "\n";
  for (const auto& [reason, n] : r.tally.fallbacks())
    out << "  fallback    " << n << " x " << reason << "\n";
  out << "  topology    " << describe_topology(r.where) << "\n";
  out << "  operations  " << r.operations << " in " << format_time(r.seconds * 1e9) << " = "
      << format_rate(r.operations_per_second(), "ops/s");
  if (r.bytes > 0) out << ", " << format_rate(r.bytes_per_second(), "B/s");
  out << "\n";
  if (r.latencies.count() > 0) {
    out << "  latency    ";
    for (const auto& [name, q] : percentiles)
      out << ' ' << name << ' ' << format_time(static_cast<double>(r.latencies.quantile(q)));
    out << " max " << format_time(static_cast<double>(r.latencies.maximum())) << "\n";
  }
  out << "  CPU time    per operation: client "
      << format_time(r.cpu_us_per_operation(r.client) * 1e3) << ", server "
      << format_time(r.cpu_us_per_operation(r.server) * 1e3) << "\n";
  return out.str();
}

}  // namespace smcperf
