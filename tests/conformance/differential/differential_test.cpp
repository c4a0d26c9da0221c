// The same scripts over a bare TCP socket and over every transport: what comes of them is the same.
//
// SMC_DIFFERENTIAL_SCRIPTS=NUMBER   how many scripts (default 300)
// SMC_DIFFERENTIAL_SEED=NUMBER      the seed of the first (default 1)
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <sstream>

#include "conformance/differential/shrink.hpp"
#include "conformance/differential/transcript.hpp"

namespace smc::test {
namespace {

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

constexpr place places[] = {place::event_loop, place::io_context, place::threads_and_strand,
                            place::pool_and_strand, place::loop_and_strand};

transcript play_reference(const script& what) {
  return play(what, carrier::reference, place::io_context, style::callback);
}

const transcript& reference_of(std::uint64_t seed) {
  static std::map<std::uint64_t, transcript> played;
  const auto found = played.find(seed);
  if (found != played.end()) return found->second;
  return played.emplace(seed, play_reference(random_script(seed))).first->second;
}

std::string compared(const transcript& wanted, const transcript& got) {
  std::ostringstream text;
  for (std::size_t i = 0; i < std::max(wanted.lines.size(), got.lines.size()); ++i) {
    const std::string none = "(nothing)";
    const std::string& left = i < wanted.lines.size() ? wanted.lines[i] : none;
    const std::string& right = i < got.lines.size() ? got.lines[i] : none;
    text << (left == right ? "    " : "  ! ") << left;
    if (left != right) text << "   but   " << right;
    text << "\n";
  }
  text << "    TCP: " << (wanted.failure.empty() ? "to the end" : wanted.failure)
       << ", here: " << (got.failure.empty() ? "to the end" : got.failure) << "\n";
  return text.str();
}

class Differential : public testing::TestWithParam<std::tuple<carrier, place>> {
 protected:
  carrier by() const { return std::get<0>(GetParam()); }
  place where() const { return std::get<1>(GetParam()); }

  transcript play_here(const script& what, std::uint64_t seed) const {
    return play(what, by(), where(), seed / 5 % 2 == 0 ? style::callback : style::coroutine);
  }

  void report(std::uint64_t seed, const transcript& wanted, const transcript& got) const {
    script least = random_script(seed);
    bool hangs = !wanted.failure.empty() || !got.failure.empty();
    const auto fails = [&](const script& less) {
      if (hangs) return false;  // which takes a minute each time
      const transcript tcp = play_reference(less), here = play_here(less, seed);
      hangs = !tcp.failure.empty() || !here.failure.empty();
      return !hangs && tcp != here;
    };
    least = shrunk(least, fails, 400);
    std::ostringstream text;
    text << "seed " << seed << ":\n" << compared(wanted, got) << "the least script:\n";
    for (const step& each : least) text << "    " << each << "\n";
    if (!hangs) text << "which gives\n" << compared(play_reference(least), play_here(least, seed));
    ADD_FAILURE() << text.str();
  }
};

TEST_P(Differential, EveryScriptGivesWhatItGivesOverTcp) {
  const std::uint64_t first = number_from("SMC_DIFFERENTIAL_SEED", 1);
  const std::uint64_t count = number_from("SMC_DIFFERENTIAL_SCRIPTS", 300);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    if (places[seed % 5] != where() && count >= 5) continue;
    const transcript& wanted = reference_of(seed);
    const transcript got = play_here(random_script(seed), seed);
    if (wanted == got && wanted.failure.empty() && !HasFailure()) continue;
    report(seed, wanted, got);
    return;
  }
}

INSTANTIATE_TEST_SUITE_P(Everywhere, Differential,
                         testing::Combine(testing::Values(carrier::reference, carrier::tcp,
                                                          carrier::smc_d_mapped,
                                                          carrier::smc_d_copying, carrier::memory),
                                          all_places()),
                         name_of_setting);

}  // namespace
}  // namespace smc::test
