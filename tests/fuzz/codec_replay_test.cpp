// The decoders' fuzz targets, run over the test vectors and seeded mutations of them.
#include <gtest/gtest.h>

#include <random>

#include "fuzz/clc_input.hpp"
#include "fuzz/envelope_input.hpp"
#include "fuzz/link_input.hpp"
#include "vectors/vectors.hpp"

namespace smc::test {
namespace {

std::vector<bytes> packets() {
  using namespace negotiation;
  const bytes clc = vector("acc_v2_d");
  proposal p;
  p.attempt = 1;
  p.clc = vector("prop_v2_b");
  p.parts = {{"smc-d", clc}, {"other", {}}};
  const answer a{2, clc, "smc-d", vector("decl_v1"), 2};
  return {encode(intent{1, {}, 1}),
          encode(p),
          encode(accept{a}),
          encode(confirm{a}),
          encode(decline{3, vector("decl_v2")}),
          encode(withdraw{4}),
          encode(retire{})};
}

template <typename Examine>
void examine_around(const bytes& seed, std::mt19937& random, int mutations, Examine&& examine) {
  examine(seed);
  for (std::size_t n = 0; n < seed.size(); ++n)
    examine(bytes(seed.begin(), seed.begin() + static_cast<std::ptrdiff_t>(n)));
  const auto roll = [&](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
  };
  for (std::size_t at = 0; at < seed.size(); ++at) {
    for (const unsigned value : {0U, 1U, 9U, 0x7fU, 0x80U, 0xffU}) {
      bytes changed = seed;
      changed[at] = static_cast<std::byte>(value);
      examine(changed);
    }
  }
  for (int i = 0; i < mutations; ++i) {
    bytes changed = seed;
    for (std::size_t changes = 1 + roll(4); changes > 0; --changes) {
      const std::size_t at = roll(changed.size());
      switch (roll(4)) {
        case 0:
          changed.insert(changed.begin() + static_cast<std::ptrdiff_t>(at), roll(40), std::byte{0});
          break;
        case 1:
          changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(at),
                        changed.begin() + static_cast<std::ptrdiff_t>(
                                              std::min(changed.size() - 1, at + roll(20))));
          break;
        default:
          changed[at] = static_cast<std::byte>(roll(256));
      }
      if (changed.empty()) changed.push_back({});
    }
    examine(changed);
  }
}

TEST(CodecReplay, ClcVectorsAndTheirMutationsAreHandled) {
  std::mt19937 random(7609);
  for (const auto& [name, content] : vectors()) {
    SCOPED_TRACE(name);
    examine_around(content, random, 1500, [](const bytes& b) {
      examine_clc(b);
      // The same with a length that fits, or most would fail there.
      if (b.size() >= 8 && b.size() < 65536) {
        bytes fitting = b;
        fitting[5] = static_cast<std::byte>(b.size() >> 8);
        fitting[6] = static_cast<std::byte>(b.size() & 0xff);
        std::copy(b.begin(), b.begin() + 4, fitting.end() - 4);
        examine_clc(fitting);
      }
    });
  }
}

TEST(CodecReplay, LinkVectorsAndTheirMutationsAreHandled) {
  std::mt19937 random(7609);
  for (const auto& [name, content] : vectors()) {
    if (!name.starts_with("llc") && !name.starts_with("cdc")) continue;
    SCOPED_TRACE(name);
    examine_around(content, random, 1500, [](const bytes& b) {
      examine_link(b);
      // The same with lengths that fit, or most would fail there.
      if (b.size() < 3) return;
      bytes fitting = b;
      fitting[1] = static_cast<std::byte>(b.size() & 0xff);
      fitting[2] = static_cast<std::byte>(b.size() >> 8);
      examine_link(fitting);
      fitting.resize(cdc::message_size);
      fitting[1] = std::byte{cdc::message_size};
      examine_link(fitting);
    });
  }
}

TEST(CodecReplay, RendezvousPacketsAndTheirMutationsAreHandled) {
  std::mt19937 random(7609);
  for (const bytes& packet : packets()) {
    ASSERT_TRUE(negotiation::decode(packet));
    examine_around(packet, random, 5000, [](const bytes& b) {
      examine_envelope(b);
      if (b.size() >= 12) {
        bytes fitting = b;
        for (std::size_t i = 0; i < 4; ++i)
          fitting[8 + i] = static_cast<std::byte>(b.size() >> (8 * i));
        examine_envelope(fitting);
      }
    });
  }
}

}  // namespace
}  // namespace smc::test
