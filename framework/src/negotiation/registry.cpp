// The one file of the framework that names concrete transports.
#include "negotiation/registry.hpp"

#include <algorithm>
#include <mutex>
#include <smc/config.hpp>

#include "smcd/transport.hpp"
#include "tcp/tcp_connection.hpp"

namespace smc::negotiation {

namespace {

struct table {
  std::mutex mutex;
  std::vector<std::unique_ptr<transport>> transports;

  table() { transports.push_back(smcd::make_transport()); }
};

table& the_table() {
  static table& t = *new table;  // never destroyed: connections may end late
  return t;
}

}  // namespace

std::vector<transport*> registered_transports() {
  table& t = the_table();
  const std::lock_guard lock(t.mutex);
  std::vector<transport*> result;
  for (const auto& each : t.transports) result.push_back(each.get());
  return result;
}

void register_transport(std::unique_ptr<transport> added) {
  table& t = the_table();
  const std::lock_guard lock(t.mutex);
  t.transports.push_back(std::move(added));
}

std::vector<probed_transport> probe_transports(const std::vector<transport_kind>& kinds,
                                               const config& settings) {
  std::vector<probed_transport> result;
  const auto all = registered_transports();
  for (const transport_kind kind : kinds) {
    if (kind == transport_kind::tcp) break;
    for (transport* each : all) {
      if (each->kind() == kind) result.push_back({each, each->probe(settings)});
    }
  }
  return result;
}

std::vector<transport*> usable_transports(const std::vector<transport_kind>& kinds,
                                          const std::vector<probed_transport>& probed,
                                          reason& why) {
  why = reason::none;
  std::vector<transport*> result;
  for (const transport_kind kind : kinds) {
    if (kind == transport_kind::tcp) break;
    for (const auto& [which, obstacle] : probed) {
      if (which->kind() != kind) continue;
      if (obstacle == reason::none) {
        result.push_back(which);
      } else if (why == reason::none) {
        why = obstacle;
      }
    }
  }
  const bool faster_wanted = !kinds.empty() && kinds.front() != transport_kind::tcp;
  if (faster_wanted && result.empty() && why == reason::none) why = reason::no_device;
  return result;
}

std::unique_ptr<detail::connection> make_tcp_connection(asio::ip::tcp::socket& socket,
                                                        detail::loop_core* loop) {
  return tcp::make_connection(socket, loop);
}

}  // namespace smc::negotiation
