#pragma once
// System calls on shared memory and on the words in it that threads sleep on.
#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "system/descriptor.hpp"
#include "system/result.hpp"

namespace smc::system {

/// An anonymous file that can be sealed. Close-on-exec.
result<descriptor> create_memory_file(const char* name) noexcept;
/// Reserves every page of the first `size` bytes. Refuses what RLIMIT_FSIZE forbids instead of
/// dying of SIGXFSZ.
std::error_code reserve(const descriptor& file, std::size_t size) noexcept;
std::error_code add_seals(const descriptor& file, int seals) noexcept;
/// EINVAL for a file that can't be sealed (is no memory file).
result<int> get_seals(const descriptor& file) noexcept;

struct file_status {
  std::uint64_t size = 0;
  std::uint64_t allocated = 0;  ///< bytes that have pages
  mode_t mode = 0;
};
result<file_status> status_of(const descriptor& file) noexcept;
/// F_GETFL
result<int> flags_of(const descriptor& file) noexcept;

/// Address space without memory: nothing can be read or written, nothing else will be mapped there.
result<std::byte*> map_nothing(std::size_t size) noexcept;
/// Private zeroed memory.
result<std::byte*> map_private(std::size_t size) noexcept;
/// Maps a part of a file, shared and writable, over address space that is already the caller's.
std::error_code map_file_at(std::byte* where, std::size_t size, const descriptor& file,
                            std::size_t offset) noexcept;
void unmap(std::byte* where, std::size_t size) noexcept;
std::error_code protect(std::byte* where, std::size_t size, int protection) noexcept;
std::error_code advise(std::byte* where, std::size_t size, int advice) noexcept;
/// Gives every page of a shared mapping its page table entry now. An old kernel that can't is no
/// error.
std::error_code populate(std::byte* where, std::size_t size) noexcept;

/// Sleeps while the word is `expected`, at most `limit`; may return early. The word may be in
/// shared memory. ETIMEDOUT, EAGAIN (the word differs) and EINTR are returned as they are: the
/// caller looks again anyway.
std::error_code futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                           std::chrono::milliseconds limit) noexcept;
/// Wakes all who sleep on the word; how many they were.
result<int> futex_wake(std::atomic<std::uint32_t>& word) noexcept;

}  // namespace smc::system
