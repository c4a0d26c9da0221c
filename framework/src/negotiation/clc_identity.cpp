#include "negotiation/clc_identity.hpp"

#include <algorithm>

namespace smc::clc {
namespace {

bool alphanumeric(char c) noexcept { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

bool well_formed(std::string_view text) noexcept {
  return !text.empty() && text.size() <= eid::size && alphanumeric(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return alphanumeric(c) || c == '.' || c == '-'; });
}

std::string_view unpadded(const std::array<char, eid::size>& padded) noexcept {
  std::string_view text(padded.data(), padded.size());
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

}  // namespace

std::optional<eid> eid::from_text(std::string_view text) noexcept {
  if (!well_formed(text)) return std::nullopt;
  std::array<char, size> padded;
  padded.fill(' ');
  std::copy(text.begin(), text.end(), padded.begin());
  return eid(padded);
}

std::optional<eid> eid::from_wire(const std::array<char, size>& padded) noexcept {
  if (!well_formed(unpadded(padded))) return std::nullopt;
  return eid(padded);
}

std::string_view eid::text() const noexcept { return unpadded(padded_); }

}  // namespace smc::clc
