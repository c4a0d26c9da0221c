#pragma once
// A user's buffer sequence as a span, without allocation.
#include <array>
#include <asio/buffer.hpp>
#include <cstddef>
#include <span>
#include <type_traits>

namespace smc::detail {

/// The first buffers of `sequence`, at most 16 (as many as Asio's composed operations pass) and
/// empty ones left out: a *_some call may transfer less than it was given.
template <typename Buffer, typename Sequence>
class buffer_list {
 public:
  explicit buffer_list(const Sequence& sequence) {
    const auto end = asio::buffer_sequence_end(sequence);
    for (auto i = asio::buffer_sequence_begin(sequence); i != end && count_ < buffers_.size();
         ++i) {
      const Buffer buffer(*i);
      if (buffer.size() != 0) buffers_[count_++] = buffer;
    }
  }
  std::span<const Buffer> span() const noexcept { return {buffers_.data(), count_}; }

 private:
  static constexpr bool single = std::is_same_v<Sequence, asio::mutable_buffer> ||
                                 std::is_same_v<Sequence, asio::const_buffer> ||
                                 std::is_convertible_v<const Sequence&, Buffer>;
  std::array<Buffer, single ? 1 : 16> buffers_;
  std::size_t count_ = 0;
};

}  // namespace smc::detail
