#include "conformance/differential/shrink.hpp"

#include <algorithm>

namespace smc::test {

script shrunk(script failing, const std::function<bool(const script&)>& fails, int limit) {
  const auto try_instead = [&](script less) {
    if (limit-- <= 0 || !fails(less)) return false;
    failing = std::move(less);
    return true;
  };
  for (std::size_t chunk = std::max<std::size_t>(failing.size() / 2, 1);; chunk /= 2) {
    for (std::size_t from = 0; from < failing.size() && limit > 0;) {
      script less = failing;
      const auto begin = less.begin() + static_cast<std::ptrdiff_t>(from);
      const auto size = std::min(chunk, less.size() - from);
      less.erase(begin, begin + static_cast<std::ptrdiff_t>(size));
      if (!try_instead(std::move(less))) from += chunk;
    }
    if (chunk <= 1) break;
  }
  for (std::size_t i = 0; i < failing.size() && limit > 0; ++i) {
    for (bool smaller = true; smaller && failing[i].size > 1;) {
      script less = failing;
      less[i].size /= 2;
      smaller = try_instead(std::move(less));
    }
    script less = failing;
    less[i].pieces = 1;
    if (failing[i].pieces != 1) try_instead(std::move(less));
  }
  return failing;
}

}  // namespace smc::test
