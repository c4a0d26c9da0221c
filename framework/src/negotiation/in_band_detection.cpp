#include "negotiation/in_band_detection.hpp"

#include <algorithm>

#include "negotiation/clc_header.hpp"

namespace smc::negotiation {

proposal_beginning examine_beginning(std::span<const std::byte> head) noexcept {
  const auto& mark = clc::smcr_eyecatcher;
  const std::size_t compared = std::min(head.size(), mark.size());
  if (!std::equal(head.begin(), head.begin() + static_cast<std::ptrdiff_t>(compared),
                  mark.begin())) {
    return {};
  }
  if (head.size() < clc::header_size) return {true, 0};
  const auto header = clc::decode_header(head);
  if (!header || header->type != clc::message_type::proposal) return {};
  return {true, header->length};
}

in_band_detection::in_band_detection(time_point accepted, duration detect_timeout,
                                     duration clc_timeout) noexcept
    : limit_(accepted + detect_timeout), clc_timeout_(clc_timeout) {}

in_band_detection::verdict in_band_detection::look(std::span<const std::byte> head, bool ended,
                                                   time_point now) noexcept {
  if (verdict_ != verdict::unknown) return verdict_;
  if (head.empty()) return ended ? verdict_ = verdict::plain : verdict::unknown;
  const proposal_beginning found = examine_beginning(head);
  if (!found.possible) return verdict_ = verdict::plain;
  size_ = found.size;
  if (size_ != 0 && head.size() >= size_) {
    // What only looks like one from the front is the peer's data.
    const bool whole = static_cast<bool>(clc::decode_frame(head.first(size_)));
    return verdict_ = whole ? verdict::proposal : verdict::plain;
  }
  if (ended) return verdict_ = verdict::plain;
  if (!begun_) limit_ = now + clc_timeout_;
  begun_ = true;
  return verdict::unknown;
}

in_band_detection::verdict in_band_detection::deadline(time_point now) noexcept {
  if (verdict_ != verdict::unknown || now < limit_) return verdict_;
  return verdict_ = begun_ ? verdict::plain : verdict::undecided;
}

}  // namespace smc::negotiation
