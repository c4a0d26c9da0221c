#include "system/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "system/fork.hpp"
#include "system/memory.hpp"

#ifndef F_SEAL_EXEC
#define F_SEAL_EXEC 0x0020
#endif

namespace smc::system {

namespace {
constexpr int our_seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
// Kernels can be told to add this one to every memory file; it does not concern memory.
constexpr int harmless_seals = F_SEAL_EXEC;
}  // namespace

reason setup_reason(std::error_code error) noexcept {
  if (!error) return reason::none;
  switch (error.value()) {
    case EMFILE:
    case ENFILE:
      return reason::descriptor_limit;
    case EACCES:
    case EPERM:
    case ENOSYS:
      return reason::not_permitted;
    case EFBIG:
      return reason::memory_limit;
    case EINVAL:
      return reason::protocol_error;
    default:
      return reason::no_memory;
  }
}

result<segment> segment::create(const char* name, std::size_t size) noexcept {
  auto file = create_memory_file(name);
  if (file.error) return file.error;
  // fallocate also makes the file as long as it is.
  if (auto error = reserve(file.value, size)) return error;
  if (auto error = add_seals(file.value, our_seals)) return error;
  return segment(std::move(file.value), size);
}

result<segment> segment::attach(descriptor file, std::size_t expected_size) noexcept {
  const auto invalid = error_of(EINVAL);
  const auto seals = get_seals(file);
  if (seals.error) return seals.error;
  if ((seals.value & ~harmless_seals) != our_seals) return invalid;
  const auto status = status_of(file);
  if (status.error) return status.error;
  if (!S_ISREG(status.value.mode) || status.value.size != expected_size ||
      status.value.allocated < expected_size) {
    return invalid;
  }
  return segment(std::move(file), expected_size);
}

mapping::~mapping() {
  if (data_ != nullptr && generation_ == fork_generation()) unmap(data_, size_);
}

result<mapping> mapping::reserve(std::size_t size) noexcept {
  const auto range = map_nothing(size);
  if (range.error) return range.error;
  mapping made;
  made.data_ = range.value;
  made.size_ = size;
  made.generation_ = fork_generation();
  return made;
}

result<mapping> mapping::whole(const segment& from) noexcept {
  auto range = reserve(from.size());
  if (range.error) return range.error;
  if (auto error = range.value.place(0, from.size(), from, 0)) return error;
  if (auto error = range.value.finish()) return error;
  return range;
}

std::error_code mapping::place(std::size_t at, std::size_t size, const segment& from,
                               std::size_t offset) noexcept {
  return map_file_at(data_ + at, size, from.file(), offset);
}

std::error_code mapping::finish() noexcept {
  if (auto error = advise(data_, size_, MADV_DONTFORK)) return error;
  return populate(data_, size_);
}

void mapping::swap(mapping& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(generation_, other.generation_);
}

}  // namespace smc::system
