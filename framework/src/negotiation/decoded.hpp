#pragma once
// What a decoder gives back: the value, or why there is none.
#include <utility>
#include <variant>

namespace smc::negotiation {

template <typename T, typename Error>
class [[nodiscard]] decoded {
 public:
  decoded(T value) : content_(std::in_place_index<0>, std::move(value)) {}
  decoded(Error why) : content_(std::in_place_index<1>, why) {}

  explicit operator bool() const noexcept { return content_.index() == 0; }

  /// Requires a value.
  const T& operator*() const& { return std::get<0>(content_); }
  T&& operator*() && { return std::get<0>(std::move(content_)); }
  const T* operator->() const { return &std::get<0>(content_); }

  /// Requires that there is no value.
  Error error() const { return std::get<1>(content_); }

 private:
  std::variant<T, Error> content_;
};

}  // namespace smc::negotiation
