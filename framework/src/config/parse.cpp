#include "config/parse.hpp"

#include <charconv>
#include <limits>
#include <system_error>

namespace smc::config_detail {
namespace {

// Takes the leading digits off `text`.
std::uint64_t take_number(std::string_view& text, const char* right) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) throw wrong_value(right);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

std::uint64_t multiply(std::uint64_t number, std::uint64_t factor, std::uint64_t limit,
                       const char* right) {
  if (number > limit / factor) throw wrong_value(right);
  return number * factor;
}

}  // namespace

std::size_t parse_size(std::string_view text) {
  constexpr const char* right = "bytes, as a number with an optional K, M or G, e.g. 128K";
  const std::uint64_t number = take_number(text, right);
  unsigned shift = 0;
  if (text == "K" || text == "k") {
    shift = 10;
  } else if (text == "M" || text == "m") {
    shift = 20;
  } else if (text == "G" || text == "g") {
    shift = 30;
  } else if (!text.empty()) {
    throw wrong_value(right);
  }
  return multiply(number, std::uint64_t{1} << shift, std::numeric_limits<std::size_t>::max(),
                  right);
}

std::chrono::microseconds parse_duration(std::string_view text) {
  constexpr const char* right = "a time with its unit (us, ms or s), e.g. 200ms";
  const std::uint64_t number = take_number(text, right);
  std::uint64_t factor = 0;
  if (text == "us") {
    factor = 1;
  } else if (text == "ms") {
    factor = 1'000;
  } else if (text == "s") {
    factor = 1'000'000;
  } else {
    throw wrong_value(right);
  }
  constexpr auto limit = static_cast<std::uint64_t>(std::chrono::microseconds::max().count());
  return std::chrono::microseconds(
      static_cast<std::int64_t>(multiply(number, factor, limit, right)));
}

bool parse_switch(std::string_view text) {
  if (text == "1") return true;
  if (text == "0") return false;
  throw wrong_value("0 or 1");
}

std::vector<std::string_view> parse_list(std::string_view text) {
  std::vector<std::string_view> items;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    items.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
    if (text.empty())
      items.emplace_back();  // a comma at the end: an empty item, for its parser to refuse
  }
  return items;
}

transport_kind parse_transport(std::string_view text) {
  for (const auto kind :
       {transport_kind::tcp, transport_kind::smc_d, transport_kind::smc_r, transport_kind::other}) {
    if (text == to_string(kind)) return kind;
  }
  throw wrong_value("a list of smc-d, smc-r, tcp and other in order of preference, e.g. smc-d,tcp");
}

std::vector<transport_kind> parse_transports(std::string_view text) {
  std::vector<transport_kind> kinds;
  for (const auto item : parse_list(text)) kinds.push_back(parse_transport(item));
  return kinds;
}

fallback_policy parse_fallback(std::string_view text) {
  if (text == "allow") return fallback_policy::allow;
  if (text == "forbid") return fallback_policy::forbid;
  throw wrong_value("allow or forbid");
}

uid_t parse_uid(std::string_view text) {
  constexpr const char* right = "a list of numeric user ids, e.g. 1000,1001";
  const std::uint64_t number = take_number(text, right);
  // The largest one means "no user" to the system.
  if (!text.empty() || number >= std::numeric_limits<uid_t>::max()) throw wrong_value(right);
  return static_cast<uid_t>(number);
}

}  // namespace smc::config_detail
