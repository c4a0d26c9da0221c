// Memory that can not be had is known at set-up, and means TCP (dmf-mxl/mxl #300, llnl/UnifyFS #72,
// eclipse-iceoryx/iceoryx #2287, cloud-hypervisor/cloud-hypervisor #7387), as does memory that a
// security module does not let a process map (eProsima/Fast-DDS #5258,
// containers/container-selinux #103).
#include <asio/experimental/awaitable_operators.hpp>
#include <asio/redirect_error.hpp>
#include <cerrno>

#include "setting.hpp"
#include "system/injection.hpp"

namespace smc::test {
namespace {

using namespace asio::experimental::awaitable_operators;
using asio::redirect_error;
using asio::use_awaitable;
using system::call;

struct failure {
  call kind;
  int error;
};

constexpr failure failures[] = {
    {call::memfd_create, ENOMEM}, {call::fallocate, ENOSPC}, {call::fallocate, ENOMEM},
    {call::madvise, ENOMEM},      {call::mmap, ENOMEM},      {call::mmap, EACCES},
    {call::mmap, EPERM},          {call::mprotect, EACCES},  {call::fcntl, EPERM},
};

asio::awaitable<void> echo(stream& client, stream& server) {
  const std::string text = random_text(std::size_t{1} << 20, 6);
  std::string there(text.size(), '\0'), back(text.size(), '\0');
  co_await (asio::async_write(client, asio::buffer(text), use_awaitable) &&
            asio::async_read(server, asio::buffer(there), use_awaitable));
  co_await (asio::async_write(server, asio::buffer(there), use_awaitable) &&
            asio::async_read(client, asio::buffer(back), use_awaitable));
  EXPECT_TRUE(back == text);
}

class memory_that_fails : public each_setting {
 protected:
  /// One connection of a context that has made none yet, in which the nth call of a kind fails.
  /// False: there was no such call.
  bool connection(const failure& fails, std::uint64_t nth, fallback_policy policy) {
    bool triggered = false;
    world here(where());
    here.run([&]() -> asio::awaitable<void> {
      config wanted = settings();
      wanted.ring_size = std::size_t{4} << 20;
      wanted.fallback = policy;
      wanted.handshake_timeout = std::chrono::milliseconds(300);
      acceptor listener(here.executor(), any_port(), wanted);
      stream client(here.executor(), wanted), server(here.executor(), wanted);
      outcome accepted, connected;
      {
        const system::failure_scope fault(fails.kind, nth, fails.error);
        listener.async_accept(server, store(accepted));
        client.async_connect(listener.local_endpoint(), store(connected));
        co_await until([&] { return connected.called; });
        // Who fails behind the client's confirmation can but reset it, and accepts the next.
        for (int i = 0; i < 200 && !accepted.called; ++i) co_await turns();
        triggered = fault.triggered();
      }
      if (policy == fallback_policy::forbid && connected.error) {
        EXPECT_EQ(connected.error.category(), make_error_code(reason::no_memory).category())
            << connected.error.message();
      } else if (!accepted.called) {
        EXPECT_TRUE(triggered);
        char byte = 0;
        std::error_code over;
        co_await client.async_read_some(asio::buffer(&byte, 1),
                                        redirect_error(use_awaitable, over));
        EXPECT_EQ(over, asio::error::connection_reset);
      } else {
        EXPECT_FALSE(connected.error) << connected.error.message();
        EXPECT_FALSE(accepted.error) << accepted.error.message();
        EXPECT_EQ(client.transport(), server.transport());
        if (client.transport() == transport_kind::tcp) {
          EXPECT_TRUE(triggered);
          EXPECT_EQ(policy, fallback_policy::allow);
          EXPECT_TRUE(client.fallback_reason());
          EXPECT_TRUE(server.fallback_reason());
          fell_back_ = client.fallback_reason();
        }
        co_await echo(client, server);
      }
      listener.close();
      co_await until([&] { return accepted.called; });
    });
    return triggered;
  }

  std::error_code fell_back_;
};

using FieldMemory = memory_that_fails;

TEST_P(FieldMemory, ThatCanNotBeHadIsTcpOnBothSidesWithTheReason) {
  for (const failure& each : failures) {
    bool any = false;
    for (std::uint64_t nth = 0; connection(each, nth, fallback_policy::allow); ++nth) {
      SCOPED_TRACE(std::to_string(static_cast<int>(each.kind)) + "/" + std::to_string(nth));
      any = true;
      if (HasFailure()) return;
    }
    EXPECT_TRUE(any || each.kind == call::mprotect)
        << "no call of kind " << static_cast<int>(each.kind);
  }
  EXPECT_TRUE(fell_back_);
}

TEST_P(FieldMemory, ThatCanNotBeHadFailsTheConnectAtOnceWhereTcpIsForbidden) {
  for (const failure& each : {failures[0], failures[1], failures[3], failures[4]}) {
    for (std::uint64_t nth = 0; connection(each, nth, fallback_policy::forbid); ++nth) {
      if (HasFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Everywhere, FieldMemory,
                         testing::Combine(testing::Values(carrier::smc_d_mapped,
                                                          carrier::smc_d_copying),
                                          testing::Values(place::event_loop, place::io_context)),
                         name_of_setting);

}  // namespace
}  // namespace smc::test
