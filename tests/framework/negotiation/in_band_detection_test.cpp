#include "negotiation/in_band_detection.hpp"

#include <gtest/gtest.h>

#include <string_view>

#include "vectors/vectors.hpp"

namespace smc::negotiation {
namespace {

using namespace std::chrono_literals;
using test::bytes;
using test::vector;
using verdict = in_band_detection::verdict;

constexpr in_band_detection::time_point t0{};

bytes text(std::string_view content) {
  const auto all = std::as_bytes(std::span(content));
  return {all.begin(), all.end()};
}

class Detection : public ::testing::Test {
 protected:
  verdict look(std::span<const std::byte> head, bool ended = false,
               in_band_detection::time_point now = t0) {
    return machine_.look(head, ended, now);
  }
  in_band_detection machine_{t0, 200ms, 6s};
};

TEST_F(Detection, EachProposalIsOneAtItsLastByte) {
  for (const char* name : {"prop_v1_r", "prop_v1_r6", "prop_v1_b", "prop_lnx_r", "prop_v2_b"}) {
    const bytes& whole = vector(name);
    in_band_detection machine(t0, 200ms, 6s);
    for (std::size_t n = 0; n < whole.size(); ++n) {
      EXPECT_EQ(machine.look(std::span(whole).first(n), false, t0), verdict::unknown) << n;
    }
    EXPECT_EQ(machine.look(whole, false, t0), verdict::proposal) << name;
    EXPECT_EQ(machine.size(), whole.size());
  }
}

TEST_F(Detection, BytesBehindTheProposalAreNoPartOfIt) {
  bytes more = vector("prop_v2_r");
  const std::size_t size = more.size();
  more.resize(size + 20);
  EXPECT_EQ(look(more), verdict::proposal);
  EXPECT_EQ(machine_.size(), size);
}

TEST_F(Detection, AnythingElseIsPlainAtItsFirstByte) {
  const bytes& proposal = vector("prop_v1_r");
  EXPECT_EQ(look(text("G")), verdict::plain);
  for (std::size_t at = 0; at < 4; ++at) {
    bytes other = proposal;
    other[at] ^= std::byte{0x20};
    for (std::size_t n = 1; n <= at; ++n) {
      EXPECT_EQ(in_band_detection(t0, 200ms, 6s).look(std::span(other).first(n), false, t0),
                verdict::unknown);
    }
    EXPECT_EQ(in_band_detection(t0, 200ms, 6s).look(std::span(other).first(at + 1), false, t0),
              verdict::plain);
  }
}

TEST_F(Detection, OtherMessagesAndFramesThatAreBrokenArePlain) {
  EXPECT_EQ(look(vector("acc_v1_r")), verdict::plain);
  bytes bad = vector("prop_v1_r");
  bad[7] = std::byte{0x01};  // version 0
  EXPECT_EQ(in_band_detection(t0, 200ms, 6s).look(bad, false, t0), verdict::plain);
  bad = vector("prop_v1_r");
  bad[5] = std::byte{0x04};  // longer than any
  EXPECT_EQ(in_band_detection(t0, 200ms, 6s).look(bad, false, t0), verdict::plain);
  bad = vector("prop_v1_r");
  bad.back() = std::byte{0};  // trailer
  EXPECT_EQ(in_band_detection(t0, 200ms, 6s).look(bad, false, t0), verdict::plain);
}

TEST_F(Detection, AnEndBeforeTheProposalsIsPlain) {
  EXPECT_EQ(look({}, true), verdict::plain);
  const bytes& whole = vector("prop_v1_r");
  EXPECT_EQ(in_band_detection(t0, 200ms, 6s).look(std::span(whole).first(51), true, t0),
            verdict::plain);
  EXPECT_EQ(in_band_detection(t0, 200ms, 6s).look(whole, true, t0), verdict::proposal);
}

TEST_F(Detection, SilenceIsUndecidedInTheEnd) {
  EXPECT_EQ(machine_.limit(), t0 + 200ms);
  EXPECT_EQ(machine_.deadline(t0 + 199ms), verdict::unknown);
  EXPECT_EQ(machine_.deadline(t0 + 200ms), verdict::undecided);
  EXPECT_EQ(look(vector("prop_v1_r"), false, t0 + 201ms), verdict::undecided);
}

TEST_F(Detection, ABeginningHasTheTimeOfAMessageAndIsPlainThen) {
  const bytes& whole = vector("prop_v1_r");
  EXPECT_EQ(look(std::span(whole).first(7), false, t0 + 100ms), verdict::unknown);
  EXPECT_EQ(machine_.limit(), t0 + 6100ms);
  // Not counted anew with each byte.
  EXPECT_EQ(look(std::span(whole).first(8), false, t0 + 2s), verdict::unknown);
  EXPECT_EQ(machine_.limit(), t0 + 6100ms);
  EXPECT_EQ(machine_.deadline(t0 + 6099ms), verdict::unknown);
  EXPECT_EQ(machine_.deadline(t0 + 6100ms), verdict::plain);
}

}  // namespace
}  // namespace smc::negotiation
