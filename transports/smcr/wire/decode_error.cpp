#include "smcr/wire/decode_error.hpp"

namespace smc::wire {

std::string_view to_string(decode_error e) noexcept {
  switch (e) {
    case decode_error::truncated:
      return "truncated";
    case decode_error::too_long:
      return "too long";
    case decode_error::bad_version:
      return "bad version";
    case decode_error::unknown_type:
      return "unknown type";
    case decode_error::ignored_type:
      return "ignored type";
    case decode_error::bad_length:
      return "bad length";
    case decode_error::bad_count:
      return "bad count";
    case decode_error::bad_link:
      return "bad link number";
  }
  return "unknown";
}

}  // namespace smc::wire
