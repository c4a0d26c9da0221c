// The wrappers against the kernel: events, waiting, memory, sockets.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "support/descriptor_limit.hpp"
#include "system/events.hpp"
#include "system/memory.hpp"
#include "system/sockets.hpp"

namespace smc::system {
namespace {

using namespace std::chrono_literals;

TEST(Event, RingsUntilCleared) {
  auto event = create_event();
  EXPECT_FALSE(clear(event.value).value);
  EXPECT_FALSE(ring(event.value));
  EXPECT_FALSE(ring(event.value));
  pollfd p{event.value.get(), POLLIN, 0};
  EXPECT_EQ(poll({&p, 1}, 0ms).value, 1);
  EXPECT_TRUE(clear(event.value).value);
  EXPECT_EQ(poll({&p, 1}, 0ms).value, 0);
}

TEST(Event, AFullOneRingsAlready) {
  auto event = create_event();
  const std::uint64_t most = 0xfffffffffffffffe;
  ASSERT_FALSE(write_some(event.value, std::as_bytes(std::span(&most, 1))).error);
  EXPECT_FALSE(ring(event.value));
}

TEST(Epoll, TellsWhichDescriptorIsReady) {
  auto epoll = create_epoll();
  auto event = create_event();
  ASSERT_FALSE(epoll_change(epoll.value, EPOLL_CTL_ADD, event.value.get(), EPOLLIN, 42));
  std::array<epoll_event, 4> events{};
  EXPECT_EQ(epoll_wait(epoll.value, events, 0ms).value, 0u);
  static_cast<void>(ring(event.value));
  ASSERT_EQ(epoll_wait(epoll.value, events, 10s).value, 1u);
  EXPECT_EQ(events[0].data.u64, 42u);
}

TEST(ProcessDescriptor, BecomesReadableWhenTheProcessEnds) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  auto process = open_process(child);
  ASSERT_FALSE(process.error);
  pollfd p{process.value.get(), POLLIN, 0};
  EXPECT_EQ(poll({&p, 1}, 0ms).value, 0);
  ::kill(child, SIGKILL);
  EXPECT_EQ(poll({&p, 1}, 20s).value, 1);
  ::waitpid(child, nullptr, 0);
}

TEST(Random, DiffersFromTimeToTime) {
  std::array<std::uint64_t, 2> a{}, b{};
  EXPECT_FALSE(fill_random(std::as_writable_bytes(std::span(a))));
  EXPECT_FALSE(fill_random(std::as_writable_bytes(std::span(b))));
  EXPECT_NE(a, b);
}

TEST(Futex, WakesAThreadAndTellsALateOne) {
  std::atomic<std::uint32_t> word{1};
  std::thread sleeper([&] {
    while (word.load() == 1) static_cast<void>(futex_wait(word, 1, 1000ms));
  });
  word.store(0);
  EXPECT_FALSE(futex_wake(word).error);
  sleeper.join();
  EXPECT_EQ(futex_wait(word, 1, 10000ms).value(), EAGAIN);
  EXPECT_EQ(futex_wait(word, 0, 1ms).value(), ETIMEDOUT);
}

TEST(MemoryFile, IsReservedSealedAndMappedTwice) {
  auto file = create_memory_file("smc-test");
  ASSERT_FALSE(file.error);
  ASSERT_FALSE(reserve(file.value, 8192));
  ASSERT_FALSE(add_seals(file.value, F_SEAL_SHRINK | F_SEAL_SEAL));
  EXPECT_EQ(get_seals(file.value).value & (F_SEAL_SHRINK | F_SEAL_SEAL),
            F_SEAL_SHRINK | F_SEAL_SEAL);
  EXPECT_NE(::ftruncate(file.value.get(), 0), 0);
  const auto status = status_of(file.value);
  EXPECT_EQ(status.value.size, 8192u);
  EXPECT_GE(status.value.allocated, 8192u);
  auto range = map_nothing(16384);
  ASSERT_FALSE(range.error);
  ASSERT_FALSE(map_file_at(range.value, 8192, file.value, 0));
  ASSERT_FALSE(map_file_at(range.value + 8192, 8192, file.value, 0));
  EXPECT_FALSE(populate(range.value, 16384));
  range.value[5] = std::byte{77};
  EXPECT_EQ(range.value[8192 + 5], std::byte{77});
  unmap(range.value, 16384);
}

TEST(MemoryFile, SealsOfSomethingElseAreAnError) {
  auto event = create_event();
  EXPECT_TRUE(get_seals(event.value).error);
}

TEST(Message, CarriesDescriptorsThatAreCloseOnExec) {
  descriptor a, b;
  ASSERT_FALSE(create_socket_pair(SOCK_SEQPACKET, true, a, b));
  auto event = create_event();
  const int numbers[] = {event.value.get(), event.value.get()};
  const char text[] = "hello";
  ASSERT_EQ(send_message(a, std::as_bytes(std::span(text)), numbers).value, sizeof(text));
  std::array<std::byte, 64> into{};
  auto got = receive_message(b, into);
  ASSERT_FALSE(got.error);
  EXPECT_EQ(got.value.bytes, sizeof(text));
  EXPECT_FALSE(got.value.truncated);
  ASSERT_EQ(got.value.descriptor_count, 2u);
  EXPECT_TRUE(::fcntl(got.value.descriptors[0].get(), F_GETFD) & FD_CLOEXEC);
  static_cast<void>(ring(got.value.descriptors[1]));
  EXPECT_TRUE(clear(event.value).value);
  EXPECT_EQ(receive_message(b, into).error.value(), EAGAIN);
  a.reset();
  EXPECT_EQ(receive_message(b, into).value.bytes, 0u);
}

TEST(Message, WhatIsTooMuchIsToldAndNothingLeaks) {
  descriptor a, b;
  ASSERT_FALSE(create_socket_pair(SOCK_SEQPACKET, true, a, b));
  auto event = create_event();
  std::array<int, max_passed_descriptors + 1> numbers{};
  numbers.fill(event.value.get());
  const std::array<std::byte, 100> bytes{};
  EXPECT_EQ(send_message(a, bytes, numbers).error.value(), EINVAL);
  ASSERT_FALSE(send_message(a, bytes, std::span(numbers).first(max_passed_descriptors)).error);
  const auto before = registered_descriptors();
  std::array<std::byte, 10> into{};
  {
    auto got = receive_message(b, into);
    EXPECT_TRUE(got.value.truncated);
    EXPECT_EQ(got.value.descriptor_count, max_passed_descriptors);
  }
  EXPECT_EQ(registered_descriptors(), before);
}

TEST(Message, WhatThereIsNoRoomForIsLostAndTheRestArrives) {
  descriptor a, b;
  ASSERT_FALSE(create_socket_pair(SOCK_SEQPACKET, true, a, b));
  auto event = create_event();
  const int numbers[] = {event.value.get(), event.value.get()};
  const char text[] = "hello";
  ASSERT_FALSE(send_message(a, std::as_bytes(std::span(text)), numbers).error);
  std::array<std::byte, 64> into{};
  const test::no_descriptors none;
  auto got = receive_message(b, into);
  ASSERT_FALSE(got.error);
  EXPECT_EQ(got.value.bytes, sizeof(text));
  EXPECT_FALSE(got.value.truncated);
  EXPECT_TRUE(got.value.descriptors_lost);
  EXPECT_EQ(got.value.descriptor_count, 0u);
}

TEST(LocalSocket, AnAbstractNameIsListenedOnAndConnectedTo) {
  std::array<std::uint64_t, 1> unique{};
  ASSERT_FALSE(fill_random(std::as_writable_bytes(std::span(unique))));
  std::string name("\0smc-test.", 10);
  name += std::to_string(unique[0]);
  const auto address = local_address::of(name);
  ASSERT_FALSE(address.error);
  auto client = create_socket(AF_UNIX, SOCK_SEQPACKET, 0, true);
  EXPECT_EQ(connect_to(client.value, address.value).value(), ECONNREFUSED);
  auto listener = create_socket(AF_UNIX, SOCK_SEQPACKET, 0, true);
  ASSERT_FALSE(bind_to(listener.value, address.value));
  ASSERT_FALSE(listen_on(listener.value, 4));
  EXPECT_EQ(accept_from(listener.value, true).error.value(), EAGAIN);
  ASSERT_FALSE(connect_to(client.value, address.value));
  auto accepted = accept_from(listener.value, true);
  ASSERT_FALSE(accepted.error);
  const auto who = peer_credentials(accepted.value);
  EXPECT_EQ(who.value.pid, ::getpid());
  EXPECT_EQ(who.value.uid, ::getuid());
  const auto process = peer_process(accepted.value);
  EXPECT_TRUE(!process.error || process.error.value() == ENOPROTOOPT);
}

TEST(LocalSocket, NamesThatDoNotFitAreRefused) {
  EXPECT_EQ(local_address::of("").error.value(), EINVAL);
  EXPECT_FALSE(local_address::of(std::string(107, 'x')).error);
  EXPECT_EQ(local_address::of(std::string(108, 'x')).error.value(), ENAMETOOLONG);
  EXPECT_FALSE(local_address::of(std::string(108, '\0')).error) << "abstract names end at 108";
}

}  // namespace
}  // namespace smc::system
