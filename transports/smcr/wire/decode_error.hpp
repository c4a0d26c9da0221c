#pragma once
// Why a message on a link was dropped.
#include <cstdint>
#include <string_view>

#include "negotiation/decoded.hpp"

namespace smc::wire {

/// Counted by the receiver; the values are stable.
enum class decode_error : std::uint8_t {
  truncated = 1,  ///< shorter than any message
  too_long,       ///< longer than any message of its kind
  bad_version,    ///< not the version of the link group
  unknown_type,   ///< no such message
  ignored_type,   ///< well known or optional, but without meaning here
  bad_length,     ///< the length field does not agree with what came, or with the contents
  bad_count,      ///< more entries than allowed, or than the message has room for
  bad_link        ///< link number 0 where a link must be named
};

std::string_view to_string(decode_error e) noexcept;

template <typename T>
using decoded = negotiation::decoded<T, decode_error>;

}  // namespace smc::wire
