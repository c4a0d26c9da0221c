#include "smcperf/topology.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string>
#include <system_error>
#include <thread>

namespace smcperf {
namespace {

using clock = std::chrono::steady_clock;

constexpr double far_from_ns = 290;
constexpr double noise =
    1.15;  // two measurements of one topology can lie on both sides of the border
constexpr int bounces_per_sample =
    64;  // short, so that few samples contain a time slice of somebody else
constexpr std::size_t wanted_samples = 200;
constexpr auto time_limit = std::chrono::milliseconds(60);
constexpr std::uint32_t end_of_game = ~std::uint32_t{0};

// Odd values are questions, the even ones after them the answers.
struct alignas(64) line {
  std::atomic<std::uint32_t> value{0};
};

void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

// Waits for `wanted` (true) or the end of the game (false).
bool await(const line& flag, std::uint32_t wanted) noexcept {
  for (;;) {
    const std::uint32_t value = flag.value.load(std::memory_order_acquire);
    if (value == wanted) return true;
    if (value == end_of_game) return false;
    pause();
  }
}

}  // namespace

bool topology::changed() const noexcept {
  if (before.label == after.label) return false;
  const auto [less, more] = std::minmax(before.bounce_ns, after.bounce_ns);
  return more > less * noise;
}

std::string_view to_string(distance d) noexcept {
  switch (d) {
    case distance::near:
      return "near";
    case distance::far:
      return "far";
    case distance::one_cpu:
      break;
  }
  return "one-cpu";
}

std::vector<int> usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

void pin_to(int cpu) {
  if (cpu < 0 || cpu >= CPU_SETSIZE)
    throw std::system_error(EINVAL, std::system_category(), "CPU " + std::to_string(cpu));
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  if (::sched_setaffinity(0, sizeof set, &set) != 0)
    throw std::system_error(errno, std::system_category(),
                            "cannot run on CPU " + std::to_string(cpu));
}

calibration calibrate(int first, int second) {
  if (first == second) return {};
  line flag;
  std::thread answerer([&] {
    try {
      pin_to(second);
    } catch (const std::system_error&) {
      // The samples then say what the unpinned threads have, which is what the run would get.
    }
    for (std::uint32_t i = 1; await(flag, i); i += 2)
      flag.value.store(i + 1, std::memory_order_release);
  });
  std::vector<double> samples;
  std::thread asker([&] {
    try {
      pin_to(first);
    } catch (const std::system_error&) {
    }
    std::uint32_t i = 0;
    const auto limit = clock::now() + time_limit;
    while (samples.size() < wanted_samples) {
      const auto begin = clock::now();
      if (!samples.empty() && begin > limit) break;
      for (int n = 0; n < bounces_per_sample; ++n) {
        flag.value.store(++i, std::memory_order_release);
        await(flag, ++i);
      }
      const std::chrono::duration<double, std::nano> spent = clock::now() - begin;
      samples.push_back(spent.count() / bounces_per_sample);
    }
    flag.value.store(end_of_game, std::memory_order_release);
  });
  asker.join();
  answerer.join();
  // The lower quartile: other programs on the CPUs only ever add.
  const auto quartile = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 4);
  std::nth_element(samples.begin(), quartile, samples.end());
  return {*quartile > far_from_ns ? distance::far : distance::near, *quartile};
}

calibration calibrate(const std::vector<int>& cpus) {
  if (cpus.size() < 2) return {};
  return calibrate(cpus[0], cpus[1]);
}

}  // namespace smcperf
