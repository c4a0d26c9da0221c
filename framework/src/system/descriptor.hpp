#pragma once
// File descriptors of the library: owned, close-on-exec, and known to the fork handler.
#include <cstddef>
#include <utility>

#include "system/result.hpp"

namespace smc::system {

/// Owns one file descriptor.
///
/// Guarantees: close-on-exec (whoever makes the descriptor sees to it); in a child of fork() the
/// number refers to an eventfd that nobody rings, so that the child neither keeps the parent's
/// connections alive nor speaks on them, and closing it there is safe. Threading: distinct objects
/// may be used by distinct threads.
class descriptor {
 public:
  /// Numbers from here on are refused by adopt(): the fork handler's table ends here.
  static constexpr int number_limit = 1 << 20;

  descriptor() noexcept = default;
  descriptor(descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  descriptor& operator=(descriptor&& other) noexcept {
    if (this != &other) {
      reset();
      number_ = std::exchange(other.number_, -1);
    }
    return *this;
  }
  ~descriptor() { reset(); }

  /// Takes over an open descriptor and closes it in the end. EMFILE (and closed) if its number is
  /// beyond the limit.
  static result<descriptor> adopt(int number) noexcept;

  int get() const noexcept { return number_; }
  explicit operator bool() const noexcept { return number_ >= 0; }

  /// Closes now.
  void reset() noexcept;
  /// Gives up ownership: the caller closes, and the fork handler forgets it.
  [[nodiscard]] int release() noexcept;
  /// A second descriptor for the same open file.
  result<descriptor> duplicate() const noexcept;

 private:
  explicit descriptor(int number) noexcept : number_(number) {}

  int number_ = -1;
};

namespace detail {
/// Puts a silent eventfd over every registered descriptor. Async-signal-safe; called in the child
/// of a fork.
void neutralise_registered_descriptors() noexcept;
}  // namespace detail

/// How many descriptors the library holds (for tests and statistics).
std::size_t registered_descriptors() noexcept;

}  // namespace smc::system
