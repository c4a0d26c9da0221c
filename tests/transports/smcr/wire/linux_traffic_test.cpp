// What Linux's SMC-R put on its links, recorded, read by our codecs.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "smcr/wire/cdc.hpp"
#include "smcr/wire/cdc_cursor.hpp"
#include "smcr/wire/llc.hpp"
#include "vectors/vectors.hpp"

namespace smc {
namespace {

struct sent {
  std::string conversation;
  bool by_server = false;
  test::bytes message;

  std::uint8_t version() const { return conversation.starts_with("v1-two") ? 1 : 2; }
};

const std::vector<sent>& traffic() {
  static const auto all = [] {
    const auto here = std::filesystem::path(__FILE__).parent_path();
    std::ifstream file(here / "../../../vectors/linux-6.12-links.txt");
    std::vector<sent> result;
    for (std::string line; std::getline(file, line);) {
      if (line.empty() || line.front() == '#') continue;
      const auto first = line.find('\t');
      const auto second = line.find('\t', first + 1);
      result.push_back({line.substr(0, first), line[first + 1] == 's',
                        test::from_hex(std::string_view(line).substr(second + 1))});
    }
    return result;
  }();
  return all;
}

TEST(LinuxTraffic, EveryLlcMessageIsReadAndAcceptable) {
  std::map<std::size_t, int> kinds;
  for (const sent& s : traffic()) {
    if (cdc::is_cdc(s.message)) continue;
    const auto m = llc::decode(s.message, s.version());
    ASSERT_TRUE(m) << s.conversation << ": " << to_string(m.error());
    ++kinds[m->index()];
    if (const auto* c = std::get_if<llc::confirm_link>(&*m)) {
      EXPECT_TRUE(is_acceptable(*c));
    }
    if (const auto* a = std::get_if<llc::add_link>(&*m)) {
      EXPECT_EQ(rejection_of(*a), llc::reject_reason::none);
      EXPECT_EQ(a->extension.has_value(), s.version() == 2 && !a->rejected);
    }
    if (const auto* k = std::get_if<llc::confirm_rkey>(&*m)) {
      EXPECT_TRUE(is_acceptable(*k));
    }
    if (const auto* d = std::get_if<llc::delete_rkey>(&*m)) {
      EXPECT_TRUE(is_acceptable(*d));
    }
  }
  EXPECT_EQ(kinds.size(), 6U) << "CONFIRM LINK, ADD LINK and its continuation, CONFIRM and DELETE "
                                 "RKEY, TEST LINK";
}

TEST(LinuxTraffic, EveryMessageIsWrittenBackByteForByte) {
  for (const sent& s : traffic()) {
    test::bytes again;
    if (cdc::is_cdc(s.message)) {
      const auto m = cdc::decode(s.message);
      ASSERT_TRUE(m) << s.conversation;
      again.resize(cdc::message_size);
      encode(*m, std::span<std::byte, cdc::message_size>(again));
    } else {
      encode(*llc::decode(s.message, s.version()), s.version(), again, std::endian::little);
    }
    EXPECT_EQ(again, s.message) << s.conversation;
  }
}

// A direction of a connection: who sends, and to which token.
using direction = std::tuple<std::string, bool, std::uint32_t>;

TEST(LinuxTraffic, EveryCursorIsOneThatACorrectPeerWrites) {
  struct progress {
    std::uint16_t seqno = 0;
    detail::cursor producer = 0;
    detail::cursor consumer = 0;
    cdc::connection_flags state;
  };
  std::map<direction, progress> directions;
  std::map<std::string, detail::cursor> longest;
  for (const sent& s : traffic()) {
    if (!cdc::is_cdc(s.message)) continue;
    const auto m = cdc::decode(s.message);
    ASSERT_TRUE(m) << s.conversation;
    const std::uint64_t ring =
        s.conversation == "v2-wrap" || s.conversation == "v2-full" ? 16384 : 65536;
    progress& p = directions[{s.conversation, s.by_server, m->token}];
    EXPECT_EQ(m->seqno, p.seqno + 1) << s.conversation;
    p.seqno = m->seqno;
    // Which token of the other direction belongs to it is not in the messages; that the ring holds
    // what is announced is checked against the sender's own word on its reading.
    const auto producer = received_producer(p.producer, m->producer, p.producer, ring);
    const auto consumer = received_consumer(p.consumer, m->consumer, p.consumer + ring, ring);
    EXPECT_EQ(producer.what, cdc::verdict::taken) << s.conversation;
    EXPECT_EQ(consumer.what, cdc::verdict::taken) << s.conversation;
    p.producer = producer.value;
    p.consumer = consumer.value;
    EXPECT_EQ(merged(p.state, m->state), m->state) << s.conversation << ": a flag was taken back";
    p.state = m->state;
    longest[s.conversation] = std::max(longest[s.conversation], p.producer);
  }
  EXPECT_GT(longest["v2-wrap"], 16384U);
  EXPECT_GT(longest["v2-full"], 2 * 16384U);
}

}  // namespace
}  // namespace smc
