#include "config/checked.hpp"

#include <stdexcept>
#include <string>

#include "config/limits.hpp"
#include "config/parse.hpp"
#include "config/rules.hpp"

namespace smc::config_detail {
namespace {

template <typename Check>
void field(const char* name, Check&& check) {
  try {
    check();
  } catch (const wrong_value& wrong) {
    throw std::invalid_argument(std::string("smc::config::") + name + ": right would be " +
                                wrong.what());
  }
}

}  // namespace

config checked(config value) {
  field("transports", [&] { check_transports(value.transports); });
  field("ring_size", [&] { value.ring_size = allowed_ring_size(value.ring_size); });
  field("spin_time", [&] { check_spin_time(value.spin_time); });
  field("handshake_timeout", [&] { check_timeout(value.handshake_timeout); });
  field("clc_timeout", [&] { check_timeout(value.clc_timeout); });
  field("detect_timeout", [&] { check_timeout(value.detect_timeout); });
  field("rendezvous_directory", [&] { check_rendezvous_directory(value.rendezvous_directory); });
  field("eids", [&] { check_eids(value.eids); });
  for (std::size_t i = 0; i < value.rules.size(); ++i) {
    std::string name, text;
    try {
      check_rule(value.rules[i], name, text);
    } catch (const wrong_value& wrong) {
      throw std::invalid_argument("smc::config::rules[" + std::to_string(i) + "]." + name + "=\"" +
                                  text + "\": right would be " + wrong.what());
    }
  }
  return value;
}

}  // namespace smc::config_detail
