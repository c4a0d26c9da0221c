#pragma once
// What a system call gives back: a value, or the error that kept it from giving one.
#include <asio/error.hpp>
#include <cerrno>
#include <system_error>
#include <utility>

namespace smc::system {

/// A value or an error. Calls without a value return a plain `std::error_code`.
template <typename T>
struct [[nodiscard]] result {
  T value{};
  std::error_code error;

  result() = default;
  result(T v) noexcept : value(std::move(v)) {}                // NOLINT: implicit on purpose
  result(std::error_code e) noexcept : error(std::move(e)) {}  // NOLINT: implicit on purpose

  explicit operator bool() const noexcept { return !error; }
};

inline std::error_code error_of(int number) noexcept {
  // Asio's category, not the standard library's: else a code would differ from Asio's own of the
  // same number.
  return std::error_code(number, asio::error::get_system_category());
}
inline std::error_code last_error() noexcept { return error_of(errno); }

}  // namespace smc::system
