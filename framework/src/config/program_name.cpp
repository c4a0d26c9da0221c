#include <errno.h>
#include <unistd.h>

#include <array>

#include "config/rules.hpp"

namespace smc::config_detail {
namespace {

std::string executable() {
  std::array<char, 4096> path;
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
  if (size <= 0) return ::program_invocation_short_name;  // no /proc here
  std::string_view text(path.data(), static_cast<std::size_t>(size));
  constexpr std::string_view replaced = " (deleted)";  // by an update, while the program runs
  if (text.ends_with(replaced)) text.remove_suffix(replaced.size());
  return std::string(text.substr(text.rfind('/') + 1));
}

}  // namespace

const std::string& program_name() {
  static const std::string& name = *new std::string(executable());  // streams may end late
  return name;
}

}  // namespace smc::config_detail
