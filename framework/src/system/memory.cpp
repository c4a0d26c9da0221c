#include "system/memory.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

#include "system/injection.hpp"

namespace smc::system {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t) &&
              std::atomic<std::uint32_t>::is_always_lock_free);

result<descriptor> create_memory_file(const char* name) noexcept {
  if (const int e = injected(call::memfd_create)) return error_of(e);
  const int number = ::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (number < 0) return last_error();
  return descriptor::adopt(number);
}

std::error_code reserve(const descriptor& file, std::size_t size) noexcept {
  if (const int e = injected(call::fallocate)) return error_of(e);
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      size > limit.rlim_cur) {
    return error_of(EFBIG);
  }
  int r;
  do {
    r = ::fallocate(file.get(), 0, 0, static_cast<off_t>(size));
  } while (r != 0 && errno == EINTR);
  return r == 0 ? std::error_code() : last_error();
}

std::error_code add_seals(const descriptor& file, int seals) noexcept {
  if (const int e = injected(call::fcntl)) return error_of(e);
  return ::fcntl(file.get(), F_ADD_SEALS, seals) == 0 ? std::error_code() : last_error();
}

result<int> get_seals(const descriptor& file) noexcept {
  if (const int e = injected(call::fcntl)) return error_of(e);
  const int seals = ::fcntl(file.get(), F_GET_SEALS);
  if (seals < 0) return last_error();
  return seals;
}

result<file_status> status_of(const descriptor& file) noexcept {
  if (const int e = injected(call::fstat)) return error_of(e);
  struct stat s {};
  if (::fstat(file.get(), &s) != 0) return last_error();
  return file_status{static_cast<std::uint64_t>(s.st_size),
                     static_cast<std::uint64_t>(s.st_blocks) * 512, s.st_mode};
}

result<int> flags_of(const descriptor& file) noexcept {
  if (const int e = injected(call::fcntl)) return error_of(e);
  const int flags = ::fcntl(file.get(), F_GETFL);
  if (flags < 0) return last_error();
  return flags;
}

namespace {
result<std::byte*> map_anonymous(std::size_t size, int protection, int flags) noexcept {
  if (const int e = injected(call::mmap)) return error_of(e);
  void* p = ::mmap(nullptr, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  if (p == MAP_FAILED) return last_error();
  return static_cast<std::byte*>(p);
}
}  // namespace

result<std::byte*> map_nothing(std::size_t size) noexcept {
  return map_anonymous(size, PROT_NONE, MAP_NORESERVE);
}

result<std::byte*> map_private(std::size_t size) noexcept {
  return map_anonymous(size, PROT_READ | PROT_WRITE, 0);
}

std::error_code map_file_at(std::byte* where, std::size_t size, const descriptor& file,
                            std::size_t offset) noexcept {
  if (const int e = injected(call::mmap)) return error_of(e);
  void* p = ::mmap(where, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file.get(),
                   static_cast<off_t>(offset));
  return p == MAP_FAILED ? last_error() : std::error_code();
}

void unmap(std::byte* where, std::size_t size) noexcept {
  if (where != nullptr) ::munmap(where, size);
}

std::error_code protect(std::byte* where, std::size_t size, int protection) noexcept {
  if (const int e = injected(call::mprotect)) return error_of(e);
  return ::mprotect(where, size, protection) == 0 ? std::error_code() : last_error();
}

std::error_code advise(std::byte* where, std::size_t size, int advice) noexcept {
  if (const int e = injected(call::madvise)) return error_of(e);
  int r;
  do {
    r = ::madvise(where, size, advice);
  } while (r != 0 && errno == EINTR);
  return r == 0 ? std::error_code() : last_error();
}

std::error_code populate(std::byte* where, std::size_t size) noexcept {
  const auto error = advise(where, size, MADV_POPULATE_WRITE);
  return error.value() == EINVAL ? std::error_code() : error;
}

std::error_code futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                           std::chrono::milliseconds limit) noexcept {
  if (const int e = injected(call::futex)) return error_of(e);
  timespec relative{};
  relative.tv_sec = static_cast<std::time_t>(limit.count() / 1000);
  relative.tv_nsec = static_cast<long>(limit.count() % 1000) * 1000000;
  const long r = ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT, expected,
                           &relative, nullptr, 0);
  return r == 0 ? std::error_code() : last_error();
}

result<int> futex_wake(std::atomic<std::uint32_t>& word) noexcept {
  if (const int e = injected(call::futex)) return error_of(e);
  const long r = ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE, INT_MAX,
                           nullptr, nullptr, 0);
  if (r < 0) return last_error();
  return static_cast<int>(r);
}

}  // namespace smc::system
