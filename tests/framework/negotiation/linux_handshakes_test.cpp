// What Linux says in its handshakes, recorded, read by our codecs.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "negotiation/clc.hpp"
#include "vectors/vectors.hpp"

namespace smc::clc {
namespace {

struct sent {
  std::string conversation;
  test::bytes content;
};

const std::vector<sent>& messages() {
  static const auto all = [] {
    const auto here = std::filesystem::path(__FILE__).parent_path();
    std::ifstream file(here / "../../vectors/linux-6.12-handshakes.txt");
    std::vector<sent> result;
    for (std::string line; std::getline(file, line);) {
      if (line.empty() || line.front() == '#') continue;
      const auto first = line.find('\t');
      const auto second = line.find('\t', first + 1);
      result.push_back(
          {line.substr(0, first), test::from_hex(std::string_view(line).substr(second + 1))});
    }
    return result;
  }();
  return all;
}

TEST(LinuxHandshakes, EveryMessageIsReadAndWrittenBackByteForByte) {
  std::map<std::size_t, int> kinds;
  for (const sent& s : messages()) {
    const auto m = decode(s.content);
    ASSERT_TRUE(m) << s.conversation << ": " << to_string(m.error());
    ++kinds[m->index()];
    EXPECT_EQ(std::visit([](const auto& each) { return encoded(each); }, *m), s.content)
        << s.conversation;
  }
  EXPECT_EQ(kinds.size(), 3U);
}

TEST(LinuxHandshakes, TheMessagesOfOneAgree) {
  std::optional<proposal> proposed;
  std::optional<accept_confirm> accepted;
  std::string conversation;
  int agreements = 0;
  for (const sent& s : messages()) {
    if (std::exchange(conversation, s.conversation) != s.conversation) {
      proposed.reset();
      accepted.reset();
    }
    const auto m = decode(s.content);
    ASSERT_TRUE(m);
    if (const auto* p = std::get_if<proposal>(&*m)) {
      proposed = *p;
      accepted.reset();
    } else if (const auto* a = std::get_if<accept_confirm>(&*m)) {
      if (a->type == message_type::accept) {
        accepted = *a;
        if (!proposed) continue;  // another's than Linux's
        EXPECT_EQ(check_accept(*proposed, *a), std::nullopt) << s.conversation;
        ++agreements;
      } else if (proposed && accepted) {
        EXPECT_EQ(check_confirm(*proposed, *accepted, *a), std::nullopt) << s.conversation;
        proposed.reset();
        ++agreements;
      }
    }
  }
  EXPECT_GE(agreements, 20);
}

}  // namespace
}  // namespace smc::clc
