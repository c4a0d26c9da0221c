// Each system call of a connection's whole life fails once, with each error that it may have.
#include <cerrno>

#include "life.hpp"
#include "support/resources.hpp"
#include "system/injection.hpp"
#include "system/memory_budget.hpp"

namespace smc::test {
namespace {

using system::call;

struct errors_of {
  call kind;
  std::initializer_list<int> errors;
};

// As the manual says. Where a call is repeated after a signal its caller never sees EINTR. What is
// written are rings of doorbells, which fail only where the peer is being woken already.
constexpr errors_of failures[] = {
    {call::memfd_create, {EMFILE, ENFILE, ENOMEM}},
    {call::fallocate, {ENOSPC, ENOMEM, EPERM}},
    {call::fcntl, {EPERM}},
    {call::fstat, {ENOMEM}},
    {call::mmap, {ENOMEM, ENFILE, EPERM, EAGAIN}},
    {call::mprotect, {ENOMEM}},
    {call::madvise, {ENOMEM, EAGAIN}},
    {call::eventfd, {EMFILE, ENFILE, ENOMEM}},
    {call::read, {EAGAIN}},
    {call::socket, {EMFILE, ENFILE, ENOMEM, EPERM}},
    {call::bind, {ENOMEM, EPERM}},
    {call::listen, {EPERM}},
    {call::connect, {EAGAIN, EPERM, ENOMEM}},
    {call::accept, {EAGAIN, EMFILE, ENFILE, ENOMEM, EPERM}},
    {call::send, {EAGAIN, ENOMEM, EPIPE, EPERM}},
    {call::receive, {EAGAIN, ENOMEM}},
    {call::poll, {ENOMEM}},
    {call::epoll, {ENOMEM, ENOSPC, EMFILE, ENFILE}},
    {call::timer, {EMFILE, ENFILE, ENOMEM}},
    {call::pidfd_open, {EMFILE, ENFILE, ENOMEM}},
    {call::futex, {EAGAIN}},
    {call::socket_option, {ENOMEM, EPERM}},
    {call::duplicate, {EMFILE}},
    {call::unlink, {EPERM}},
    {call::random, {EAGAIN}},
};

class SystemCallSweep : public each_setting {
 protected:
  using way = void (life::*)();

  /// False: there are not as many calls.
  bool lived_through(way lived, call kind, std::uint64_t nth, int error) {
    const auto memory = system::memory_budget::process().memory_in_use();
    config wanted = settings();
    wanted.handshake_timeout = std::chrono::milliseconds(300);
    bool reached = false;
    {
      life one(by(), where(), wanted);
      {
        const system::failure_scope failing(kind, nth, error);
        (one.*lived)();
        reached = failing.triggered();
      }
      EXPECT_TRUE(reached || one.complete() || one.fell_back()) << one.story();
      one.next_client();
      one.end();
      if (HasFailure()) ADD_FAILURE() << one.story();
    }
    const std::string left = growth(before_, resources::of_this_process());
    EXPECT_TRUE(left.empty()) << left;
    EXPECT_EQ(system::memory_budget::process().memory_in_use(), memory);
    return reached;
  }

  resources before_ = resources::of_this_process();

  void every_call(way lived) {
    std::size_t points = 0;
    for (const errors_of& each : failures) {
      for (const int error : each.errors) {
        for (std::uint64_t nth = 0; lived_through(lived, each.kind, nth, error);
             nth += points_apart) {
          ++points;
          if (HasFailure()) {
            ADD_FAILURE() << "call " << nth << " of kind " << static_cast<int>(each.kind)
                          << ", error " << error;
            return;
          }
        }
      }
    }
    RecordProperty("points", static_cast<int>(points));
    EXPECT_GT(points * points_apart, 10u);
  }
};

TEST_P(SystemCallSweep, AFailedCallIsAnErrorOrTcpAndLeavesNothing) {
  every_call(&life::asynchronous);
}

using BlockingSystemCallSweep = SystemCallSweep;

TEST_P(BlockingSystemCallSweep, AFailedCallIsAnErrorOrTcpAndLeavesNothing) {
  every_call(&life::blocking);
}

INSTANTIATE_TEST_SUITE_P(Everywhere, SystemCallSweep,
                         testing::Combine(testing::Values(carrier::tcp, carrier::smc_d_mapped,
                                                          carrier::smc_d_copying),
                                          testing::Values(place::event_loop, place::io_context)),
                         name_of_setting);
// A blocked caller does the same work on either context.
INSTANTIATE_TEST_SUITE_P(Everywhere, BlockingSystemCallSweep,
                         testing::Values(std::tuple(carrier::tcp, place::event_loop),
                                         std::tuple(carrier::smc_d_mapped, place::io_context),
                                         std::tuple(carrier::smc_d_copying, place::event_loop)),
                         name_of_setting);

}  // namespace
}  // namespace smc::test
