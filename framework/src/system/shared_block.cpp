#include "system/shared_block.hpp"

#include <utility>

namespace smc::system {

reason shared_block::create(const char* name, std::size_t size, memory_budget& budget) noexcept {
  if (const auto why = share_.take(budget, size, 1); why != reason::none) return why;
  return map(segment::create(name, size));
}

reason shared_block::attach(descriptor file, std::size_t size, memory_budget& budget) noexcept {
  auto memory = segment::attach(std::move(file), size);
  if (memory.error) return setup_reason(memory.error);
  if (const auto why = share_.take(budget, 0, 1); why != reason::none) return why;
  return map(std::move(memory));
}

reason shared_block::map(result<segment> memory) noexcept {
  if (memory.error) return setup_reason(memory.error);
  auto mapped = mapping::whole(memory.value);
  if (mapped.error) return setup_reason(mapped.error);
  memory_ = std::move(memory.value);
  mapping_ = std::move(mapped.value);
  return reason::none;
}

}  // namespace smc::system
