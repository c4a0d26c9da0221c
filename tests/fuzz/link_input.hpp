#pragma once
// What must hold for any bytes that arrive on a link. Violations abort.
#include <cstddef>
#include <cstdlib>
#include <span>
#include <vector>

#include "smcr/wire/cdc.hpp"
#include "smcr/wire/cdc_cursor.hpp"
#include "smcr/wire/llc.hpp"

namespace smc::test {

inline void examine_link(std::span<const std::byte> input) {
  const auto must = [](bool holds) {
    if (!holds) std::abort();
  };
  // A copy of exactly this size, so that a read beyond it is seen.
  const std::vector<std::byte> bytes(input.begin(), input.end());
  for (const std::uint8_t version : {std::uint8_t{1}, std::uint8_t{2}}) {
    const auto m = llc::decode(bytes, version);
    if (!m) {
      must(to_string(m.error()) != "unknown");
      continue;
    }
    must(!cdc::is_cdc(bytes));
    for (const auto order : {std::endian::little, std::endian::big}) {
      std::vector<std::byte> again;
      llc::encode(*m, version, again, order);
      must(again.size() <= bytes.size());
      const auto back = llc::decode(again, version);
      must(back && *back == *m);
    }
    if (const auto* k = std::get_if<llc::confirm_rkey>(&*m)) {
      must(!is_acceptable(*k) || k->others.size() == k->announced);
    }
    if (const auto* d = std::get_if<llc::delete_rkey>(&*m)) {
      must(!is_acceptable(*d) || d->rkeys.size() == d->announced);
    }
    if (const auto* a = std::get_if<llc::add_link>(&*m)) {
      must(rejection_of(*a) != llc::reject_reason::none || rdma::mtu_of_code(a->mtu_code));
    }
  }
  const auto m = cdc::decode(bytes);
  if (!m) return;
  std::vector<std::byte> again(cdc::message_size);
  encode(*m, std::span<std::byte, cdc::message_size>(again));
  must(*cdc::decode(again) == *m);
  constexpr std::uint64_t ring = 16384;
  for (const detail::cursor held : {detail::cursor{0}, ring - 1, ring * 65535 + 77}) {
    const auto p = cdc::received_producer(held, m->producer, held, ring);
    must(p.value >= held && p.value - held <= ring);
    const auto c = cdc::received_consumer(held, m->consumer, held + 100, ring);
    must(c.value >= held && c.value - held <= 100);
  }
}

}  // namespace smc::test
