#pragma once
// Memory for what must start where nobody could be told that there is none.
#include <array>
#include <cstddef>
#include <new>
#include <utility>

namespace smc::detail {

/// Room for one block, had from the beginning; it outlives the block. A second one, while the room
/// is taken, is allocated.
template <std::size_t Size>
class reserved_memory {
 public:
  reserved_memory() noexcept {}  // the room stays as it is
  reserved_memory(const reserved_memory&) = delete;
  reserved_memory& operator=(const reserved_memory&) = delete;

  void* take(std::size_t bytes) {
    if (bytes > Size || std::exchange(taken_, true)) return ::operator new(bytes);
    return room_.data();
  }
  void give_back(void* block) noexcept {
    if (block == room_.data()) {
      taken_ = false;
    } else {
      ::operator delete(block);
    }
  }

 private:
  alignas(std::max_align_t) std::array<std::byte, Size> room_;
  bool taken_ = false;
};

/// For handlers and functions that wait in reserved memory.
template <typename T, std::size_t Size>
class reserved_allocator {
 public:
  using value_type = T;
  template <typename U>
  struct rebind {
    using other = reserved_allocator<U, Size>;
  };

  explicit reserved_allocator(reserved_memory<Size>& memory) noexcept : memory_(&memory) {}
  template <typename U>
  reserved_allocator(const reserved_allocator<U, Size>& other) noexcept : memory_(other.memory_) {}

  T* allocate(std::size_t count) {
    static_assert(sizeof(T) <= Size && alignof(T) <= alignof(std::max_align_t));
    return static_cast<T*>(memory_->take(count * sizeof(T)));
  }
  void deallocate(T* block, std::size_t) noexcept { memory_->give_back(block); }

  template <typename U>
  bool operator==(const reserved_allocator<U, Size>& other) const noexcept {
    return memory_ == other.memory_;
  }

 private:
  template <typename, std::size_t>
  friend class reserved_allocator;
  reserved_memory<Size>* memory_;
};

}  // namespace smc::detail
