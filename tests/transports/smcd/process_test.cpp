// Two processes: descriptors go over a socket pair, one side dies, one side forks.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "pair.hpp"
#include "system/fork.hpp"
#include "system/sockets.hpp"

namespace smc::smcd::testing {
namespace {

using detail::direction;
using namespace std::chrono_literals;

/// What a handshake carries: the ring, and descriptors by position.
struct greeting {
  ring_descriptor ring;
};

/// One side in its own process: sends inbox, doorbell and slab, gets the peer's.
std::unique_ptr<connection> shake_hands(side& us, const system::descriptor& socket,
                                        std::size_t ring_size) {
  auto offer = us.group->open_ring(ring_size);
  if (!offer.value) return nullptr;
  const greeting mine{offer.value.descriptor()};
  const int files[] = {us.group->inbox_file().get(), us.doorbell.get(),
                       offer.value.slab_file()->get()};
  if (system::send_message(socket, std::as_bytes(std::span(&mine, 1)), files).error) return nullptr;
  greeting theirs{};
  auto got = system::receive_message(socket, std::as_writable_bytes(std::span(&theirs, 1)));
  if (got.error || got.value.bytes != sizeof(theirs) || got.value.descriptor_count != 3) {
    return nullptr;
  }
  auto& d = got.value.descriptors;
  if (us.group->attach_peer(std::move(d[0]), std::move(d[1])) != reason::none) return nullptr;
  return us.group->connect(std::move(offer.value), theirs.ring, std::move(d[2])).value;
}

/// One blocking transfer as a stream does it; the peer's death is looked for between slices.
template <typename Attempt>
std::error_code blocking(connection& c, direction d, const system::descriptor& peer,
                         Attempt&& attempt) {
  for (;;) {
    const auto error = attempt();
    if (error != code(asio::error::would_block)) return error;
    c.wait(d, 1, 1s);
    pollfd p{peer.get(), POLLIN, 0};
    if (peer && system::poll({&p, 1}, 0ms).value == 1) c.group().peer_died();
  }
}

std::error_code send_all(connection& c, std::span<const std::byte> bytes,
                         const system::descriptor& peer) {
  while (!bytes.empty()) {
    std::size_t n = 0;
    const auto error = blocking(c, direction::write, peer, [&] {
      const auto r = write(c, bytes);
      n = r.bytes;
      return r.error;
    });
    if (error) return error;
    bytes = bytes.subspan(n);
  }
  return {};
}

std::error_code receive_all(connection& c, std::span<std::byte> into,
                            const system::descriptor& peer) {
  while (!into.empty()) {
    std::size_t n = 0;
    const auto error = blocking(c, direction::read, peer, [&] {
      const auto r = read(c, into);
      n = r.bytes;
      return r.error;
    });
    if (error) return error;
    into = into.subspan(n);
  }
  return {};
}

class Process : public ::testing::Test {
 protected:
  Process() { EXPECT_FALSE(system::create_socket_pair(SOCK_SEQPACKET, false, ours_, theirs_)); }
  ~Process() override {
    if (child_ > 0) {
      ::kill(child_, SIGKILL);
      ::waitpid(child_, nullptr, 0);
    }
  }
  /// `body` runs in a child that is another user of the library: its descriptors of ours are gone,
  /// the socket is kept.
  template <typename Body>
  void start(Body&& body) {
    const int kept = theirs_.release();
    child_ = ::fork();
    if (child_ == 0) {
      auto socket = system::descriptor::adopt(kept);
      const bool good = body(socket.value);
      ::_exit(good ? 0 : 1);
    }
    ::close(kept);
    auto opened = system::open_process(child_);
    EXPECT_FALSE(opened.error);
    process_ = std::move(opened.value);
  }
  int exit_code() {
    int status = 0;
    ::waitpid(child_, &status, 0);
    child_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  system::descriptor ours_;
  system::descriptor theirs_;
  system::descriptor process_;
  pid_t child_ = 0;
};

TEST_F(Process, AnotherProcessEchoesMegabytes) {
  start([](const system::descriptor& socket) {
    side us;
    auto c = shake_hands(us, socket, 65536);
    if (!c) return false;
    std::vector<std::byte> piece(50000);
    for (;;) {
      std::size_t n = 0;
      const auto error = blocking(*c, direction::read, {}, [&] {
        const auto r = read(*c, piece);
        n = r.bytes;
        return r.error;
      });
      if (error == eof()) break;
      if (error || send_all(*c, std::span(piece).first(n), {})) return false;
    }
    c->close();
    return true;
  });
  side us;
  auto c = shake_hands(us, ours_, 32768);
  ASSERT_TRUE(c);
  const auto bytes = pattern(8 << 20);
  std::vector<std::byte> back(bytes.size());
  std::error_code sent;
  std::thread writer([&] {
    sent = send_all(*c, bytes, process_);
    c->shutdown(asio::socket_base::shutdown_send);
  });
  EXPECT_FALSE(receive_all(*c, back, process_));
  writer.join();
  EXPECT_FALSE(sent);
  EXPECT_EQ(back, bytes);
  EXPECT_EQ(exit_code(), 0);
  std::byte one{};
  EXPECT_EQ(read(*c, {&one, 1}).error, eof());
}

TEST_F(Process, AKilledPeersBytesComeFirstThenTheReset) {
  start([](const system::descriptor& socket) {
    side us;
    auto c = shake_hands(us, socket, 16384);
    if (!c || write(*c, "last words").error) return false;
    for (;;) ::pause();
  });
  side us;
  auto c = shake_hands(us, ours_, 16384);
  ASSERT_TRUE(c);
  std::vector<std::byte> words(10);
  ASSERT_FALSE(receive_all(*c, words, process_));
  // Now the thread sleeps in wait() while the peer is killed.
  ::kill(child_, SIGKILL);
  EXPECT_EQ(receive_all(*c, words, process_), code(asio::error::connection_reset));
  EXPECT_EQ(send_all(*c, words, process_), code(asio::error::connection_reset));
}

TEST_F(Process, AWriterBlockedOnAKilledPeerIsReset) {
  start([](const system::descriptor& socket) {
    side us;
    auto c = shake_hands(us, socket, 16384);
    if (!c || write(*c, "go").error) return false;
    for (;;) ::pause();
  });
  side us;
  auto c = shake_hands(us, ours_, 16384);
  ASSERT_TRUE(c);
  std::vector<std::byte> go(2);
  ASSERT_FALSE(receive_all(*c, go, process_));
  std::thread killer([&] { ::kill(child_, SIGKILL); });
  EXPECT_EQ(send_all(*c, pattern(1 << 20), process_), code(asio::error::connection_reset));
  killer.join();
}

TEST_F(Process, AChildOfForkOwnsNoneOfIt) {
  linked_sides sides;
  auto pair = connect(sides);
  write(*pair.a, "for the parent");
  counting_waiter w;
  const auto descriptor_before = sides.a.doorbell.get();
  const pid_t child = ::fork();
  if (child == 0) {
    bool good = system::fork_generation() > 0;
    std::byte one{};
    asio::mutable_buffer room;
    asio::const_buffer seen;
    const auto bad = code(asio::error::bad_descriptor);
    good = good && read(*pair.b, {&one, 1}).error == bad && write(*pair.a, "x").error == bad;
    good = good && pair.a->prepare(1, 1, room) == bad && pair.a->commit(0) == bad;
    good = good && pair.b->data(0, seen) == bad && pair.b->consume(0) == bad;
    good = good && pair.b->available() == 0 && !pair.b->arm(direction::read, 1, w);
    good = good && pair.b->shutdown(asio::socket_base::shutdown_both) == bad;
    pair.b->wait(direction::read, 1, 10s);
    good = good && !sides.a.group->poll() && sides.a.group->before_sleep();
    good = good && sides.a.group->open_ring(16384).why == reason::after_fork;
    good = good && sides.a.group->connections() == 0;
    sides.a.group->peer_died();
    // The doorbell is another one here, which nobody rings.
    std::uint64_t rings = 0;
    good = good && ::read(descriptor_before, &rings, sizeof rings) < 0;
    // Whatever the child maps where the parent's rings were must survive the destructors.
    void* p = ::mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pair.a.reset();
    pair.b->close();
    pair.b.reset();
    sides.a.group.reset();
    sides.b.group.reset();
    static_cast<char*>(p)[12345] = 1;
    good = good && system::memory_budget::process().memory_in_use() == 0;
    // The child is a full user of the library.
    linked_sides own;
    auto fresh = connect(own);
    good = good && write(*fresh.a, "mine").bytes == 4 && read_text(*fresh.b) == "mine";
    ::_exit(good ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  // The parent's connections noticed nothing.
  EXPECT_EQ(read_text(*pair.b), "for the parent");
  EXPECT_EQ(write(*pair.b, "still").bytes, 5u);
  EXPECT_EQ(read_text(*pair.a), "still");
  EXPECT_FALSE(system::clear(sides.a.doorbell).value);
}

TEST_F(Process, NoDescriptorOfOursSurvivesExec) {
  linked_sides sides;
  auto pair = connect(sides);
  for (int i = 0; i < 1024; ++i) {
    const int flags = ::fcntl(i, F_GETFD);
    if (flags < 0 || i <= 2) continue;
    char target[256] = {};
    const auto path = "/proc/self/fd/" + std::to_string(i);
    if (::readlink(path.c_str(), target, sizeof(target) - 1) < 0) continue;
    const std::string_view name(target);
    if (name.find("memfd:smc") != name.npos || name.find("eventfd") != name.npos) {
      EXPECT_TRUE(flags & FD_CLOEXEC) << name;
    }
  }
}

}  // namespace
}  // namespace smc::smcd::testing
