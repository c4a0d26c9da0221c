// Limits, queues that overrun, ports, and the device as a whole.
#include <gtest/gtest.h>
#include <poll.h>

#include "transports/smcr/simulator/connected.hpp"

namespace smc::rdma::simulator {
namespace {

TEST(SimulatedDevice, TellsWhatItIs) {
  network net(1);
  adapter_options o = one_port(0x0a07, mtu::b2048);
  o.ports.push_back(roce_port(3));
  adapter& a = net.add(o);
  EXPECT_EQ(a.attributes().name, "simulated");
  EXPECT_EQ(a.attributes().ports, 2);
  EXPECT_EQ(a.port(1).value.state, port_state::active);
  EXPECT_EQ(a.port(1).value.active_mtu, mtu::b2048);
  EXPECT_EQ(a.gids(1).value.at(0).gid[14], std::byte{0x0a});
  EXPECT_EQ(a.gids(1).value.at(0).mac[5], std::byte{0x07});
  EXPECT_EQ(a.port(3).error, invalid);
  EXPECT_EQ(a.gids(0).error, invalid);
}

TEST(SimulatedDevice, LimitsAreKept) {
  network net(1);
  adapter_options o = one_port(1);
  o.attributes.max_domains = 1;
  o.attributes.max_completion_queues = 1;
  o.attributes.max_completions = 64;
  o.attributes.max_queue_pairs = 1;
  o.attributes.max_requests = 16;
  o.attributes.max_parts = 2;
  o.attributes.max_regions = 1;
  o.attributes.max_shared_receive_queues = 1;
  o.attributes.max_shared_receives = 8;
  adapter& a = net.add(o);
  auto domain = made(a.allocate_domain());
  EXPECT_EQ(a.allocate_domain().error, no_memory);
  EXPECT_EQ(a.create_completion_queue(65).error, invalid);
  EXPECT_EQ(a.create_completion_queue(0).error, invalid);
  auto queue = made(a.create_completion_queue(64));
  EXPECT_EQ(queue->depth(), 64U);
  EXPECT_EQ(a.create_completion_queue(64).error, no_memory);

  queue_pair_options q;
  q.sends = q.receives = queue.get();
  EXPECT_EQ(domain->create_queue_pair(q).error, invalid) << "48 requests";
  q.max_sends = q.max_receives = 16;
  q.max_send_parts = 3;
  EXPECT_EQ(domain->create_queue_pair(q).error, invalid);
  q.max_send_parts = 2;
  q.max_inline = 257;
  EXPECT_EQ(domain->create_queue_pair(q).error, invalid);
  q.max_inline = 0;
  q.sends = nullptr;
  EXPECT_EQ(domain->create_queue_pair(q).error, invalid);
  q.sends = queue.get();
  auto pair = made(domain->create_queue_pair(q));
  EXPECT_EQ(domain->create_queue_pair(q).error, no_memory);

  std::vector<std::byte> bytes(100);
  EXPECT_EQ(domain->register_memory({}, access::local_write).error, invalid);
  EXPECT_EQ(domain->register_memory(bytes, access::remote_write).error, invalid);
  auto region = made(domain->register_memory(bytes, access::local_write));
  EXPECT_EQ(domain->register_memory(bytes, access::local_write).error, no_memory);
  EXPECT_EQ(domain->create_shared_receive_queue(9, 1).error, invalid);
  auto shared = made(domain->create_shared_receive_queue(8, 1));
  EXPECT_EQ(domain->create_shared_receive_queue(8, 1).error, no_memory);

  EXPECT_EQ(a.live(), (object_counts{1, 1, 1, 1, 1}));
  shared.reset();
  region.reset();
  pair.reset();
  queue.reset();
  domain.reset();
  EXPECT_EQ(a.live(), object_counts{});
  EXPECT_TRUE(a.misuses().empty());
}

TEST(SimulatedDevice, LockedMemoryIsLimited) {
  network net(1);
  adapter_options o = one_port(1);
  o.max_locked = 64 * 1024;
  adapter& a = net.add(o);
  auto domain = made(a.allocate_domain());
  std::vector<std::byte> bytes(64 * 1024);
  auto half = made(domain->register_memory(std::span(bytes).first(32 * 1024), access::local_write));
  EXPECT_EQ(domain->register_memory(bytes, access::local_write).error, no_memory);
  half.reset();
  EXPECT_NO_THROW(made(domain->register_memory(bytes, access::local_write)));
}

TEST(SimulatedDevice, DestructionInTheWrongOrderIsNoticed) {
  network net(1);
  adapter& a = net.add(one_port(1));
  auto domain = made(a.allocate_domain());
  auto queue = made(a.create_completion_queue(64));
  std::vector<std::byte> bytes(100);
  auto region = made(domain->register_memory(bytes, access::local_write));
  queue_pair_options q;
  q.sends = q.receives = queue.get();
  auto pair = made(domain->create_queue_pair(q));
  domain.reset();
  EXPECT_EQ(a.misuses().size(), 2U);
  queue.reset();
  EXPECT_EQ(a.misuses().size(), 3U);
}

TEST(SimulatedDevice, EachCallCanBeMadeToFail) {
  connected c;
  const auto full = std::make_error_code(std::errc::no_space_on_device);
  const auto failing = [&](call which) {
    c.client.device.on_call = [=](call one) { return one == which ? full : std::error_code{}; };
  };
  failing(call::query_port);
  EXPECT_EQ(c.client.device.port(1).error, full);
  failing(call::query_gids);
  EXPECT_EQ(c.client.device.gids(1).error, full);
  failing(call::allocate_domain);
  EXPECT_EQ(c.client.device.allocate_domain().error, full);
  failing(call::create_completion_queue);
  EXPECT_EQ(c.client.device.create_completion_queue(1).error, full);
  failing(call::register_memory);
  EXPECT_EQ(c.client.domain->register_memory(c.client.bytes, 0).error, full);
  failing(call::create_queue_pair);
  EXPECT_EQ(c.client.domain->create_queue_pair(c.client.pair->options()).error, full);
  failing(call::create_shared_receive_queue);
  EXPECT_EQ(c.client.domain->create_shared_receive_queue(1, 1).error, full);
  failing(call::modify_queue_pair);
  EXPECT_EQ(c.client.pair->initialize(1), full);
  failing(call::post_receive);
  must(c.client.pair->initialize(1));
  EXPECT_EQ(c.client.post_receive(1), full);
  failing(call::post_send);
  must(c.client.pair->receive_from(c.client.path_to(c.server, mtu::b1024)));
  must(c.client.pair->send_with({}));
  EXPECT_EQ(c.client.send(1, 0, 4), full);
}

TEST(SimulatedDevice, OverrunBreaksTheQueueAndAllThatFeedIt) {
  end_options options;
  options.depth = 3;
  connected c(1, options);
  c.connect();
  end other(c.server.device, {});
  for (std::uint64_t i = 0; i < 4; ++i) {
    must(c.server.post_receive(i));
    must(c.client.send(i, 0, 4, 0));
  }
  c.net.run_for(milliseconds(1));
  std::vector<completion> room(8);
  EXPECT_EQ(c.server.receives->poll(room), -1);
  EXPECT_EQ(c.server.pair->state(), queue_pair_state::error);
  EXPECT_EQ(other.pair->state(), queue_pair_state::reset);
  std::vector<asynchronous_event> happened(8);
  happened.resize(c.server.device.poll_events(happened));
  ASSERT_EQ(happened.size(), 2U);
  EXPECT_EQ(happened[0].kind, event_kind::completion_queue_error);
  EXPECT_EQ(happened[0].object, c.server.receives.get());
  EXPECT_EQ(happened[1].kind, event_kind::queue_pair_fatal);
  EXPECT_EQ(happened[1].qpn, c.server.pair->number());
}

TEST(SimulatedDevice, QueueThatIsExactlyFullIsNotOverrun) {
  end_options options;
  options.depth = 3;
  connected c(1, options);
  c.connect();
  for (std::uint64_t i = 0; i < 3; ++i) {
    must(c.server.post_receive(i));
    must(c.client.send(i, 0, 4, 0));
  }
  c.net.run();
  EXPECT_EQ(outcome(*c.server.receives), "0 1 2");
}

TEST(SimulatedDevice, OverrunByFlushingIsOneToo) {
  end_options options;
  options.depth = 2;
  connected c(1, options);
  c.connect();
  for (std::uint64_t i = 0; i < 3; ++i) must(c.client.post_receive(i));
  must(c.client.pair->fail());
  std::vector<completion> room(8);
  EXPECT_EQ(c.client.receives->poll(room), -1);
  EXPECT_EQ(events(c.client.device), std::vector{event_kind::completion_queue_error});
}

TEST(SimulatedDevice, PortGoesDownAndComesBackWithEvents) {
  connected c;
  c.connect();
  must(c.server.post_receive(1));
  c.server.device.set_port(1, false);
  EXPECT_EQ(c.server.device.port(1).value.state, port_state::down);
  must(c.client.send(1, 0, 4));
  c.net.run_for(milliseconds(200));
  EXPECT_EQ(outcome(*c.server.receives), "");
  c.server.device.set_port(1, true);
  c.net.run();
  EXPECT_EQ(outcome(*c.server.receives), "1");
  EXPECT_EQ(events(c.server.device),
            (std::vector{event_kind::port_error, event_kind::port_active}));
}

TEST(SimulatedDevice, PortsOfDifferentFabricsDoNotReachEachOther) {
  adapter_options far = one_port(2);
  far.ports[0].fabric = 1;
  connected c(1, {}, one_port(1), far);
  sending s;
  s.timeout = 5;
  s.retries = 1;
  c.connect(mtu::b1024, s);
  must(c.client.write(1, 0, 4, c.server, 0));
  c.net.run();
  EXPECT_EQ(outcome(*c.client.sends), "1:transport retry counter exceeded");
}

TEST(SimulatedDevice, VanishedGidIsReachedNoMore) {
  for (const bool own : {false, true}) {
    connected c;
    sending s;
    s.timeout = 5;
    c.connect(mtu::b1024, s);
    (own ? c.client : c.server).device.remove_gid(1, 0);
    EXPECT_EQ(events((own ? c.client : c.server).device), std::vector{event_kind::gid_change});
    must(c.client.write(1, 0, 4, c.server, 0));
    c.net.run();
    EXPECT_EQ(outcome(*c.client.sends), "1:transport retry counter exceeded") << own;
  }
}

TEST(SimulatedDevice, FailureFlushesEverythingAndRefusesAllCalls) {
  connected c;
  c.connect();
  must(c.client.write(1, 0, 4, c.server, 0));
  must(c.client.post_receive(2));
  c.client.device.fail();
  EXPECT_EQ(outcome(*c.client.sends), "1:flushed");
  EXPECT_EQ(outcome(*c.client.receives), "2:flushed");
  EXPECT_EQ(events(c.client.device), std::vector{event_kind::device_fatal});
  EXPECT_EQ(c.client.send(1, 0, 4), device_gone);
  EXPECT_EQ(c.client.post_receive(1), device_gone);
  EXPECT_EQ(c.client.device.port(1).error, device_gone);
  EXPECT_EQ(c.client.device.allocate_domain().error, device_gone);
  EXPECT_EQ(c.client.device.create_completion_queue(1).error, device_gone);
  EXPECT_EQ(c.client.sends->arm(false), device_gone);
  EXPECT_EQ(c.client.pair->fail(), device_gone);
  c.net.run();
}

TEST(SimulatedDevice, SomeDevicesFailWithoutAnyCompletion) {
  adapter_options mute = one_port(1);
  mute.flushes_when_failed = false;
  connected c(1, {}, mute);
  c.connect();
  must(c.client.write(1, 0, 4, c.server, 0));
  must(c.client.post_receive(2));
  c.client.device.fail();
  c.net.run();
  EXPECT_EQ(outcome(*c.client.sends), "");
  EXPECT_EQ(outcome(*c.client.receives), "");
}

TEST(SimulatedDevice, CompletionsOfADestroyedQueuePairStayOrGo) {
  for (const bool keeps : {true, false}) {
    adapter_options o = one_port(1);
    o.keeps_completions_of_destroyed = keeps;
    connected c(1, {}, o);
    c.connect();
    must(c.client.write(1, 0, 4, c.server, 0));
    c.net.run();
    c.client.pair.reset();
    EXPECT_EQ(outcome(*c.client.sends), keeps ? "1" : "");
  }
}

TEST(SimulatedDevice, ObjectsMayGoWhileMuchIsUnderWay) {
  connected c;
  c.connect();
  for (std::uint64_t i = 0; i < 10; ++i) must(c.client.write(i, 0, 30000, c.server, 0));
  c.net.run_for(microseconds(15));
  c.client.pair.reset();
  c.server.pair.reset();
  c.net.run();
  EXPECT_EQ(c.client.device.live().queue_pairs, 0U);
}

TEST(SimulatedDevice, EventsMakeTheirDescriptorReadable) {
  connected c;
  const auto readable = [&] {
    pollfd p{c.client.device.event_descriptor(), POLLIN, 0};
    return ::poll(&p, 1, 0) == 1;
  };
  EXPECT_FALSE(readable());
  c.client.device.set_port(1, false);
  c.client.device.set_port(1, true);
  EXPECT_TRUE(readable());
  std::vector<asynchronous_event> one(1);
  EXPECT_EQ(c.client.device.poll_events(one), 1U);
  EXPECT_EQ(one[0].port, 1);
  EXPECT_TRUE(readable());
  EXPECT_EQ(c.client.device.poll_events(one), 1U);
  EXPECT_FALSE(readable());
}

TEST(SimulatedDevice, QueuePairNumbersAreNotReusedAtOnce) {
  connected c;
  const auto first = c.client.pair->number();
  const auto options = c.client.pair->options();
  c.client.pair.reset();
  c.client.pair = made(c.client.domain->create_queue_pair(options));
  EXPECT_NE(c.client.pair->number(), first);
}

TEST(VirtualTime, EventsHappenInTheOrderOfTheirTimeAndMaking) {
  event_queue q;
  std::string order;
  q.at(moment(20), [&] { order += 'c'; });
  q.at(moment(10), [&] { order += 'a'; });
  q.at(moment(10), [&] {
    order += 'b';
    q.at(moment(0), [&] { order += '!'; });
  });
  const auto dropped = q.at(moment(15), [&] { order += 'x'; });
  q.cancel(dropped);
  q.run_until(moment(19));
  EXPECT_EQ(order, "ab!");
  EXPECT_EQ(q.now(), moment(19));
  EXPECT_TRUE(q.step());
  EXPECT_EQ(order, "ab!c");
  EXPECT_FALSE(q.step());
  q.cancel(dropped);
}

}  // namespace
}  // namespace smc::rdma::simulator
