#pragma once
// What a configuration's rules say for one peer. Pure, but for check_rule: it looks up interfaces.
#include <asio/ip/address.hpp>
#include <cstddef>
#include <cstdint>
#include <smc/config.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace smc::config_detail {

/// The connection that rules are asked about.
struct rule_subject {
  asio::ip::address peer;  ///< in any form: IPv4-mapped is IPv4
  bool peer_on_this_host = false;
  std::uint16_t port = 0;  ///< of the listening side
  std::string_view program;
};

/// A configuration's choices for one peer.
struct peer_settings {
  std::vector<transport_kind> transports;
  std::size_t ring_size = 0;
  bool faster_denied = false;  ///< a rule took away what the configuration else prefers to TCP

  bool operator==(const peer_settings&) const = default;
};

/// Each setting from the most specific matching rule that gives it (see smc::rule), else from
/// `settings`. Its rules are checked() ones.
peer_settings settings_for(const config& settings, const rule_subject& subject);

/// Throws wrong_value; `field` names what is being looked at, and `value` is its text.
void check_rule(rule& checked, std::string& field, std::string& value);

/// The base name of this process's executable.
const std::string& program_name();

}  // namespace smc::config_detail
