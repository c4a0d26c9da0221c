// What the system or the configuration refuses to a process: TCP for that reason, on both sides.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <array>
#include <cstddef>
#include <iterator>

#include "framework/faults/echo_server.hpp"
#include "support/other_process.hpp"
#include "system/memory_budget.hpp"

namespace smc::test {
namespace {

/// From here on this process may not make the call.
template <unsigned Number>
void refuse_call(config&) {
  std::array<sock_filter, 4> code{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, Number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program{code.size(), code.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    throw std::runtime_error("seccomp");
  }
}

void refuse_buffers(config& settings) { settings.buffer_memory_limit = 4096; }

/// The library's rings have as many mappings as they may have.
void refuse_mappings(config&) {
  auto& budget = system::memory_budget::process();
  while (budget.take_mappings(1) == reason::none) {
  }
}

struct refusal {
  const char* name;
  void (*happens)(config&);
  reason to_client;  // as the process from which it is refused is told
  reason to_server;
};
constexpr refusal refusals[] = {
    {"memfd", refuse_call<SYS_memfd_create>, reason::not_permitted, reason::not_permitted},
    // Who can't introduce itself hangs up, before anything is offered to it.
    {"pidfd", refuse_call<SYS_pidfd_open>, reason::not_permitted, reason::not_offered},
    {"eventfd", refuse_call<SYS_eventfd2>, reason::not_permitted, reason::not_permitted},
    {"fallocate", refuse_call<SYS_fallocate>, reason::not_permitted, reason::not_permitted},
    {"buffers", refuse_buffers, reason::memory_limit, reason::memory_limit},
    {"mappings", refuse_mappings, reason::mapping_limit, reason::mapping_limit}};

/// The configuration of a process from which this is refused.
config refused(int what) {
  config settings = settings_for(carrier::smc_d_mapped);
  refusals[what].happens(settings);
  return settings;
}

/// Sends and gets back; reports 1000 and its reason for being TCP.
void refused_client(shared_facts& facts, const role_argument& to) {
  asio::io_context context;  // Asio's own descriptors come before
  stream client(context, refused(to.number));
  client.connect(at_port(to.port));
  char bytes[] = "word";
  asio::write(client, asio::buffer(bytes, 4));
  asio::read(client, asio::buffer(bytes, 4));
  facts.step = 1000 + static_cast<std::uint32_t>(client.fallback_reason().value());
  for (;;) ::pause();
}

/// Accepts one after the other, blocking, and answers; reports the last one's reason.
void refused_server(shared_facts& facts, const role_argument& what) {
  asio::io_context context;
  const config settings = refused(what.number);
  acceptor listener(context, any_port(), settings);
  facts.port = listener.local_endpoint().port();
  for (;;) {
    stream peer(context, settings);
    listener.accept(peer);
    char bytes[4];
    asio::read(peer, asio::buffer(bytes));
    facts.step = 1000 + static_cast<std::uint32_t>(peer.fallback_reason().value());
    asio::write(peer, asio::buffer(bytes));
  }
}

class Refused : public testing::TestWithParam<std::tuple<place, int>> {
 protected:
  static place where() { return std::get<0>(GetParam()); }
  static int what() { return std::get<1>(GetParam()); }
  static const refusal& refused_here() { return refusals[what()]; }
};

TEST_P(Refused, ToAClientItIsTcpWithTheReasonAndTheServerServesOthers) {
  world here(where());
  here.run([&]() -> asio::awaitable<void> {
    echo_server server(here.executor());
    const other_process client(refused_client, {server.endpoint().port(), what()});
    co_await until([&] { return client.facts().step != 0; });
    EXPECT_EQ(static_cast<reason>(client.facts().step - 1000), refused_here().to_client);
    EXPECT_EQ(co_await server.next_accepted(), transport_kind::tcp);
    co_await serves_everybody(server);
  });
}

TEST_P(Refused, ToAServerItIsTcpWithAReasonForItsClients) {
  world here(where());
  here.run([&]() -> asio::awaitable<void> {
    const other_process server(refused_server, {0, what()});
    co_await until([&] { return server.facts().port != 0; });
    for (int i = 0; i < 2; ++i) {
      stream client(here.executor(), settings_for(carrier::smc_d_mapped));
      co_await client.async_connect(at_port(server.facts().port), asio::use_awaitable);
      EXPECT_EQ(client.transport(), transport_kind::tcp);
      EXPECT_TRUE(client.fallback_reason());
      EXPECT_EQ(co_await echoed(client, "word"), "word");
      EXPECT_EQ(static_cast<reason>(server.facts().step - 1000), refused_here().to_server);
    }
  });
}

std::string name_of_refusal(const testing::TestParamInfo<std::tuple<place, int>>& tested) {
  const bool loop = std::get<0>(tested.param) == place::event_loop;
  return std::string(refusals[std::get<1>(tested.param)].name) +
         (loop ? "_on_event_loop" : "_on_io_context");
}

INSTANTIATE_TEST_SUITE_P(Contexts, Refused,
                         testing::Combine(testing::Values(place::event_loop, place::io_context),
                                          testing::Range(0, static_cast<int>(std::size(refusals)))),
                         name_of_refusal);

}  // namespace
}  // namespace smc::test
