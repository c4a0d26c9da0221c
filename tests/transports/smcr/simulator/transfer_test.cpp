// What arrives, when, and what completes.
#include <gtest/gtest.h>
#include <poll.h>

#include "transports/smcr/simulator/connected.hpp"

namespace smc::rdma::simulator {
namespace {

TEST(Simulator, SendArrivesInAPostedReceive) {
  connected c;
  c.connect();
  must(c.server.post_receive(7, 100));
  c.client.put(0, "hello");
  must(c.client.send(1, 0, 5));
  EXPECT_TRUE(c.net.run());

  const auto received = polled(*c.server.receives);
  ASSERT_EQ(summary(received), "7");
  EXPECT_EQ(received[0].what, completed_operation::receive);
  EXPECT_EQ(received[0].length, 5U);
  EXPECT_EQ(received[0].qpn, c.server.pair->number());
  EXPECT_EQ(received[0].source_qpn, c.client.pair->number());
  EXPECT_EQ(c.server.get(100, 5), "hello");
  const auto sent = polled(*c.client.sends);
  ASSERT_EQ(summary(sent), "1");
  EXPECT_EQ(sent[0].what, completed_operation::send);
}

TEST(Simulator, NothingHappensWithoutAStep) {
  connected c;
  c.connect();
  must(c.server.post_receive(7));
  must(c.client.send(1, 0, 5));
  EXPECT_EQ(outcome(*c.server.receives), "");
  EXPECT_EQ(c.net.now(), moment(0));
}

TEST(Simulator, WriteIsPlacedWithoutACompletionAtTheReceiver) {
  connected c;
  c.connect();
  c.client.put(0, "shared memory");
  must(c.client.write(1, 0, 13, c.server, 4000));
  c.net.run();
  EXPECT_EQ(c.server.get(4000, 13), "shared memory");
  EXPECT_EQ(outcome(*c.server.receives), "");
  EXPECT_EQ(outcome(*c.client.sends), "1");
}

TEST(Simulator, SendIsReceivedAfterTheWritesBeforeItWerePlaced) {
  connected c;
  c.client.device.link(1).jitter = microseconds(50);
  c.connect();
  must(c.server.post_receive(7, 32768));
  std::string data(20000, 'x');
  c.client.put(0, data);
  must(c.client.write(1, 0, 20000, c.server, 0, 0));
  must(c.client.send(2, 0, 44));
  while (outcome(*c.server.receives).empty()) ASSERT_TRUE(c.net.step());
  EXPECT_EQ(c.server.get(0, 20000), data);
}

TEST(Simulator, PiecesAreGatheredAndScattered) {
  end_options options;
  options.pair.max_receive_parts = 2;
  connected c(1, options);
  c.connect();
  std::array<memory_part, 2> into{{{c.server.address(0), 4, c.server.memory->lkey()},
                                   {c.server.address(100), 10, c.server.memory->lkey()}}};
  receive_request receive{7, nullptr, into.data(), 2};
  must(c.server.pair->post_receive(receive, nullptr));
  c.client.put(0, "abc");
  c.client.put(50, "defgh");
  std::array<memory_part, 2> from{{{c.client.address(0), 3, c.client.memory->lkey()},
                                   {c.client.address(50), 5, c.client.memory->lkey()}}};
  send_request send;
  send.parts = from.data();
  send.part_count = 2;
  must(c.client.pair->post_send(send, nullptr));
  c.net.run();
  EXPECT_EQ(polled(*c.server.receives).at(0).length, 8U);
  EXPECT_EQ(c.server.get(0, 4), "abcd");
  EXPECT_EQ(c.server.get(100, 4), "efgh");
}

TEST(Simulator, MemoryIsReadWhenItIsSentNotWhenItIsPosted) {
  connected c;
  c.connect();
  c.client.put(0, "early");
  must(c.client.write(1, 0, 5, c.server, 0));
  c.client.put(0, "later");
  c.net.run();
  EXPECT_EQ(c.server.get(0, 5), "later");
}

TEST(Simulator, InlineBytesAreTakenWhenPosted) {
  end_options options;
  options.pair.max_inline = 64;
  connected c(1, options);
  c.connect();
  std::string bytes = "early";
  memory_part part{reinterpret_cast<std::uintptr_t>(bytes.data()), 5, 0};
  send_request r;
  r.what = operation::rdma_write;
  r.parts = &part;
  r.part_count = 1;
  r.flags = send_flag::in_line;
  r.remote_address = c.server.address(0);
  r.rkey = c.server.memory->rkey();
  must(c.client.pair->post_send(r, nullptr));
  bytes = "later";
  c.net.run();
  EXPECT_EQ(c.server.get(0, 5), "early");
  part.length = 65;
  EXPECT_EQ(c.client.pair->post_send(r, nullptr), invalid);
}

TEST(Simulator, UnsignaledRequestsCompleteOnlyWhenTheyFail) {
  connected c;
  c.connect();
  must(c.client.write(1, 0, 10, c.server, 0, 0));
  must(c.client.write(2, 0, 10, c.server, 0, send_flag::signaled));
  must(c.client.write(3, 0, 10, c.server, 0, 0));
  c.net.run();
  EXPECT_EQ(outcome(*c.client.sends), "2");
  must(c.client.write(4, 0, 10, c.server, 0, 0));
  must(c.client.pair->fail());
  EXPECT_EQ(outcome(*c.client.sends), "4:flushed");
}

TEST(Simulator, ListIsPostedWithOneCallAndRefusedFromTheFirstThatDoesNotFit) {
  end_options options;
  options.pair.max_sends = 3;
  connected c(1, options);
  c.connect();
  memory_part part{c.client.address(0), 4, c.client.memory->lkey()};
  std::array<send_request, 5> list;
  for (std::size_t i = 0; i < list.size(); ++i) {
    list[i].id = i;
    list[i].what = operation::rdma_write;
    list[i].parts = &part;
    list[i].part_count = 1;
    list[i].flags = send_flag::signaled;
    list[i].remote_address = c.server.address(0);
    list[i].rkey = c.server.memory->rkey();
  }
  send_request* refused = nullptr;
  EXPECT_EQ(c.client.pair->post_send(chained(list), &refused), no_memory);
  EXPECT_EQ(refused, &list[3]);
  c.net.run();
  EXPECT_EQ(outcome(*c.client.sends), "0 1 2");
}

TEST(Simulator, RoomInTheSendQueueIsFreeOnceACompletionIsPolled) {
  end_options options;
  options.pair.max_sends = 2;
  connected c(1, options);
  c.connect();
  must(c.client.write(1, 0, 4, c.server, 0, 0));
  must(c.client.write(2, 0, 4, c.server, 0, send_flag::signaled));
  EXPECT_EQ(c.client.write(3, 0, 4, c.server, 0), no_memory);
  c.net.run();
  EXPECT_EQ(c.client.write(3, 0, 4, c.server, 0), no_memory) << "over, but nobody looked";
  EXPECT_EQ(outcome(*c.client.sends), "2");
  must(c.client.write(3, 0, 4, c.server, 0, 0));
  must(c.client.write(4, 0, 4, c.server, 0, 0));
  c.net.run();
  EXPECT_EQ(outcome(*c.client.sends), "");
  EXPECT_EQ(c.client.write(5, 0, 4, c.server, 0), no_memory)
      << "a queue that signals nothing stays full";
}

TEST(Simulator, RoomInTheReceiveQueueIsFreeOnceACompletionIsPolled) {
  end_options options;
  options.pair.max_receives = 1;
  connected c(1, options);
  c.connect();
  must(c.server.post_receive(1));
  EXPECT_EQ(c.server.post_receive(2), no_memory);
  must(c.client.send(1, 0, 4));
  c.net.run();
  EXPECT_EQ(c.server.post_receive(2), no_memory);
  EXPECT_EQ(outcome(*c.server.receives), "1");
  must(c.server.post_receive(2));
}

TEST(Simulator, TimeOnTheWireIsThatOfTheLink) {
  connected c;
  link_model& link = c.client.device.link(1);
  link.bits_per_second = 8'000'000'000;  // a byte per nanosecond
  link.latency = moment(5000);
  link.cost_per_message = moment(100);
  link.packet_overhead = 50;
  c.server.device.link(1).latency = moment(3000);
  c.connect();
  must(c.client.write(1, 0, 2048, c.server, 0));
  while (c.net.next()) c.net.step();
  // 2048 bytes and two overheads, there, and an acknowledgement back.
  EXPECT_EQ(c.net.now(), moment(2048 + 100 + 100 + 5000 + 3000));
}

TEST(Simulator, LongWritesReachTheLinesRate) {
  end_options options;
  options.memory = 8 << 20;
  connected c(1, options);
  c.client.device.link(1).packet_overhead = 0;
  c.client.device.link(1).cost_per_message = moment(0);
  c.connect();
  must(c.client.write(1, 0, 8 << 20, c.server, 0));
  c.net.run();
  const double seconds_taken = std::chrono::duration<double>(c.net.now()).count();
  EXPECT_NEAR((8 << 20) / seconds_taken / 3.125e9, 1.0, 0.01);
}

TEST(Simulator, QueuePairsOfAPortTakeTurns) {
  connected c;
  c.connect();
  end second(c.client.device, {});
  end second_peer(c.server.device, {});
  second.connect(second_peer);
  second_peer.connect(second);
  must(second_peer.post_receive(9));
  for (int i = 0; i < 20; ++i) must(c.client.write(1, 0, 64 * 1024, c.server, 0));
  must(second.send(1, 0, 44));
  while (outcome(*second_peer.receives).empty()) ASSERT_TRUE(c.net.step());
  EXPECT_LT(polled(*c.client.sends).size(), 3U) << "the small message waited for all the large";
}

TEST(Simulator, CostOfCompletionsLimitsAQueue) {
  adapter_options costly = one_port(1);
  costly.cost_per_completion = microseconds(2);
  connected c(1, {}, costly);
  c.connect();
  for (std::uint64_t i = 0; i < 10; ++i) must(c.client.write(i, 0, 8, c.server, 0));
  c.net.run_until(microseconds(3));
  EXPECT_EQ(outcome(*c.client.sends), "");
  c.net.run();
  EXPECT_GE(c.net.now(), microseconds(20));
  EXPECT_EQ(outcome(*c.client.sends), "0 1 2 3 4 5 6 7 8 9");
}

TEST(Simulator, SharedReceivesServeAllTheirQueuePairs) {
  end_options options;
  options.shared = true;
  connected c(1, options);
  c.connect();
  EXPECT_EQ(c.server.device.live().shared_receive_queues, 1U);
  queue_pair_options more = c.server.pair->options();
  auto pair = made(c.server.domain->create_queue_pair(more));
  end other(c.client.device, {});
  must(other.pair->initialize(1));
  path to = other.path_to(c.server, mtu::b1024);
  to.remote_qpn = pair->number();
  must(other.pair->receive_from(to));
  must(other.pair->send_with({}));
  must(pair->initialize(1));
  path back = c.server.path_to(other, mtu::b1024);
  back.receive_psn = 0;
  must(pair->receive_from(back));

  must(c.server.post_receive(1));
  must(c.server.post_receive(2));
  must(other.send(5, 0, 4));
  c.net.run();
  must(c.client.send(6, 0, 4));
  c.net.run();
  const auto received = polled(*c.server.receives);
  ASSERT_EQ(summary(received), "1 2");
  EXPECT_EQ(received[0].qpn, pair->number());
  EXPECT_EQ(received[1].qpn, c.server.pair->number());

  must(c.server.post_receive(3));
  must(pair->fail());
  EXPECT_EQ(outcome(*c.server.receives), "") << "shared receives stay";
  EXPECT_EQ(events(c.server.device),
            (std::vector{event_kind::communication_established, event_kind::last_request_reached}));
}

TEST(Simulator, ArmedQueueRingsOnce) {
  connected c;
  c.connect();
  std::vector<completion_queue*> rang;
  c.net.on_ring = [&](completion_queue& q) { rang.push_back(&q); };
  for (std::uint64_t i = 0; i < 4; ++i) must(c.server.post_receive(i));
  must(c.server.receives->arm(false));
  must(c.client.send(1, 0, 4));
  must(c.client.send(2, 0, 4));
  c.net.run();
  EXPECT_EQ(rang, std::vector{c.server.receives.get()});
  // What is there already does not ring.
  must(c.server.receives->arm(false));
  c.net.run();
  EXPECT_EQ(rang.size(), 1U);
  must(c.client.send(3, 0, 4));
  c.net.run();
  EXPECT_EQ(rang.size(), 2U);
}

TEST(Simulator, QueueArmedForSolicitedRingsForThemAndForErrors) {
  connected c;
  c.connect();
  int rang = 0;
  c.net.on_ring = [&](completion_queue&) { ++rang; };
  for (std::uint64_t i = 0; i < 4; ++i) must(c.server.post_receive(i));
  must(c.server.receives->arm(true));
  must(c.client.send(1, 0, 4));
  c.net.run();
  EXPECT_EQ(rang, 0);
  must(c.client.send(2, 0, 4, send_flag::solicited));
  c.net.run();
  EXPECT_EQ(rang, 1);
  must(c.server.receives->arm(true));
  must(c.server.pair->fail());
  EXPECT_EQ(rang, 2);
}

TEST(Simulator, DescriptorIsReadableFromTheRingToTheAcknowledgement) {
  connected c;
  c.connect();
  const auto readable = [&] {
    pollfd p{c.server.receives->descriptor(), POLLIN, 0};
    return ::poll(&p, 1, 0) == 1;
  };
  must(c.server.post_receive(1));
  must(c.server.receives->arm(true));
  EXPECT_FALSE(readable());
  must(c.client.send(1, 0, 4, send_flag::solicited));
  c.net.run();
  EXPECT_TRUE(readable());
  c.server.receives->acknowledge();
  EXPECT_FALSE(readable());
}

}  // namespace
}  // namespace smc::rdma::simulator
