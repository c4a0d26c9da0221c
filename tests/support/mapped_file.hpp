#pragma once
// A descriptor's memory, for tests that look into what processes share.
#include <sys/mman.h>

#include <cstddef>
#include <stdexcept>

namespace smc::test {

/// A descriptor's memory, mapped here.
class mapped_file {
 public:
  mapped_file(int file, std::size_t size) : size_(size) {
    void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at == MAP_FAILED) throw std::runtime_error("mmap");
    data_ = static_cast<std::byte*>(at);
  }
  ~mapped_file() { ::munmap(data_, size_); }
  mapped_file(const mapped_file&) = delete;
  mapped_file& operator=(const mapped_file&) = delete;

  std::byte* data() const noexcept { return data_; }
  template <typename T>
  T& at(std::size_t offset) const noexcept {
    return *reinterpret_cast<T*>(data_ + offset);
  }

 private:
  std::byte* data_;
  std::size_t size_;
};

}  // namespace smc::test
