#include "config/limits.hpp"

#include <algorithm>
#include <bit>

#include "config/parse.hpp"

namespace smc::config_detail {
namespace {

constexpr std::size_t smallest_ring = std::size_t{16} << 10;
constexpr std::size_t largest_ring = std::size_t{512} << 20;
constexpr std::size_t longest_rendezvous_directory = 56;
constexpr std::size_t longest_eid = 32;
constexpr std::size_t most_eids = 4;

bool upper_or_digit(char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

bool well_formed_eid(const std::string& eid) {
  return !eid.empty() && eid.size() <= longest_eid && upper_or_digit(eid.front()) &&
         std::ranges::all_of(eid, [](char c) { return upper_or_digit(c) || c == '.' || c == '-'; });
}

}  // namespace

std::size_t allowed_ring_size(std::size_t bytes) {
  if (bytes < smallest_ring || bytes > largest_ring) throw wrong_value("a size from 16K to 512M");
  return std::bit_ceil(bytes);
}

void check_transports(const std::vector<transport_kind>& kinds) {
  if (kinds.empty())
    throw wrong_value("at least one of smc-d, smc-r, tcp and other, e.g. smc-d,tcp");
  for (auto kind = kinds.begin(); kind != kinds.end(); ++kind) {
    if (*kind > transport_kind::other || *kind < transport_kind::tcp) {
      throw wrong_value("a list of smc-d, smc-r, tcp and other, e.g. smc-d,tcp");
    }
    if (std::find(kinds.begin(), kind, *kind) != kind) {
      throw wrong_value("a list that names each transport once, e.g. smc-d,tcp");
    }
  }
}

void check_spin_time(std::chrono::microseconds time) {
  using namespace std::chrono_literals;
  if (time < 1us || time > 1s) throw wrong_value("automatic, never, or a time from 1us to 1s");
}

void check_timeout(std::chrono::milliseconds time) {
  using namespace std::chrono_literals;
  if (time < 1ms || time > 1h) throw wrong_value("a time from 1ms to 3600s");
}

void check_rendezvous_directory(const std::string& path) {
  if (path.empty()) return;
  if (path.front() != '/' || path.size() > longest_rendezvous_directory ||
      path.find('\0') != std::string::npos) {
    throw wrong_value("an absolute path of at most 56 characters, or nothing");
  }
}

void check_eids(const std::vector<std::string>& eids) {
  if (eids.size() > most_eids || !std::ranges::all_of(eids, well_formed_eid)) {
    throw wrong_value(
        "at most 4 names of at most 32 characters: upper-case letters, digits, '.' and '-', a "
        "letter or digit "
        "first");
  }
}

}  // namespace smc::config_detail
