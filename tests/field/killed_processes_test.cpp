// What killed processes leave, and who notices (ofiwg/libfabric #6476 and #9792, apache/brpc #3290,
// Intrect-io/OpenSwarm #456, openucx/ucx #6352, eclipse-ecal/ecal #2622 and #854,
// linux-rdma/rdma-core #1222, pmem/rpma #751, ceph/ceph #13525).
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asio/detached.hpp>
#include <asio/redirect_error.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "framework/faults/echo_server.hpp"
#include "framework/faults/fake_announcer.hpp"
#include "framework/faults/flow.hpp"
#include "setting.hpp"
#include "support/other_process.hpp"

namespace smc::test {
namespace {

using asio::redirect_error;
using asio::use_awaitable;
namespace fs = std::filesystem;

/// A folder for the rendezvous, known to the roles by the number of the test's process.
class folder {
 public:
  folder() : path_(of(::getpid())) {
    fs::remove_all(path_);
    fs::create_directory(path_);
  }
  ~folder() { fs::remove_all(path_); }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;

  static std::string of(int number) {
    return (fs::temp_directory_path() / ("smc-field-" + std::to_string(number))).string();
  }
  const std::string& path() const { return path_; }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
  }

 private:
  std::string path_;
};

config settings_in(const std::string& path) {
  config settings = settings_for(carrier::smc_d_mapped);
  settings.rendezvous_directory = path;
  return settings;
}

/// Listens on the port that it is told, and sends back what comes until it is killed.
void announced_server(shared_facts& facts, const role_argument& where) {
  event_loop loop;
  acceptor listener(loop, at_port(where.port), settings_in(folder::of(where.number)));
  facts.port = listener.local_endpoint().port();
  for (;;) {
    stream peer(loop, settings_in(folder::of(where.number)));
    listener.accept(peer);
    std::vector<char> bytes(8192);
    for (std::error_code error; !error;) {
      const std::size_t n = peer.read_some(asio::buffer(bytes), error);
      facts.written += n;
      if (!error) asio::write(peer, asio::buffer(bytes.data(), n), error);
    }
  }
}

asio::awaitable<std::uint32_t> port_of(const other_process& server) {
  co_await until([&server] { return server.facts().port != 0 || server.ended(); });
  co_return server.facts().port;
}

TEST_P(FieldLocal, AServerKilledAndStartedAgainOnItsPortIsFoundAtOnceAndLeavesOneFileAtMost) {
  const folder shared;
  world here(where());
  here.run([&]() -> asio::awaitable<void> {
    std::minstd_rand random(9);
    std::uint32_t port = 0;
    for (std::size_t i = 0; i < repeated(50); ++i) {
      other_process server(announced_server,
                           {static_cast<std::uint16_t>(port), static_cast<int>(::getpid())});
      const std::uint32_t found = co_await port_of(server);
      EXPECT_TRUE(port == 0 || found == port) << "the next start can not listen";
      if (found == 0) co_return;
      port = found;
      stream client(here.executor(), settings_in(shared.path()));
      co_await client.async_connect(at_port(port), use_awaitable);
      EXPECT_EQ(client.transport(), transport_kind::smc_d) << client.fallback_reason().message();
      const std::uint64_t enough = std::uint64_t{1} << random() % 21;
      const std::string text = random_text(std::size_t{1} << 21, 10);
      outcome write;
      asio::async_write(client, asio::buffer(text), store(write));
      std::string back(text.size(), '\0');
      outcome read;
      asio::async_read(client, asio::buffer(back), store(read));
      co_await until([&] { return server.facts().written >= enough; });
      server.kill();
      co_await until([&] { return write.called && read.called; });
      EXPECT_TRUE(back.compare(0, read.bytes, text, 0, read.bytes) == 0);
      EXPECT_LE(shared.files(), 2u);  // a name and its lock
      // The server's side of the connection would keep the port for a while.
      client.close();
    }
  });
}

TEST_P(Field, AFileThatNamesALiveProcessOfSomebodyElseIsNotTakenForAnAnnouncer) {
  const folder shared;
  world here(where());
  here.run([&]() -> asio::awaitable<void> {
    auto wanted = settings();
    wanted.rendezvous_directory = shared.path();
    acceptor listener(here.executor(), any_port(), wanted);
    const auto port = std::to_string(listener.local_endpoint().port());
    for (unsigned k = 0; k < 4; ++k) {
      std::ofstream(shared.path() + "/smc." + port + "." + std::to_string(k))
          << ::getppid() << '\n';
    }
    stream client(here.executor(), wanted), server(here.executor(), wanted);
    outcome accepted;
    listener.async_accept(server, store(accepted));
    co_await client.async_connect(listener.local_endpoint(), use_awaitable);
    co_await until([&accepted] { return accepted.called; });
    EXPECT_EQ(client.transport(), expected(by())) << client.fallback_reason().message();
    co_await asio::async_write(client, asio::buffer("own", 3), use_awaitable);
    EXPECT_EQ(co_await read_text(server, 3), "own");
  });
}

// ---- fork ---------------------------------------------------------------------------------------

/// Connects, forks a child that lives on, and says so; `written` is the child.
void parent_of_a_child(shared_facts& facts, const role_argument& to) {
  asio::io_context context;
  stream client(context,
                settings_for(to.number != 0 ? carrier::smc_d_copying : carrier::smc_d_mapped));
  client.connect(at_port(to.port));
  asio::write(client, asio::buffer("last words", 10));
  context.notify_fork(asio::io_context::fork_prepare);
  const pid_t child = ::fork();
  if (child == 0) {
    context.notify_fork(asio::io_context::fork_child);
    facts.step = 1;
    for (;;) ::pause();
  }
  context.notify_fork(asio::io_context::fork_parent);
  facts.written = static_cast<std::uint64_t>(child);
  for (;;) ::pause();
}

TEST_P(FieldLocal, TheDeathOfAParentIsNoticedThoughItsChildLivesOn) {
  world here(where());
  here.run([&]() -> asio::awaitable<void> {
    acceptor listener(here.executor(), any_port(), settings());
    other_process parent(parent_of_a_child, {listener.local_endpoint().port(),
                                             by() == carrier::smc_d_copying ? 1 : 0});
    stream server(here.executor(), settings());
    co_await listener.async_accept(server, use_awaitable);
    EXPECT_EQ(server.transport(), transport_kind::smc_d);
    co_await until([&] { return parent.facts().step != 0 && parent.facts().written != 0; });
    const auto child = static_cast<pid_t>(parent.facts().written.load());
    parent.kill();
    EXPECT_EQ(co_await read_text(server, 10), "last words");
    char more = 0;
    std::error_code error;
    (void)co_await server.async_read_some(asio::buffer(&more, 1),
                                          redirect_error(use_awaitable, error));
    EXPECT_EQ(error, asio::error::connection_reset) << error.message();
    EXPECT_EQ(::kill(child, 0), 0) << "the child was to outlive its parent";
    ::kill(child, SIGKILL);
  });
}

/// The descriptors that a program has after exec, but its own three and the pipe's end.
constexpr const char* check_descriptors =
    "for f in /proc/self/fd/*; do case $(readlink $f) in *memfd*|*eventfd*|*pidfd*|*socket*) "
    "exit 1;; esac; done; exit 0";

/// What children do with what they inherited. All end with 0 where all is well.
using child_does = bool (*)(std::vector<std::unique_ptr<pair>>&, asio::io_context&);

constexpr child_does children[] = {
    [](std::vector<std::unique_ptr<pair>>&, asio::io_context&) {
      ::execl("/bin/sh", "sh", "-c", check_descriptors, nullptr);
      return false;
    },
    [](std::vector<std::unique_ptr<pair>>&, asio::io_context&) { return true; },
    [](std::vector<std::unique_ptr<pair>>& inherited, asio::io_context& context) {
      context.notify_fork(asio::io_context::fork_child);
      for (auto& each : inherited) {
        each->client.close();
        each->server.close();
      }
      const auto settings = settings_for(carrier::smc_d_mapped);
      acceptor listener(context, any_port(), settings);
      stream client(context, settings), server(context, settings);
      client.connect(listener.local_endpoint());
      listener.accept(server);
      const std::string text = random_text(1024, 11);
      std::string there(text.size(), '\0');
      asio::write(client, asio::buffer(text));
      asio::read(server, asio::buffer(there));
      return there == text && client.transport() == transport_kind::smc_d;
    },
    [](std::vector<std::unique_ptr<pair>>&, asio::io_context&) {
      std::vector<char> heap(std::size_t{64} << 20, 'h');
      return std::count(heap.begin(), heap.end(), 'h') == static_cast<std::ptrdiff_t>(heap.size());
    },
};

asio::awaitable<void> stream_through(pair& p, std::size_t size, int& running) {
  const std::string text = random_text(std::size_t{1} << 20, 12);
  std::string got(text.size(), '\0');
  for (std::size_t done = 0; done < size; done += text.size()) {
    outcome write;
    asio::async_write(p.client, asio::buffer(text), store(write));
    const auto n = co_await asio::async_read(p.server, asio::buffer(got), use_awaitable);
    co_await until([&write] { return write.called; });
    EXPECT_EQ(n, text.size());
    EXPECT_TRUE(got == text);
  }
  --running;
}

TEST_P(Field, ChildrenThatExecExitCloseOrAllocateDisturbNoStream) {
  if (by() == carrier::memory) GTEST_SKIP() << "not for connections that a fork divides";
  std::optional<event_loop> loop;
  std::optional<asio::io_context> own;
  if (where() == place::event_loop) {
    loop.emplace();
  } else {
    own.emplace();
  }
  asio::io_context& context = loop ? static_cast<asio::io_context&>(*loop) : *own;
  const asio::any_io_executor executor = loop ? asio::any_io_executor(loop->get_executor())
                                              : asio::any_io_executor(own->get_executor());
  std::vector<std::unique_ptr<pair>> streams;
  std::vector<pid_t> started;
  int running = 4;
  asio::co_spawn(
      executor,
      [&]() -> asio::awaitable<void> {
        for (int i = 0; i < 4; ++i) {
          streams.push_back(std::make_unique<pair>(executor, by()));
          co_await streams.back()->connect();
        }
        for (auto& each : streams) {
          asio::co_spawn(executor, stream_through(*each, repeated(25) << 20, running),
                         asio::detached);
        }
        for (const child_does does : children) {
          co_await turns(50);
          context.notify_fork(asio::io_context::fork_prepare);
          const pid_t child = ::fork();
          if (child == 0) {
            bool good = false;
            try {
              good = does(streams, context);
            } catch (const std::exception& e) {
              std::fprintf(stderr, "in the child: %s\n", e.what());
            }
            ::_exit(good ? 0 : 1);
          }
          context.notify_fork(asio::io_context::fork_parent);
          started.push_back(child);
        }
        co_await until([&running] { return running == 0; });
      },
      [](std::exception_ptr e) { EXPECT_FALSE(e); });
  loop ? loop->run_for(patience) : own->run_for(patience);
  EXPECT_EQ(running, 0);
  for (const pid_t child : started) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
        << "the child that does number "
        << std::find(started.begin(), started.end(), child) - started.begin();
  }
  streams.clear();
}

}  // namespace
}  // namespace smc::test
