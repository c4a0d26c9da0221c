#include "negotiation/server_machine.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "server_script.hpp"

namespace smc::negotiation {
namespace {

class ServerMachine : public ServerScript {};

TEST_F(ServerMachine, ServesAProposalThatCameBeforeTheAccept) {
  up_to_accept(link_a, 1, c1, 1000);
  EXPECT_EQ(confirm(link_a, 1), (script{{kind::establish, c1, key(link_a, 1)}}));
  EXPECT_EQ(established(c1), (script{{kind::deliver, c1}}));
  expect_nothing_left();
}

TEST_F(ServerMachine, ServesAProposalThatComesAfterTheAccept) {
  intent(link_a, 1);
  EXPECT_EQ(tcp_accepted(c1, 1000), script{});
  EXPECT_EQ(machine_.next_deadline(), t0 + timeout);
  EXPECT_EQ(proposal(link_a, 1, 1000), (script{answer_for(c1, key(link_a, 1))}));
  answered(c1, t0 + 5ms);
  EXPECT_EQ(machine_.next_deadline(), t0 + 5ms + timeout);
  confirm(link_a, 1);
  EXPECT_EQ(machine_.next_deadline(), std::nullopt);
  EXPECT_EQ(established(c1), (script{{kind::deliver, c1}}));
  expect_nothing_left();
}

TEST_F(ServerMachine, PlainClientIsTcpAtOnceWithoutIntents) {
  EXPECT_EQ(tcp_accepted(c1, 1000), (script{tcp_for(c1, reason::not_offered)}));
  expect_nothing_left();
}

TEST_F(ServerMachine, ConnectionFromElsewhereIsTcpAtOnceWhateverIsOutstanding) {
  intent(link_a, 1);
  EXPECT_EQ(tcp_accepted(c1, 1000, t0, false), (script{tcp_for(c1, reason::peer_unknown)}));
}

TEST_F(ServerMachine, ConnectionFromElsewhereIsNeverServedToALocalProposal) {
  intent(link_a, 1);
  proposal(link_a, 1, 1000);
  EXPECT_EQ(
      tcp_accepted(c1, 1000, t0, false),
      (script{decline_to(key(link_a, 1), reason::other_host), tcp_for(c1, reason::peer_unknown)}));
  expect_nothing_left();
}

TEST_F(ServerMachine, PlainClientWaitsForTheTuplesOfIntentsBeforeIt) {
  intent(link_a, 1);
  intent(link_b, 1);
  EXPECT_EQ(tcp_accepted(c1, 1000), script{});
  intent(link_b, 2);  // younger than the connection: can't be its own
  EXPECT_EQ(proposal(link_a, 1, 2000), script{});
  EXPECT_EQ(proposal(link_b, 1, 3000), (script{tcp_for(c1, reason::not_offered)}));
}

TEST_F(ServerMachine, WithdrawnIntentFreesWhoWaitsForIt) {
  intent(link_a, 1);
  tcp_accepted(c1, 1000);
  EXPECT_EQ(withdraw(link_a, 1), (script{tcp_for(c1, reason::not_offered)}));
}

TEST_F(ServerMachine, EndedLinkFreesWhoWaitsForItsIntents) {
  intent(link_a, 1);
  intent(link_a, 2);
  tcp_accepted(c1, 1000);
  tcp_accepted(c2, 1001);
  EXPECT_EQ(hung_up(link_a),
            (script{tcp_for(c1, reason::not_offered), tcp_for(c2, reason::not_offered)}));
  expect_nothing_left();
}

TEST_F(ServerMachine, IntentThatMadeAnAcceptWaitOutItsLimitMakesNoOtherWait) {
  intent(link_a, 1);
  tcp_accepted(c1, 1000, t0);
  EXPECT_EQ(tcp_accepted(c2, 1001, t0 + 10ms), script{});
  EXPECT_EQ(deadline(t0 + timeout - 1ns), script{});
  EXPECT_EQ(deadline(t0 + timeout),
            (script{tcp_for(c1, reason::handshake_timed_out), tcp_for(c2, reason::not_offered)}));
  EXPECT_EQ(tcp_accepted(c3, 1002, t0 + timeout), (script{tcp_for(c3, reason::not_offered)}));
}

TEST_F(ServerMachine, ProposalOfASpentIntentIsStillServedIfItIsInTime) {
  intent(link_a, 1);
  tcp_accepted(c1, 1000);
  deadline(t0 + timeout);
  EXPECT_EQ(proposal(link_a, 1, 2000, t0 + timeout), script{});
  EXPECT_EQ(tcp_accepted(c2, 2000, t0 + timeout), (script{answer_for(c2, key(link_a, 1))}));
}

TEST_F(ServerMachine, MappedAndPlainIpv4AreOneConnection) {
  intent(link_a, 1);
  proposal(link_a, 1, 1000);
  const auto mapped = [](std::uint16_t port) {
    return endpoint(asio::ip::tcp::endpoint(asio::ip::make_address("::ffff:127.0.0.1"), port));
  };
  script out;
  machine_.tcp_accepted(c1, {mapped(1000), mapped(80)}, true, t0, out);
  EXPECT_EQ(out, (script{answer_for(c1, key(link_a, 1))}));
}

TEST_F(ServerMachine, FailedAnswerIsDeclinedAndTcp) {
  intent(link_a, 1);
  proposal(link_a, 1, 1000);
  tcp_accepted(c1, 1000);
  EXPECT_EQ(answer_failed(c1, reason::memory_limit),
            (script{decline_to(key(link_a, 1), reason::memory_limit),
                    tcp_for(c1, reason::memory_limit)}));
  expect_nothing_left();
}

TEST_F(ServerMachine, MissingConfirmIsTcp) {
  up_to_accept(link_a, 1, c1, 1000);
  EXPECT_EQ(deadline(t0 + timeout),
            (script{decline_to(key(link_a, 1), reason::handshake_timed_out),
                    abandon_of(c1, key(link_a, 1)), tcp_for(c1, reason::handshake_timed_out)}));
  EXPECT_EQ(confirm(link_a, 1), (script{decline_to(key(link_a, 1), reason::handshake_timed_out)}));
  expect_nothing_left();
}

TEST_F(ServerMachine, WaitsForAConfirmAsLongAsItsClientMaySendIt) {
  intent(link_a, 1);
  proposal(link_a, 1, 1000, t0, 5s);
  EXPECT_EQ(machine_.next_deadline(), t0 + 5s);
  tcp_accepted(c1, 1000);
  answered(c1, t0);
  EXPECT_EQ(deadline(t0 + 5s - 1ns), script{});
  EXPECT_EQ(confirm(link_a, 1), (script{{kind::establish, c1, key(link_a, 1)}}));

  intent(link_a, 2);
  proposal(link_a, 2, 1001, t0, 24h);
  EXPECT_EQ(machine_.next_deadline(), t0 + max_patience);
}

TEST_F(ServerMachine, ClientThatDeclinesOrWithdrawsAfterTheAcceptIsTcp) {
  up_to_accept(link_a, 1, c1, 1000);
  EXPECT_EQ(decline(link_a, 1, reason::mapping_limit),
            (script{abandon_of(c1, key(link_a, 1)), tcp_for(c1, reason::mapping_limit)}));
  up_to_accept(link_a, 2, c2, 1001);
  EXPECT_EQ(withdraw(link_a, 2),
            (script{abandon_of(c2, key(link_a, 2)), tcp_for(c2, reason::handshake_timed_out)}));
  expect_nothing_left();
}

TEST_F(ServerMachine, LinkThatEndsBeforeItsConfirmIsTcp) {
  up_to_accept(link_a, 1, c1, 1000);
  EXPECT_EQ(hung_up(link_a),
            (script{abandon_of(c1, key(link_a, 1)), tcp_for(c1, reason::rendezvous_unreachable)}));
  expect_nothing_left();
}

TEST_F(ServerMachine, LinkThatEndsAfterItsConfirmIsTheTransportsAffair) {
  up_to_accept(link_a, 1, c1, 1000);
  confirm(link_a, 1);
  EXPECT_EQ(hung_up(link_a), script{});
  EXPECT_EQ(established(c1), (script{{kind::deliver, c1}}));
  expect_nothing_left();
}

TEST_F(ServerMachine, ConfirmThatCannotBeServedIsNeverTcp) {
  up_to_accept(link_a, 1, c1, 1000);
  confirm(link_a, 1);
  EXPECT_EQ(establish_failed(c1, reason::protocol_error),
            (script{decline_to(key(link_a, 1), reason::protocol_error),
                    {kind::drop, c1, {}, reason::protocol_error}}));
  expect_nothing_left();

  up_to_accept(link_a, 2, c2, 1001);
  confirm(link_a, 2);
  hung_up(link_a);
  EXPECT_EQ(establish_failed(c2, reason::protocol_error),
            (script{{kind::drop, c2, {}, reason::protocol_error}}));
}

TEST_F(ServerMachine, NothingTakesBackAConfirm) {
  up_to_accept(link_a, 1, c1, 1000);
  confirm(link_a, 1);
  EXPECT_EQ(withdraw(link_a, 1), script{});
  EXPECT_EQ(decline(link_a, 1, reason::no_memory), script{});
  EXPECT_EQ(confirm(link_a, 1), script{});
  EXPECT_EQ(deadline(t0 + 24h), script{});
  EXPECT_EQ(established(c1), (script{{kind::deliver, c1}}));
}

TEST_F(ServerMachine, ProposalWhoseConnectionNeverComesIsDeclinedInTheEnd) {
  intent(link_a, 1);
  proposal(link_a, 1, 1000);
  EXPECT_EQ(machine_.next_deadline(), t0 + timeout);
  EXPECT_EQ(deadline(t0 + timeout),
            (script{decline_to(key(link_a, 1), reason::handshake_timed_out)}));
  expect_nothing_left();
}

TEST_F(ServerMachine, WithdrawnProposalIsForgotten) {
  intent(link_a, 1);
  proposal(link_a, 1, 1000);
  EXPECT_EQ(withdraw(link_a, 1), script{});
  expect_nothing_left();
  EXPECT_EQ(tcp_accepted(c1, 1000), (script{tcp_for(c1, reason::not_offered)}));
}

TEST_F(ServerMachine, ManyConnectionsAreServedSideBySide) {
  for (std::uint16_t i = 1; i <= 500; ++i) {
    up_to_accept(link_id{i % 7U}, i, connection_id{i}, static_cast<std::uint16_t>(1000 + i));
  }
  for (std::uint16_t i = 500; i >= 1; --i) {
    const connection_id c{i};
    EXPECT_EQ(confirm(link_id{i % 7U}, i), (script{{kind::establish, c, key(link_id{i % 7U}, i)}}));
    EXPECT_EQ(established(c), (script{{kind::deliver, c}}));
  }
  expect_nothing_left();
}

TEST_F(ServerMachine, CloseDropsWhatIsUnderWayAndAnswersWhatComesLater) {
  intent(link_a, 9);
  tcp_accepted(c2, 2000);
  up_to_accept(link_b, 1, c1, 1000);
  EXPECT_EQ(close(), (script{abandon_of(c1, key(link_b, 1)), {kind::drop, c1}, {kind::drop, c2}}));
  expect_nothing_left();
  EXPECT_EQ(intent(link_a, 10), (script{decline_to(key(link_a, 10), reason::peer_unknown)}));
  EXPECT_EQ(proposal(link_a, 9, 1), (script{decline_to(key(link_a, 9), reason::peer_unknown)}));
  EXPECT_EQ(confirm(link_b, 1), (script{decline_to(key(link_b, 1), reason::peer_unknown)}));
  EXPECT_EQ(tcp_accepted(c3, 3000), (script{{kind::drop, c3}}));
  EXPECT_EQ(close(), script{});
}

TEST_F(ServerMachine, OutcomesWithoutTheirActionChangeNothing) {
  EXPECT_EQ(answered(c1), script{});
  EXPECT_EQ(answer_failed(c1, reason::no_memory), script{});
  EXPECT_EQ(established(c1), script{});
  EXPECT_EQ(establish_failed(c1, reason::no_memory), script{});
  intent(link_a, 1);
  tcp_accepted(c1, 1000);
  EXPECT_EQ(tcp_accepted(c1, 1000), script{}) << "reported twice";
  EXPECT_EQ(answered(c1), script{});
  EXPECT_EQ(established(c1), script{});
  EXPECT_EQ(machine_.connections(), 1U);
}

TEST(ServerAction, IsPrintable) {
  std::ostringstream text;
  text << decline_to(key(link_a, 7), reason::no_memory) << '\n' << tcp_for(c1, reason::no_memory);
  EXPECT_NE(text.str().find("send decline attempt 7 of link 1 because"), std::string::npos);
  EXPECT_NE(text.str().find("deliver as tcp connection 101"), std::string::npos);
}

}  // namespace
}  // namespace smc::negotiation
