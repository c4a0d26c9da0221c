// What links do that keep no rules.
#include <gtest/gtest.h>

#include "negotiation/server_machine.hpp"
#include "server_script.hpp"

namespace smc::negotiation {
namespace {

server_limits small_limits() {
  server_limits l;
  l.attempts_per_link = 3;
  l.attempts = 5;
  l.attempts_always = 1;
  l.waiting_accepts = 2;
  return l;
}

class HostileLink : public ServerScript {
 protected:
  HostileLink() : ServerScript(small_limits()) {}
};

TEST_F(HostileLink, ProposalWithoutIntentIsDeclined) {
  EXPECT_EQ(proposal(link_a, 1, 1000),
            (script{decline_to(key(link_a, 1), reason::protocol_error)}));
  EXPECT_EQ(machine_.attempts(), 0U);
}

TEST_F(HostileLink, ConfirmOfNothingIsDeclined) {
  EXPECT_EQ(confirm(link_a, 1), (script{decline_to(key(link_a, 1), reason::handshake_timed_out)}));
}

TEST_F(HostileLink, ConfirmBeforeTheAcceptEndsTheAttempt) {
  intent(link_a, 1);
  tcp_accepted(c1, 1000);
  EXPECT_EQ(confirm(link_a, 1), (script{decline_to(key(link_a, 1), reason::protocol_error),
                                        tcp_for(c1, reason::not_offered)}));
  intent(link_a, 2);
  proposal(link_a, 2, 1000);
  EXPECT_EQ(confirm(link_a, 2), (script{decline_to(key(link_a, 2), reason::protocol_error)}));
  intent(link_a, 3);
  proposal(link_a, 3, 1001);
  tcp_accepted(c2, 1001);
  EXPECT_EQ(confirm(link_a, 3),
            (script{decline_to(key(link_a, 3), reason::protocol_error),
                    abandon_of(c2, key(link_a, 3)), tcp_for(c2, reason::protocol_error)}));
  expect_nothing_left();
}

TEST_F(HostileLink, EndsOfUnknownAttemptsChangeNothing) {
  EXPECT_EQ(withdraw(link_a, 1), script{});
  EXPECT_EQ(decline(link_a, 1, reason::no_memory), script{});
  EXPECT_EQ(hung_up(link_a), script{});
}

TEST_F(HostileLink, RepeatedMessagesChangeNothing) {
  intent(link_a, 1);
  EXPECT_EQ(intent(link_a, 1), script{});
  proposal(link_a, 1, 1000);
  EXPECT_EQ(proposal(link_a, 1, 2000), script{}) << "the first tuple stays";
  EXPECT_EQ(intent(link_a, 1), script{});
  EXPECT_EQ(tcp_accepted(c1, 1000), (script{answer_for(c1, key(link_a, 1))}));
  EXPECT_EQ(machine_.attempts(), 1U);
}

TEST_F(HostileLink, NumbersOfAttemptsAreItsOwn) {
  up_to_accept(link_a, 1, c1, 1000);
  EXPECT_EQ(withdraw(link_b, 1), script{});
  EXPECT_EQ(decline(link_b, 1, reason::no_memory), script{});
  EXPECT_EQ(confirm(link_b, 1), (script{decline_to(key(link_b, 1), reason::handshake_timed_out)}));
  intent(link_b, 1);
  hung_up(link_b);
  EXPECT_EQ(confirm(link_a, 1), (script{{kind::establish, c1, key(link_a, 1)}}));
}

TEST_F(HostileLink, AttemptsAreBoundedPerLinkAndInTotal) {
  for (std::uint64_t n = 1; n <= 3; ++n) EXPECT_EQ(intent(link_a, n), script{});
  EXPECT_EQ(intent(link_a, 4), (script{decline_to(key(link_a, 4), reason::declined_by_peer)}));
  EXPECT_EQ(intent(link_b, 1), script{});
  EXPECT_EQ(intent(link_b, 2), script{});
  EXPECT_EQ(intent(link_b, 3), (script{decline_to(key(link_b, 3), reason::declined_by_peer)}));
  hung_up(link_a);
  EXPECT_EQ(intent(link_b, 3), script{});
  EXPECT_EQ(machine_.attempts(), 3U);
}

TEST_F(HostileLink, AttemptsOfOthersLeaveEachLinkAFew) {
  for (std::uint64_t n = 1; n <= 3; ++n) intent(link_a, n);
  for (std::uint64_t n = 1; n <= 2; ++n) intent(link_b, n);
  const link_id link_c{3};
  EXPECT_EQ(intent(link_c, 1), script{});
  EXPECT_EQ(intent(link_c, 2), (script{decline_to(key(link_c, 2), reason::declined_by_peer)}));
}

TEST_F(HostileLink, WaitingConnectionsAreBounded) {
  intent(link_a, 1);
  tcp_accepted(c1, 1000);
  tcp_accepted(c2, 1001);
  EXPECT_EQ(tcp_accepted(c3, 1002), (script{tcp_for(c3, reason::handshake_timed_out)}));
  EXPECT_EQ(machine_.connections(), 2U);
}

TEST_F(HostileLink, LinkThatKeepsMakingAcceptsWaitInVainIsNoLongerWaitedFor) {
  auto now = t0;
  for (std::uint16_t i = 1; i <= 3; ++i) {
    intent(link_a, i);
    EXPECT_EQ(tcp_accepted(connection_id{i}, i, now), script{}) << i;
    now += timeout;
    EXPECT_EQ(deadline(now), (script{tcp_for(connection_id{i}, reason::handshake_timed_out)}));
    withdraw(link_a, i);
  }
  intent(link_a, 4);
  EXPECT_EQ(tcp_accepted(connection_id{4}, 4, now),
            (script{tcp_for(connection_id{4}, reason::not_offered)}));

  proposal(link_a, 4, 400, now);
  intent(link_a, 5);
  EXPECT_EQ(tcp_accepted(connection_id{5}, 5, now), script{})
      << "it proposed: it is believed again";
}

TEST_F(HostileLink, ClaimOnAnothersConnectionGivesWayWhenItEnds) {
  intent(link_a, 1);
  proposal(link_a, 1, 1000);  // the first to claim it, and never to confirm
  intent(link_b, 1);
  proposal(link_b, 1, 1000);
  EXPECT_EQ(tcp_accepted(c1, 1000), (script{answer_for(c1, key(link_a, 1))}));
  answered(c1);
  EXPECT_EQ(hung_up(link_a),
            (script{abandon_of(c1, key(link_a, 1)), answer_for(c1, key(link_b, 1))}));
  answered(c1);
  confirm(link_b, 1);
  EXPECT_EQ(established(c1), (script{{kind::deliver, c1}}));
  expect_nothing_left();
}

TEST_F(HostileLink, ItsFurtherClaimsGoWithTheLink) {
  intent(link_a, 1);
  intent(link_a, 2);
  proposal(link_a, 1, 1000);
  proposal(link_a, 2, 1000);
  tcp_accepted(c1, 1000);
  EXPECT_EQ(hung_up(link_a),
            (script{abandon_of(c1, key(link_a, 1)), tcp_for(c1, reason::rendezvous_unreachable)}));
}

TEST_F(HostileLink, ClaimsThatLostAreDeclined) {
  intent(link_a, 1);
  proposal(link_a, 1, 1000);
  intent(link_b, 1);
  proposal(link_b, 1, 1000);
  tcp_accepted(c1, 1000);
  answered(c1);
  confirm(link_a, 1);
  EXPECT_EQ(established(c1),
            (script{{kind::deliver, c1}, decline_to(key(link_b, 1), reason::declined_by_peer)}));
  expect_nothing_left();
}

TEST_F(HostileLink, NumberOfClaimsTriedOnOneConnectionIsBounded) {
  server_limits limits;
  limits.answers_per_connection = 2;
  server_machine m(timeout, limits);
  script out;
  for (std::uint64_t n = 1; n <= 3; ++n) {
    m.intent(link_a, n, out);
    m.proposal(link_a, n, tuple(1000), timeout, t0, out);
  }
  m.tcp_accepted(c1, tuple(1000), true, t0, out);
  m.answer_failed(c1, reason::no_memory, out);
  m.answer_failed(c1, reason::no_memory, out);
  EXPECT_EQ(
      out, (script{answer_for(c1, key(link_a, 1)), decline_to(key(link_a, 1), reason::no_memory),
                   answer_for(c1, key(link_a, 2)), decline_to(key(link_a, 2), reason::no_memory),
                   tcp_for(c1, reason::no_memory), decline_to(key(link_a, 3), reason::no_memory)}));
}

TEST_F(HostileLink, NewConnectionWithTheNameOfADeadOneIsServedOnItsOwn) {
  intent(link_a, 1);
  tcp_accepted(c1, 1000);  // its client died; the name is used again
  tcp_accepted(c2, 1000);
  intent(link_b, 1);
  EXPECT_EQ(proposal(link_b, 1, 1000), (script{answer_for(c2, key(link_b, 1))}));
  EXPECT_EQ(withdraw(link_a, 1), (script{tcp_for(c1, reason::not_offered)}));
  answered(c2);
  confirm(link_b, 1);
  EXPECT_EQ(established(c2), (script{{kind::deliver, c2}}));
}

}  // namespace
}  // namespace smc::negotiation
