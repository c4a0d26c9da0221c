#include "conformance/differential/script.hpp"

#include <array>
#include <ostream>
#include <random>

namespace smc::test {

namespace {

struct weighted {
  verb what;
  unsigned weight;
  const char* name;
};

constexpr std::array<weighted, 21> verbs{{{verb::write, 20, "write"},
                                          {verb::write_some, 14, "write_some"},
                                          {verb::write_now, 8, "write_now"},
                                          {verb::write_in_place, 10, "write_in_place"},
                                          {verb::read, 16, "read"},
                                          {verb::read_some, 28, "read_some"},
                                          {verb::read_now, 8, "read_now"},
                                          {verb::read_in_place, 10, "read_in_place"},
                                          {verb::wait_read, 6, "wait_read"},
                                          {verb::wait_write, 4, "wait_write"},
                                          {verb::cancel_one, 9, "cancel_one"},
                                          {verb::cancel_all, 3, "cancel_all"},
                                          {verb::available, 4, "available"},
                                          {verb::shutdown_send, 4, "shutdown_send"},
                                          {verb::shutdown_receive, 1, "shutdown_receive"},
                                          {verb::shutdown_both, 1, "shutdown_both"},
                                          {verb::close, 3, "close"},
                                          {verb::reset, 1, "reset"},
                                          {verb::exchange, 3, "exchange"},
                                          {verb::overfill, 1, "overfill"},
                                          {verb::reconnect, 2, "reconnect"}}};

// std::uniform_int_distribution is not the same everywhere; this is.
std::size_t below(std::mt19937_64& random, std::size_t limit) { return random() % limit; }

/// All sizes, the small ones and those around the powers of two more often.
std::size_t random_size(std::mt19937_64& random) {
  switch (below(random, 8)) {
    case 0:
      return below(random, 4);
    case 1:
    case 2:
    case 3:
      return below(random, 300);
    case 4:
    case 5:
      return below(random, 9'000);
    case 6:
      return (std::size_t{1} << below(random, 16)) + below(random, 3) - 1;
    default:
      return below(random, 49'000);
  }
}

verb random_verb(std::mt19937_64& random) {
  unsigned all = 0;
  for (const auto& each : verbs) all += each.weight;
  auto left = static_cast<unsigned>(below(random, all));
  for (const auto& each : verbs) {
    if (left < each.weight) return each.what;
    left -= each.weight;
  }
  return verb::write;
}

}  // namespace

script random_script(std::uint64_t seed) {
  std::mt19937_64 random(seed * 0x9e3779b97f4a7c15u + 1);
  script made(20 + below(random, 60));
  for (step& each : made) {
    each.what = random_verb(random);
    each.by_client = below(random, 2) == 0;
    each.size = random_size(random);
    each.pieces = below(random, 3) == 0 ? 1 + below(random, 20) : 1;
    each.variant = static_cast<unsigned>(below(random, 1000));
  }
  return made;
}

std::ostream& operator<<(std::ostream& to, const step& what) {
  for (const auto& each : verbs) {
    if (each.what == what.what) to << (what.by_client ? "client " : "server ") << each.name;
  }
  return to << " of " << what.size << " in " << what.pieces << ", variant " << what.variant;
}

}  // namespace smc::test
