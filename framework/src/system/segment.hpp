#pragma once
// Shared memory as a file: anonymous, of fixed size, all of its pages there. And mappings of it.
#include <cstddef>
#include <cstdint>
#include <smc/error.hpp>

#include "system/descriptor.hpp"
#include "system/result.hpp"

namespace smc::system {

/// What an error of set-up means for the choice of the transport.
reason setup_reason(std::error_code error) noexcept;

/// An anonymous file that nobody can shrink, grow or unseal.
class segment {
 public:
  segment() noexcept = default;

  /// A new one of `size` bytes, a multiple of the page size. All pages are reserved.
  static result<segment> create(const char* name, std::size_t size) noexcept;
  /// One that a peer sent. EINVAL unless it is a memory file with exactly our seals, the expected
  /// size, and no holes: touching anything else could end this process.
  static result<segment> attach(descriptor file, std::size_t expected_size) noexcept;

  const descriptor& file() const noexcept { return file_; }
  std::size_t size() const noexcept { return size_; }

 private:
  segment(descriptor file, std::size_t size) noexcept : file_(std::move(file)), size_(size) {}

  descriptor file_;
  std::size_t size_ = 0;
};

/// A range of address space with parts of segments in it. Not inherited by children of fork():
/// there the range is not ours, so that nothing is unmapped there.
class mapping {
 public:
  mapping() noexcept = default;
  mapping(mapping&& other) noexcept { swap(other); }
  mapping& operator=(mapping&& other) noexcept {
    mapping moved(static_cast<mapping&&>(other));
    swap(moved);
    return *this;
  }
  ~mapping();

  /// Address space only.
  static result<mapping> reserve(std::size_t size) noexcept;
  /// A whole segment, populated.
  static result<mapping> whole(const segment& from) noexcept;

  /// Puts a part of a segment into the range.
  std::error_code place(std::size_t at, std::size_t size, const segment& from,
                        std::size_t offset) noexcept;
  /// When all is placed: page tables filled, not inherited by children.
  std::error_code finish() noexcept;

  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }

 private:
  void swap(mapping& other) noexcept;

  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::uint32_t generation_ = 0;
};

}  // namespace smc::system
