#include <gtest/gtest.h>

#include <array>
#include <smc/detail/ready_queue.hpp>
#include <vector>

namespace {

using smc::detail::ready_node;
using smc::detail::ready_queue;

void first_kind(ready_node*, ready_node::action) {}
void second_kind(ready_node*, ready_node::action) {}

TEST(ReadyQueue, KeepsOrderAndTheKindOfEachEntry) {
  std::array<ready_node, 5> nodes;
  ready_queue queue;
  for (std::size_t i = 0; i < nodes.size(); ++i) queue.push(&nodes[i], i % 2 == 0);
  EXPECT_EQ(queue.size(), nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto entry = queue.pop();
    EXPECT_EQ(entry.node, &nodes[i]);
    EXPECT_EQ(entry.counted, i % 2 == 0);
  }
  EXPECT_TRUE(queue.empty());
}

TEST(ReadyQueue, IsUsableAgainAfterItRanEmpty) {
  ready_node node;
  ready_queue queue;
  for (int i = 0; i < 3; ++i) {
    queue.push(&node, true);
    EXPECT_EQ(queue.pop().node, &node);
    EXPECT_TRUE(queue.empty());
  }
}

TEST(ReadyQueue, AppendsAnotherBehindItself) {
  std::array<ready_node, 4> nodes;
  ready_queue queue, other, nothing;
  queue.append(nothing);
  EXPECT_TRUE(queue.empty());
  other.push(&nodes[0], false);
  queue.append(other);
  queue.push(&nodes[1], true);
  other.push(&nodes[2], true);
  other.push(&nodes[3], false);
  queue.append(other);
  EXPECT_TRUE(other.empty());
  const std::vector<bool> counted{false, true, true, false};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto entry = queue.pop();
    EXPECT_EQ(entry.node, &nodes[i]);
    EXPECT_EQ(entry.counted, counted[i]);
  }
}

TEST(ReadyQueue, ExtractsOneKindInOrder) {
  std::array<ready_node, 6> nodes;
  ready_queue queue;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].invoke = i % 3 == 0 ? &second_kind : &first_kind;
    queue.push(&nodes[i], true);
  }
  ready_queue found = queue.extract(&second_kind);
  EXPECT_EQ(found.size(), 2u);
  EXPECT_EQ(found.pop().node, &nodes[0]);
  EXPECT_EQ(found.pop().node, &nodes[3]);
  for (std::size_t i : {1u, 2u, 4u, 5u}) EXPECT_EQ(queue.pop().node, &nodes[i]);
}

}  // namespace
