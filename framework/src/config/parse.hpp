#pragma once
// Texts of configuration values to values. Each function throws wrong_value, which says what would
// be right.
#include <chrono>
#include <cstddef>
#include <smc/config.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace smc::config_detail {

/// What would have been right; the caller adds the name and the value.
class wrong_value : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Bytes: digits with an optional K, M or G (either case).
std::size_t parse_size(std::string_view text);
/// Digits with us, ms or s.
std::chrono::microseconds parse_duration(std::string_view text);
bool parse_switch(std::string_view text);
std::vector<std::string_view> parse_list(std::string_view text);
transport_kind parse_transport(std::string_view text);
std::vector<transport_kind> parse_transports(std::string_view text);
fallback_policy parse_fallback(std::string_view text);
uid_t parse_uid(std::string_view text);

}  // namespace smc::config_detail
