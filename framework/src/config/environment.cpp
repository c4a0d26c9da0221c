#include <cstdlib>
#include <smc/config.hpp>
#include <stdexcept>
#include <string>

#include "config/limits.hpp"
#include "config/parse.hpp"

namespace smc {
namespace {

using namespace config_detail;

void set_spin(config& to, std::string_view text) {
  if (text == "automatic") {
    to.spin = spin_policy::automatic;
  } else if (text == "never") {
    to.spin = spin_policy::never;
  } else {
    std::chrono::microseconds time{};
    try {
      time = parse_duration(text);
    } catch (const wrong_value&) {  // check_spin_time says more
    }
    check_spin_time(time);
    to.spin = spin_policy::fixed;
    to.spin_time = time;
  }
}

std::chrono::milliseconds timeout(std::string_view text) {
  const auto time = std::chrono::ceil<std::chrono::milliseconds>(parse_duration(text));
  check_timeout(time);
  return time;
}

void set_allowed_uids(config& to, std::string_view text) {
  to.allowed_uids.clear();
  for (const auto item : parse_list(text)) to.allowed_uids.push_back(parse_uid(item));
}

void set_eids(config& to, std::string_view text) {
  to.eids.clear();
  for (const auto item : parse_list(text)) to.eids.emplace_back(item);
  check_eids(to.eids);
}

struct variable {
  const char* name;
  void (*set)(config& to, std::string_view text);
};

constexpr variable variables[] = {
    {"SMC_TRANSPORTS",
     [](config& to, std::string_view text) {
       to.transports = parse_transports(text);
       check_transports(to.transports);
     }},
    {"SMC_FALLBACK", [](config& to, std::string_view text) { to.fallback = parse_fallback(text); }},
    {"SMC_RING",
     [](config& to, std::string_view text) { to.ring_size = allowed_ring_size(parse_size(text)); }},
    {"SMC_BUFFER_MEMORY",
     [](config& to, std::string_view text) {
       to.buffer_memory_limit = text == "automatic" ? 0 : parse_size(text);
     }},
    {"SMC_MAP_SEND_BUFFER",
     [](config& to, std::string_view text) { to.map_send_buffer = parse_switch(text); }},
    {"SMC_SPIN", set_spin},
    {"SMC_HANDSHAKE_TIMEOUT",
     [](config& to, std::string_view text) { to.handshake_timeout = timeout(text); }},
    {"SMC_CLC_TIMEOUT", [](config& to, std::string_view text) { to.clc_timeout = timeout(text); }},
    {"SMC_DETECT_TIMEOUT",
     [](config& to, std::string_view text) { to.detect_timeout = timeout(text); }},
    {"SMC_RENDEZVOUS",
     [](config& to, std::string_view text) {
       to.rendezvous_directory = text;
       check_rendezvous_directory(to.rendezvous_directory);
     }},
    {"SMC_ALLOWED_UIDS", set_allowed_uids},
    {"SMC_EID", set_eids},
};

}  // namespace

config config::from_environment() {
  config result;
  for (const auto& [name, set] : variables) {
    const char* text = ::secure_getenv(name);
    if (text == nullptr) continue;
    try {
      set(result, text);
    } catch (const wrong_value& wrong) {
      throw std::invalid_argument("environment variable " + std::string(name) + "=\"" + text +
                                  "\": right would be " + wrong.what());
    }
  }
  return result;
}

}  // namespace smc
