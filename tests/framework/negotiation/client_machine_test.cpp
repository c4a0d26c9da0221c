#include "negotiation/client_machine.hpp"

#include <gtest/gtest.h>

#include <asio/error.hpp>
#include <sstream>

namespace smc::negotiation {
namespace {

using kind = client_action::kind;
using namespace std::chrono_literals;
using script = std::vector<client_action>;

constexpr announcer_id a{0};  // an id like any other, though it is zero
constexpr announcer_id b{1};
constexpr time_point start_time{};
constexpr duration timeout = 1s;
constexpr time_point limit = start_time + timeout;

class ClientMachine : public ::testing::Test {
 protected:
  // Runs one event and gives back what it led to.
  template <typename Event>
  script after(Event&& event) {
    script out;
    event(out);
    return out;
  }

  script start(std::vector<announcer_id> announcers) {
    return after([&](script& out) { machine_.start(announcers, timeout, out); });
  }
  script underway(time_point now = start_time) {
    return after([&](script& out) { machine_.tcp_underway(now, out); });
  }
  script connected(time_point now = start_time) {
    return after([&](script& out) { machine_.tcp_connected(now, out); });
  }
  script accepted(announcer_id from, time_point now = start_time) {
    return after([&](script& out) { machine_.accepted(from, now, out); });
  }
  script declined(announcer_id from, reason why) {
    return after([&](script& out) { machine_.declined(from, why, out); });
  }
  script retired(announcer_id from) {
    return after([&](script& out) { machine_.retired(from, out); });
  }
  script hung_up(announcer_id from) {
    return after([&](script& out) { machine_.hung_up(from, out); });
  }
  script transport_confirmed(time_point now = start_time) {
    return after([&](script& out) { machine_.transport_confirmed(now, out); });
  }
  script transport_failed(reason why) {
    return after([&](script& out) { machine_.transport_failed(why, out); });
  }
  script deadline(time_point now) {
    return after([&](script& out) { machine_.deadline(now, out); });
  }
  script tcp_failed(std::error_code error) {
    return after([&](script& out) { machine_.tcp_failed(error, out); });
  }

  static script tcp(reason why) { return {{kind::finished_tcp, {}, why}}; }

  client_machine machine_;
};

TEST_F(ClientMachine, ChoosesTheTransportOfTheFirstAccept) {
  EXPECT_EQ(start({a, b}),
            (script{{kind::send_intent, a}, {kind::send_intent, b}, {kind::connect_tcp}}));
  EXPECT_EQ(connected(), (script{{kind::send_proposal, a}, {kind::send_proposal, b}}));
  EXPECT_EQ(accepted(b), (script{{kind::confirm, b}}));
  EXPECT_EQ(
      transport_confirmed(),
      (script{{kind::send_confirm, b}, {kind::send_withdraw, a}, {kind::finished_transport, b}}));
  EXPECT_TRUE(machine_.finished());
  EXPECT_EQ(machine_.next_deadline(), std::nullopt);
}

TEST_F(ClientMachine, WithoutAnnouncersIsTcp) {
  EXPECT_EQ(start({}), (script{{kind::connect_tcp}}));
  EXPECT_EQ(connected(), tcp(reason::peer_unknown));
}

TEST_F(ClientMachine, AnnouncerNamedTwiceIsAskedOnce) {
  EXPECT_EQ(start({a, a}), (script{{kind::send_intent, a}, {kind::connect_tcp}}));
}

TEST_F(ClientMachine, FailedTcpWithdrawsAndIsTheResult) {
  start({a, b});
  hung_up(b);
  const std::error_code refused = asio::error::connection_refused;
  EXPECT_EQ(tcp_failed(refused),
            (script{{kind::send_withdraw, a}, {kind::finished_error, {}, reason::none, refused}}));
  EXPECT_EQ(accepted(a), (script{{kind::send_decline, a, reason::not_offered}}));
}

TEST_F(ClientMachine, CancelledAtAnyStepWithdrawsAndEnds) {
  const std::error_code aborted = asio::error::operation_aborted;
  for (int steps = 1; steps <= 3; ++steps) {
    machine_ = client_machine();
    start({a});
    if (steps > 1) connected();
    if (steps > 2) accepted(a);
    EXPECT_EQ(tcp_failed(aborted), (script{{kind::send_withdraw, a},
                                           {kind::finished_error, {}, reason::none, aborted}}));
    EXPECT_EQ(transport_confirmed(), script{});
    EXPECT_EQ(tcp_failed(aborted), script{});
  }
}

TEST_F(ClientMachine, LastDeclineMakesItTcpWithTheMostTellingReason) {
  start({a, b});
  connected();
  EXPECT_EQ(declined(a, reason::memory_limit), script{});
  EXPECT_EQ(hung_up(b), tcp(reason::memory_limit));
}

TEST_F(ClientMachine, AllGoneBeforeTcpConnectedIsTcpAtOnce) {
  start({a, b});
  EXPECT_EQ(declined(a, reason::other_user), script{});
  EXPECT_EQ(retired(b), script{});
  EXPECT_EQ(connected(), tcp(reason::other_user));
}

TEST_F(ClientMachine, ProposesToThoseLeftOnly) {
  start({a, b});
  hung_up(a);
  EXPECT_EQ(connected(), (script{{kind::send_proposal, b}}));
  EXPECT_EQ(retired(b), tcp(reason::rendezvous_unreachable));
}

TEST_F(ClientMachine, ProposesBeforeTcpIsKnownToStand) {
  start({a, b});
  EXPECT_EQ(underway(),
            (script{{kind::send_proposal, a}, {kind::send_proposal, b}, {kind::await_tcp}}));
  EXPECT_EQ(underway(), script{});
  EXPECT_EQ(connected(), script{});
  EXPECT_EQ(accepted(a), (script{{kind::confirm, a}}));
}

TEST_F(ClientMachine, AnAcceptTellsThatTcpStands) {
  start({a});
  underway();
  EXPECT_EQ(accepted(a), (script{{kind::confirm, a}}));
  EXPECT_EQ(transport_confirmed(),
            (script{{kind::send_confirm, a}, {kind::finished_transport, a}}));
  EXPECT_EQ(connected(), script{});
}

TEST_F(ClientMachine, IsNotTcpBeforeTcpStands) {
  start({a});
  underway();
  EXPECT_EQ(declined(a, reason::no_memory), script{});
  EXPECT_EQ(connected(), tcp(reason::no_memory));
}

TEST_F(ClientMachine, WithoutAnnouncersAwaitsTcp) {
  start({});
  EXPECT_EQ(underway(), (script{{kind::await_tcp}}));
  EXPECT_EQ(connected(), tcp(reason::peer_unknown));
}

TEST_F(ClientMachine, TcpThatFailsAfterTheProposalsWithdrawsThem) {
  start({a});
  underway();
  const std::error_code refused = asio::error::connection_refused;
  EXPECT_EQ(tcp_failed(refused),
            (script{{kind::send_withdraw, a}, {kind::finished_error, {}, reason::none, refused}}));
}

TEST_F(ClientMachine, ConnectThatTakesLongerThanTheTimeoutProposesAgain) {
  start({a, b});
  underway();
  declined(b, reason::no_memory);
  EXPECT_EQ(machine_.next_deadline(), limit);
  EXPECT_EQ(deadline(limit), (script{{kind::send_withdraw, a}, {kind::send_intent, a}}));
  EXPECT_EQ(machine_.next_deadline(), std::nullopt);
  EXPECT_EQ(connected(limit + timeout), (script{{kind::send_proposal, a}}));
  EXPECT_EQ(machine_.next_deadline(), limit + 2 * timeout);
  EXPECT_EQ(accepted(a, limit + timeout), (script{{kind::confirm, a}}));
}

TEST_F(ClientMachine, AcceptOfAProposalThatWasWithdrawnIsDeclined) {
  start({a});
  underway();
  deadline(limit);
  EXPECT_EQ(accepted(a, limit), (script{{kind::send_decline, a, reason::not_offered}}));
  EXPECT_EQ(connected(limit), tcp(reason::handshake_timed_out));
}

TEST_F(ClientMachine, DeclineOfAProposalThatWasWithdrawnEndsTheNewIntentToo) {
  start({a});
  underway();
  deadline(limit);
  EXPECT_EQ(declined(a, reason::no_memory), (script{{kind::send_withdraw, a}}));
  EXPECT_EQ(connected(limit), tcp(reason::no_memory));
}

TEST_F(ClientMachine, UndecodableAnswerCountsAsItsReason) {
  start({a});
  connected();
  EXPECT_EQ(after([&](script& out) { machine_.violated(a, reason::version_mismatch, out); }),
            tcp(reason::version_mismatch));
}

TEST_F(ClientMachine, DeadlineWithdrawsAndIsTcp) {
  start({a, b});
  EXPECT_EQ(machine_.next_deadline(), std::nullopt);
  connected();
  EXPECT_EQ(machine_.next_deadline(), limit);
  EXPECT_EQ(deadline(limit - 1ns), script{});
  EXPECT_EQ(deadline(limit), (script{{kind::send_withdraw, a},
                                     {kind::send_withdraw, b},
                                     {kind::finished_tcp, {}, reason::handshake_timed_out}}));
  EXPECT_EQ(deadline(limit), script{});
  EXPECT_EQ(accepted(a, limit), (script{{kind::send_decline, a, reason::not_offered}}));
}

TEST_F(ClientMachine, AcceptAtTheDeadlineIsTooLate) {
  start({a});
  connected();
  EXPECT_EQ(accepted(a, limit), (script{{kind::send_withdraw, a},
                                        {kind::finished_tcp, {}, reason::handshake_timed_out}}));
}

TEST_F(ClientMachine, ConfirmIsNeverSentAtTheDeadline) {
  start({a});
  connected();
  accepted(a);
  EXPECT_EQ(
      transport_confirmed(limit),
      (script{{kind::send_withdraw, a}, {kind::finished_tcp, {}, reason::handshake_timed_out}}));
}

TEST_F(ClientMachine, TransportThatCannotIsDeclinedToTheServer) {
  start({a, b});
  connected();
  accepted(a);
  EXPECT_EQ(transport_failed(reason::mapping_limit),
            (script{{kind::send_decline, a, reason::mapping_limit},
                    {kind::send_withdraw, b},
                    {kind::finished_tcp, {}, reason::mapping_limit}}));
}

TEST_F(ClientMachine, LossOfTheChosenOneWhileConfirmingIsTcp) {
  start({a, b});
  connected();
  accepted(a);
  EXPECT_EQ(hung_up(a), (script{{kind::send_withdraw, b},
                                {kind::finished_tcp, {}, reason::rendezvous_unreachable}}));
  EXPECT_EQ(transport_confirmed(), script{});
}

TEST_F(ClientMachine, DeclineTakesBackAnAcceptWhileConfirming) {
  start({a});
  connected();
  accepted(a);
  EXPECT_EQ(declined(a, reason::no_memory), tcp(reason::no_memory));
}

TEST_F(ClientMachine, ListenerMayRetireWhileItsAcceptIsConfirmed) {
  start({a});
  connected();
  accepted(a);
  EXPECT_EQ(retired(a), script{});
  EXPECT_EQ(transport_confirmed(),
            (script{{kind::send_confirm, a}, {kind::finished_transport, a}}));
}

TEST_F(ClientMachine, SecondAcceptIsDeclined) {
  start({a, b});
  connected();
  accepted(a);
  EXPECT_EQ(accepted(b), (script{{kind::send_decline, b, reason::not_offered}}));
  EXPECT_EQ(transport_confirmed(),
            (script{{kind::send_confirm, a}, {kind::finished_transport, a}}));
}

TEST_F(ClientMachine, RepeatedAcceptOfTheChosenOneChangesNothing) {
  start({a});
  connected();
  accepted(a);
  EXPECT_EQ(accepted(a), script{});
  transport_confirmed();
  EXPECT_EQ(accepted(a), script{});
  EXPECT_EQ(declined(a, reason::no_memory), script{});
  EXPECT_EQ(hung_up(a), script{});
}

TEST_F(ClientMachine, AcceptBeforeTheProposalIsAViolation) {
  start({a});
  EXPECT_EQ(accepted(a), (script{{kind::send_decline, a, reason::protocol_error}}));
  EXPECT_EQ(connected(), tcp(reason::protocol_error));
}

TEST_F(ClientMachine, AcceptAfterItsOwnDeclineIsDeclined) {
  start({a, b});
  connected();
  declined(a, reason::no_memory);
  EXPECT_EQ(accepted(a), (script{{kind::send_decline, a, reason::not_offered}}));
  EXPECT_EQ(accepted(b), (script{{kind::confirm, b}}));
}

TEST_F(ClientMachine, StrangersAndEventsOutOfPlaceChangeNothing) {
  EXPECT_EQ(connected(), script{});
  EXPECT_EQ(tcp_failed(asio::error::fault), script{});
  start({a});
  EXPECT_EQ(start({b}), script{});
  const announcer_id stranger{77};
  EXPECT_EQ(accepted(stranger), script{});
  EXPECT_EQ(declined(stranger, reason::no_memory), script{});
  EXPECT_EQ(hung_up(stranger), script{});
  EXPECT_EQ(retired(stranger), script{});
  EXPECT_EQ(transport_confirmed(), script{});
  EXPECT_EQ(transport_failed(reason::no_memory), script{});
  EXPECT_EQ(deadline(limit), script{});
  EXPECT_EQ(connected(), (script{{kind::send_proposal, a}}));
  EXPECT_EQ(connected(), script{});
}

TEST_F(ClientMachine, MessagesAreDispatchedByTheirType) {
  const auto received = [&](announcer_id from, const message& m) {
    return after([&](script& out) { machine_.received(from, m, start_time, out); });
  };
  start({a, b, announcer_id{2}, announcer_id{3}});
  connected();
  EXPECT_EQ(received(a, decline_because(1, reason::memory_limit)), script{});
  EXPECT_EQ(received(announcer_id{2}, retire{}), script{});
  EXPECT_EQ(received(announcer_id{3}, withdraw{1}), script{}) << "not a server's message";
  EXPECT_EQ(received(b, accept{{1, {}, "smc-d", {}, 0}}), (script{{kind::confirm, b}}));
  EXPECT_EQ(transport_confirmed(),
            (script{{kind::send_confirm, b}, {kind::finished_transport, b}}));
}

TEST_F(ClientMachine, WaitsNoLongerThanServersDo) {
  script out;
  machine_.start(std::vector{a}, 24h, out);
  machine_.tcp_connected(start_time, out);
  EXPECT_EQ(machine_.next_deadline(), start_time + max_patience);
  EXPECT_EQ(machine_.patience(), max_patience);
}

TEST(ClientAction, IsPrintable) {
  std::ostringstream text;
  text << client_action{kind::send_decline, b, reason::no_memory};
  EXPECT_NE(text.str().find("send decline to 1 because"), std::string::npos);
}

}  // namespace
}  // namespace smc::negotiation
