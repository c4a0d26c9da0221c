#include "support/resources.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace smc::test {
namespace {

std::map<std::string, std::size_t>& allowed() {
  static std::map<std::string, std::size_t> by_kind;
  return by_kind;
}

// "socket:[4711]" → "socket", "/memfd:smc-slab (deleted)" and "anon_inode:[eventfd]" as they are.
std::string kind_of(std::string target) {
  for (const std::string_view numbered : {"socket:", "pipe:"}) {
    if (target.starts_with(numbered)) return std::string(numbered.substr(0, numbered.size() - 1));
  }
  return target;
}

}  // namespace

resources resources::of_this_process() {
  namespace fs = std::filesystem;
  resources found;
  std::error_code ec;
  // The iterator's own descriptor vanishes before its link can be read or points to the folder
  // itself.
  for (const auto& entry : fs::directory_iterator("/proc/self/fd", ec)) {
    const auto target = fs::read_symlink(entry.path(), ec);
    if (ec || target.string().ends_with("/fd")) continue;
    ++found.descriptors[kind_of(target.string())];
  }
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/memfd:smc") != std::string::npos) ++found.mappings;
  }
  const fs::directory_iterator tasks("/proc/self/task", ec);
  found.threads = static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
  return found;
}

std::string growth(const resources& before, const resources& after) {
  std::string text;
  const auto add = [&text](const std::string& what, std::size_t was, std::size_t is) {
    if (is > was)
      text +=
          "  " + what + ": " + std::to_string(was) + " before, " + std::to_string(is) + " after\n";
  };
  for (const auto& [kind, count] : after.descriptors) {
    const auto earlier = before.descriptors.find(kind);
    const std::size_t was = earlier == before.descriptors.end() ? 0 : earlier->second;
    const auto kept = allowed().find(kind);
    add("descriptors of " + kind, kept == allowed().end() ? was : std::max(was, kept->second),
        count);
  }
  add("mappings of the library's memory", before.mappings, after.mappings);
  add("threads", before.threads, after.threads);
  return text;
}

process_wide_descriptors::process_wide_descriptors(const std::string& kind, std::size_t count) {
  allowed()[kind] += count;
}

}  // namespace smc::test
