#include "negotiation/clc.hpp"

#include <utility>

namespace smc::clc {
namespace {

template <typename Message>
decoded<message> widen(decoded<Message> m) {
  if (!m) return m.error();
  return message(*std::move(m));
}

}  // namespace

decoded<message> decode(std::span<const std::byte> bytes) {
  const auto h = decode_header(bytes);
  if (!h) return h.error();
  switch (h->type) {
    case message_type::proposal:
      return widen(decode_proposal(bytes));
    case message_type::accept:
    case message_type::confirm:
      return widen(decode_accept_confirm(bytes));
    case message_type::decline:
      return widen(decode_decline(bytes));
  }
  return decode_error::bad_type;
}

}  // namespace smc::clc
