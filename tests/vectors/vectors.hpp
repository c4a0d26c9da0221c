#pragma once
// The test vectors of smc.txt, by name.
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace smc::test {

using bytes = std::vector<std::byte>;

inline bytes from_hex(std::string_view hex) {
  const auto digit = [](char c) -> unsigned {
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
    throw std::invalid_argument("not a hexadecimal digit");
  };
  bytes result;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    result.push_back(static_cast<std::byte>(digit(hex[i]) << 4 | digit(hex[i + 1])));
  }
  return result;
}

/// All vectors, in the order of their names.
inline const std::map<std::string, bytes>& vectors() {
  static const auto all = [] {
    std::ifstream file(std::filesystem::path(__FILE__).parent_path() / "smc.txt");
    if (!file) throw std::runtime_error("smc.txt is missing beside vectors.hpp");
    std::map<std::string, bytes> result;
    for (std::string line; std::getline(file, line);) {
      if (line.empty() || line.front() == '#') continue;
      const std::size_t name_end = line.find('\t');
      const std::size_t hex_end = line.find('\t', name_end + 1);
      result[line.substr(0, name_end)] =
          from_hex(std::string_view(line).substr(name_end + 1, hex_end - name_end - 1));
    }
    return result;
  }();
  return all;
}

inline const bytes& vector(const std::string& name) { return vectors().at(name); }

}  // namespace smc::test
