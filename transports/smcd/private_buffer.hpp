#pragma once
// Memory of this process only, made when it is first needed: a send buffer where the peer's ring is
// not mapped, and a place for spans that would cross the end of a ring that is mapped once.
#include <cstddef>
#include <cstdint>

#include "system/memory.hpp"

namespace smc::smcd {

class private_buffer {
 public:
  private_buffer() noexcept = default;
  private_buffer(const private_buffer&) = delete;
  private_buffer& operator=(const private_buffer&) = delete;
  ~private_buffer() { system::unmap(data_, size_); }

  /// At least `size` bytes (always asked with the same size); nullptr where there is no memory.
  std::byte* get(std::size_t size) noexcept {
    if (data_ == nullptr) {
      const auto made = system::map_private(size);
      if (made.error) return nullptr;
      data_ = made.value;
      size_ = size;
    }
    return data_;
  }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace smc::smcd
