#pragma once
// Where the cases from the field run: Field on every transport, FieldLocal on those that are
// negotiated by way of the rendezvous; each on both kinds of context.
#include <cstdlib>
#include <random>

#include "framework/stream/setting.hpp"

namespace smc::test {

using Field = each_setting;
using FieldLocal = each_setting;

/// How often something is repeated: SMC_TEST_FIELD=N, in percent of what is usual.
inline std::size_t repeated(std::size_t usually) {
  const char* text = std::getenv("SMC_TEST_FIELD");
  const std::size_t percent = text ? static_cast<std::size_t>(std::atoi(text)) : 100;
  return std::max<std::size_t>(1, usually * percent / 100);
}

/// Bytes without a pattern that a misplaced block could keep.
inline std::string random_text(std::size_t size, unsigned seed) {
  std::mt19937_64 random(seed);
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; i += sizeof(std::uint64_t)) {
    const std::uint64_t word = random();
    text.replace(i, std::min(sizeof word, size - i), reinterpret_cast<const char*>(&word),
                 std::min(sizeof word, size - i));
  }
  return text;
}

/// TCP keeps megabytes by itself; here as little as it can, so that writers wait.
inline void keep_little(pair& streams) {
  if (streams.kind != transport_kind::tcp) return;
  for (stream* each : {&streams.client, &streams.server}) {
    each->set_option(asio::socket_base::send_buffer_size(16 << 10));
    each->set_option(asio::socket_base::receive_buffer_size(16 << 10));
  }
}

}  // namespace smc::test
