#include "smcd/slab.hpp"

#include <new>
#include <utility>

#include "smc/size_class.hpp"

namespace smc::smcd {

namespace {

// More could not be one peer's honest wish, and the sizes can't overflow below it.
constexpr std::size_t max_rings = 1 << 16;
constexpr std::size_t max_slab_bytes = std::size_t{1} << 40;

bool valid_geometry(std::size_t ring_size, std::size_t rings) noexcept {
  return detail::is_ring_size(ring_size) && rings > 0 && rings <= max_rings &&
         ring_size * rings <= max_slab_bytes;
}

}  // namespace

slab::outcome slab::create(std::uint32_t id, std::size_t ring_size, std::size_t rings,
                           system::memory_budget& budget) noexcept {
  if (!valid_geometry(ring_size, rings)) return {nullptr, reason::no_memory};
  const auto size = slab_bytes(ring_size, rings);
  system::budget_share share;
  if (const auto why = share.take(budget, size, 0); why != reason::none) return {nullptr, why};
  auto memory = system::segment::create("smc-rings", size);
  if (memory.error) return {nullptr, system::setup_reason(memory.error)};
  std::unique_ptr<slab> made(new (std::nothrow)
                                 slab(id, ring_size, rings, std::move(memory.value)));
  if (!made) return {nullptr, reason::no_memory};
  made->bytes_ = std::move(share);
  auto done = finish(std::move(made), budget);
  if (done.value) {
    for (std::size_t i = 0; i < rings; ++i) new (done.value->ring(i).header) ring_header{};
  }
  return done;
}

slab::outcome slab::attach(std::uint32_t id, std::size_t ring_size, std::size_t rings,
                           system::descriptor file, system::memory_budget& budget) noexcept {
  if (!valid_geometry(ring_size, rings)) return {nullptr, reason::protocol_error};
  auto memory = system::segment::attach(std::move(file), slab_bytes(ring_size, rings));
  if (memory.error) return {nullptr, system::setup_reason(memory.error)};
  std::unique_ptr<slab> made(new (std::nothrow)
                                 slab(id, ring_size, rings, std::move(memory.value)));
  if (!made) return {nullptr, reason::no_memory};
  return finish(std::move(made), budget);
}

slab::outcome slab::finish(std::unique_ptr<slab> made, system::memory_budget& budget) noexcept {
  if (made->mappings_.take(budget, 0, made->rings_ + 1) == reason::none) {
    if (!made->map_mirrored()) {
      made->mirrored_ = true;
      return {std::move(made), reason::none};
    }
    // The kernel may have fewer mappings left than we thought: once more with one.
    made->mapping_ = system::mapping();
    made->mappings_ = system::budget_share();
  }
  if (const auto why = made->mappings_.take(budget, 0, 1); why != reason::none) {
    return {nullptr, why};
  }
  auto whole = system::mapping::whole(made->segment_);
  if (whole.error) return {nullptr, system::setup_reason(whole.error)};
  made->mapping_ = std::move(whole.value);
  return {std::move(made), reason::none};
}

std::error_code slab::map_mirrored() noexcept {
  const auto headers = header_bytes(rings_);
  auto range = system::mapping::reserve(headers + 2 * ring_size_ * rings_);
  if (range.error) return range.error;
  // Each call maps what lies in a row in the file: a ring's second copy together with the next
  // ring's first.
  auto error = range.value.place(0, headers + ring_size_, segment_, 0);
  for (std::size_t i = 0; i < rings_ && !error; ++i) {
    const auto at = headers + (2 * i + 1) * ring_size_;
    const auto pieces = i + 1 < rings_ ? 2u : 1u;
    error = range.value.place(at, pieces * ring_size_, segment_, headers + i * ring_size_);
  }
  if (!error) error = range.value.finish();
  if (!error) mapping_ = std::move(range.value);
  return error;
}

ring_memory slab::ring(std::size_t index) const noexcept {
  auto* base = mapping_.data();
  return {reinterpret_cast<ring_header*>(base + index * sizeof(ring_header)),
          base + header_bytes(rings_) + index * ring_size_ * (mirrored_ ? 2 : 1), ring_size_,
          mirrored_};
}

}  // namespace smc::smcd
