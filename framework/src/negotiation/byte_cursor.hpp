#pragma once
// Reading and writing integers of a fixed byte order, one after the other.
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace smc::negotiation {

/// Reads from untrusted bytes. Reading beyond the end gives zeroes or nothing and is remembered, so
/// that a decoder may read a run of fields and ask once.
template <std::endian Order>
class byte_reader {
 public:
  explicit byte_reader(std::span<const std::byte> bytes) noexcept : rest_(bytes) {}

  bool ok() const noexcept { return ok_; }
  std::size_t remaining() const noexcept { return rest_.size(); }

  template <std::unsigned_integral T>
  T integer() noexcept {
    const auto field = bytes(sizeof(T));
    T value = 0;
    for (std::size_t i = 0; i < field.size(); ++i) {
      const std::size_t place = Order == std::endian::big ? field.size() - 1 - i : i;
      value = static_cast<T>(
          value | (static_cast<T>(std::to_integer<std::uint8_t>(field[i])) << (8 * place)));
    }
    return value;
  }

  /// The next `n` bytes; none of them where there are fewer.
  std::span<const std::byte> bytes(std::size_t n) noexcept {
    if (n > rest_.size()) {
      ok_ = false;
      rest_ = {};
      return {};
    }
    const auto taken = rest_.first(n);
    rest_ = rest_.subspan(n);
    return taken;
  }

  /// Fills an array of bytes or characters; leaves it alone where too few are left.
  template <typename Array>
  void fill(Array& target) noexcept {
    const auto field = bytes(target.size());
    for (std::size_t i = 0; i < field.size(); ++i) {
      target[i] = static_cast<typename Array::value_type>(std::to_integer<std::uint8_t>(field[i]));
    }
  }

  void skip(std::size_t n) noexcept { bytes(n); }

 private:
  std::span<const std::byte> rest_;
  bool ok_ = true;
};

/// Appends to a vector.
template <std::endian Order>
class byte_writer {
 public:
  explicit byte_writer(std::vector<std::byte>& out) noexcept : out_(out) {}

  template <std::unsigned_integral T>
  void integer(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      const std::size_t place = Order == std::endian::big ? sizeof(T) - 1 - i : i;
      out_.push_back(static_cast<std::byte>(static_cast<std::uint8_t>(value >> (8 * place))));
    }
  }

  void bytes(std::span<const std::byte> source) {
    out_.insert(out_.end(), source.begin(), source.end());
  }

  template <typename Array>
  void array(const Array& source) {
    for (const auto value : source) out_.push_back(static_cast<std::byte>(value));
  }

  void zeroes(std::size_t n) { out_.insert(out_.end(), n, std::byte{0}); }

 private:
  std::vector<std::byte>& out_;
};

}  // namespace smc::negotiation
