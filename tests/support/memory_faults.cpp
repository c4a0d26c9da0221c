#include "support/memory_faults.hpp"

#include <mutex>

namespace smc::test {

namespace {

std::mutex mutex;
memory_faults current;

side_faults& of(memory_side side) {
  return side == memory_side::client ? current.client : current.server;
}

direction_faults& of(memory_side side, detail::direction d) {
  return d == detail::direction::read ? of(side).reads : of(side).writes;
}

bool take_one(std::size_t& count) { return count != 0 && count-- != 0; }

}  // namespace

void injected_faults::set(const memory_faults& wanted) {
  const std::lock_guard lock(mutex);
  current = wanted;
}

memory_faults injected_faults::left() {
  const std::lock_guard lock(mutex);
  return current;
}

namespace faults {

reason probe() {
  const std::lock_guard lock(mutex);
  return current.probe;
}

reason at_step(failing_call memory_faults::*step) {
  const std::lock_guard lock(mutex);
  failing_call& call = current.*step;
  return call.number != 0 && --call.number == 0 ? call.why : reason::none;
}

bool takes_blocked_try(memory_side side, detail::direction d) {
  const std::lock_guard lock(mutex);
  return take_one(of(side, d).blocked_tries);
}

bool takes_idle_wakeup(memory_side side, detail::direction d) {
  const std::lock_guard lock(mutex);
  return take_one(of(side, d).idle_wakeups);
}

std::size_t most(memory_side side, detail::direction d) {
  const std::lock_guard lock(mutex);
  return of(side, d).most;
}

std::size_t left_before_break(memory_side side) {
  const std::lock_guard lock(mutex);
  return of(side).breaks_after;
}

void written(memory_side side, std::size_t n) {
  const std::lock_guard lock(mutex);
  std::size_t& left = of(side).breaks_after;
  if (left != unlimited) left -= n < left ? n : left;
}

}  // namespace faults

}  // namespace smc::test
