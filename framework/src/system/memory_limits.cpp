#include "system/memory_limits.hpp"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

namespace smc::system {

namespace {

std::optional<std::uint64_t> read_number(const std::string& path) {
  std::ifstream in(path);
  std::uint64_t value = 0;
  if (in >> value) return value;
  return std::nullopt;
}

// The value of a line "key value" of a file.
std::optional<std::uint64_t> read_field(const std::string& path, std::string_view key) {
  std::ifstream in(path);
  std::string name;
  std::uint64_t value = 0;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    if (words >> name >> value && name == key) return value;
  }
  return std::nullopt;
}

bool has_word(std::string_view list, std::string_view word) {
  for (std::size_t at = 0; at <= list.size();) {
    const auto comma = std::min(list.find(',', at), list.size());
    if (list.substr(at, comma - at) == word) return true;
    at = comma + 1;
  }
  return false;
}

// The names of the files that say the same thing in the two versions.
struct group_files {
  const char* limit;
  const char* usage;
  const char* cache;  // key in memory.stat: what the kernel can drop
};
constexpr group_files version_1{"/memory.limit_in_bytes", "/memory.usage_in_bytes",
                                "total_inactive_file"};
constexpr group_files version_2{"/memory.max", "/memory.current", "inactive_file"};

struct hierarchy {
  std::string mount_point;
  std::string mounted_root;  // which group the mount point shows
  const group_files* files;
};

// Lines of mountinfo: id parent device root mount-point options [optional…] - type source
// super-options
std::vector<hierarchy> memory_hierarchies(const std::string& root) {
  std::vector<hierarchy> found;
  std::ifstream in(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(in, line);) {
    const auto separator = line.find(" - ");
    if (separator == std::string::npos) continue;
    std::istringstream first(line.substr(0, separator));
    std::istringstream second(line.substr(separator + 3));
    std::string id, parent, device, mounted_root, mount_point, type, source, options;
    if (!(first >> id >> parent >> device >> mounted_root >> mount_point)) continue;
    if (!(second >> type >> source)) continue;
    second >> options;
    if (type == "cgroup2") {
      found.push_back({mount_point, mounted_root, &version_2});
    } else if (type == "cgroup" && has_word(options, "memory")) {
      found.push_back({mount_point, mounted_root, &version_1});
    }
  }
  return found;
}

// Lines of /proc/self/cgroup: number:controllers:path; version 2 has number 0 and no controllers.
std::string group_path(const std::string& root, const hierarchy& h) {
  std::ifstream in(root + "/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const auto a = line.find(':');
    const auto b = line.find(':', a == std::string::npos ? a : a + 1);
    if (b == std::string::npos) continue;
    const auto controllers = std::string_view(line).substr(a + 1, b - a - 1);
    const bool match =
        h.files == &version_2 ? controllers.empty() : has_word(controllers, "memory");
    if (match) return line.substr(b + 1);
  }
  return "/";
}

void apply(memory_limits& limits, const std::string& directory, const group_files& files) {
  const auto limit = read_number(directory + files.limit);
  if (!limit) return;  // "max", or a group without the controller
  limits.group_limit = std::min(limits.group_limit, *limit);
  const auto usage = read_number(directory + files.usage);
  if (!usage) return;
  const auto cache = read_field(directory + "/memory.stat", files.cache).value_or(0);
  const auto used = *usage - std::min(*usage, cache);
  limits.group_free = std::min(limits.group_free, *limit - std::min(*limit, used));
}

}  // namespace

memory_limits read_memory_limits(const std::string& root) {
  memory_limits limits;
  if (const auto kib = read_field(root + "/proc/meminfo", "MemTotal:")) {
    limits.machine = *kib * 1024;
  }
  for (const auto& h : memory_hierarchies(root)) {
    std::string path = group_path(root, h);
    // A container sees its own group as the mount's root; the path may be told from above it.
    if (h.mounted_root != "/" && path.rfind(h.mounted_root, 0) == 0) {
      path.erase(0, h.mounted_root.size());
    }
    for (;;) {
      while (!path.empty() && path.back() == '/') path.pop_back();
      apply(limits, root + h.mount_point + path, *h.files);
      if (path.empty()) break;
      path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
    }
  }
  return limits;
}

std::size_t read_mapping_limit(const std::string& root) {
  constexpr std::size_t kernel_default = 65530;
  return static_cast<std::size_t>(
      read_number(root + "/proc/sys/vm/max_map_count").value_or(kernel_default));
}

}  // namespace smc::system
