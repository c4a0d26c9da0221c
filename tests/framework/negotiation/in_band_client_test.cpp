#include "negotiation/in_band_client.hpp"

#include <gtest/gtest.h>

#include "vectors/vectors.hpp"

namespace smc::negotiation {
namespace {

using namespace std::chrono_literals;
using clc::diagnosis;
using kind = in_band_client_action::kind;
using script = std::vector<in_band_client_action>;
using test::vector;

constexpr in_band_client::time_point t0{};

clc::message message(const char* name) { return *clc::decode(vector(name)); }

clc::decline declining(diagnosis code) {
  clc::decline d;
  d.code = code;
  return d;
}

in_band_client_action tcp(reason why) { return {kind::finished_tcp, why}; }
in_band_client_action tcp_maybe_behind_a_decline(reason why) {
  return {kind::finished_tcp, why, {}, true};
}
in_band_client_action anew(reason why) { return {kind::reconnect, why}; }
in_band_client_action decline_with(diagnosis code) {
  return {kind::send_decline, reason::none, code};
}
const in_band_client_action abandon{kind::abandon};

class InBandClient : public ::testing::Test {
 protected:
  template <typename Event>
  script after(Event&& event) {
    script out;
    event(out);
    return out;
  }
  script start(const char* proposal = "prop_v2_r") {
    return after(
        [&](script& out) { machine_.start(std::get<clc::proposal>(message(proposal)), t0, out); });
  }
  script received(const clc::message& m) {
    return after([&](script& out) { machine_.received(m, t0, out); });
  }
  script rubbish() {
    return after([&](script& out) { machine_.received_rubbish(out); });
  }
  script ended() {
    return after([&](script& out) { machine_.ended(out); });
  }
  script prepared() {
    return after([&](script& out) { machine_.prepared(out); });
  }
  script prepare_failed(reason why, bool out_of_sync = false) {
    return after([&](script& out) { machine_.prepare_failed(why, out_of_sync, out); });
  }
  script linked() {
    return after([&](script& out) { machine_.linked(out); });
  }
  script link_failed(reason why, in_band_client::time_point now = t0) {
    return after([&](script& out) { machine_.link_failed(why, now, out); });
  }
  script deadline(in_band_client::time_point now) {
    return after([&](script& out) { machine_.deadline(now, out); });
  }
  void until_prepare(const char* accept = "acc_v2_r") {
    start();
    EXPECT_EQ(received(message(accept)), script{{kind::prepare}});
  }
  void until_confirm() {
    until_prepare();
    EXPECT_EQ(prepared(), script{{kind::send_confirm}});
  }
  /// Whatever comes behind the end changes nothing.
  void expect_over() {
    EXPECT_TRUE(machine_.finished());
    EXPECT_FALSE(machine_.next_deadline());
    script all;
    machine_.received(message("acc_v2_r"), t0, all);
    machine_.received(declining(diagnosis::internal), t0, all);
    machine_.received_rubbish(all);
    machine_.ended(all);
    machine_.prepared(all);
    machine_.prepare_failed(reason::no_memory, false, all);
    machine_.linked(all);
    machine_.link_failed(reason::no_memory, t0, all);
    machine_.deadline(t0 + 1h, all);
    EXPECT_TRUE(all.empty()) << all.front();
  }

  in_band_client machine_{6s};
};

TEST_F(InBandClient, AFirstContactEndsWithItsLink) {
  EXPECT_EQ(start(), script{{kind::send_proposal}});
  EXPECT_EQ(machine_.next_deadline(), t0 + 6s);
  EXPECT_EQ(received(message("acc_v2_r")), script{{kind::prepare}});
  EXPECT_EQ(machine_.next_deadline(), t0 + 3s);
  EXPECT_EQ(prepared(), script{{kind::send_confirm}});
  EXPECT_FALSE(machine_.next_deadline()) << "the transport has its own times";
  EXPECT_EQ(linked(), script{{kind::finished_transport}});
  expect_over();
}

TEST_F(InBandClient, ALaterContactEndsWithTheConfirm) {
  until_prepare("acc_v2_r_sub");
  EXPECT_EQ(prepared(), (script{{kind::send_confirm}, {kind::finished_transport}}));
  expect_over();
}

TEST_F(InBandClient, ADeclineIsTcpWithItsReasonAtAnyTime) {
  for (int at = 0; at < 4; ++at) {
    in_band_client fresh(6s);
    script out;
    fresh.start(std::get<clc::proposal>(message("prop_v2_r")), t0, out);
    if (at >= 1) fresh.received(message("acc_v2_r"), t0, out);
    if (at >= 2) fresh.prepared(out);
    if (at >= 3) fresh.link_failed(reason::handshake_timed_out, t0, out);
    out.clear();
    fresh.received(declining(diagnosis::no_memory), t0, out);
    script expected{tcp(reason::no_memory)};
    if (at == 1 || at == 2) expected.insert(expected.begin(), abandon);
    EXPECT_EQ(out, expected) << at;
    EXPECT_TRUE(fresh.finished());
  }
}

TEST_F(InBandClient, AnAcceptThatDoesNotFitIsDeclined) {
  start("prop_v2_rn");
  EXPECT_EQ(received(message("acc_v1_r")),
            (script{decline_with(diagnosis::mode_unsupported), tcp(reason::not_configured)}));
  expect_over();
}

TEST_F(InBandClient, WhatTheTransportCanNotPrepareIsDeclined) {
  until_prepare();
  EXPECT_EQ(prepare_failed(reason::registration_failed),
            (script{abandon, decline_with(diagnosis::registration_failed),
                    tcp(reason::registration_failed)}));
  expect_over();
}

TEST_F(InBandClient, WhatTakesSoLongThatTheServerMayHaveGivenUpMakesTheConnectionUseless) {
  until_prepare();
  EXPECT_EQ(deadline(t0 + 2999ms), script{});
  EXPECT_EQ(deadline(t0 + 3s), (script{abandon, anew(reason::handshake_timed_out)}));
  expect_over();
}

TEST_F(InBandClient, AGroupThatIsNotKnownIsDeclinedAsOutOfSync) {
  until_prepare("acc_v2_r_sub");
  EXPECT_EQ(prepare_failed(reason::protocol_error, true),
            (script{abandon, decline_with(diagnosis::out_of_sync), tcp(reason::protocol_error)}));
}

TEST_F(InBandClient, SilenceToTheProposalMakesTheConnectionUseless) {
  start();
  EXPECT_EQ(deadline(t0 + 5999ms), script{});
  EXPECT_EQ(deadline(t0 + 6s), script{anew(reason::handshake_timed_out)});
  expect_over();
}

TEST_F(InBandClient, WhatIsNoAnswerMakesTheConnectionUseless) {
  start();
  EXPECT_EQ(rubbish(), script{anew(reason::protocol_error)});
  expect_over();
}

TEST_F(InBandClient, ItsOwnProposalComingBackMakesTheConnectionUseless) {
  start();
  EXPECT_EQ(received(message("prop_v2_r")), script{anew(reason::protocol_error)});
}

TEST_F(InBandClient, AConfirmIsNoAccept) {
  start();
  EXPECT_EQ(received(message("conf_v2_r")), script{anew(reason::protocol_error)});
}

TEST_F(InBandClient, WhoHangsUpOnTheProposalDoesNotSpeakSmc) {
  start();
  EXPECT_EQ(ended(), script{anew(reason::peer_unknown)});
  expect_over();
}

TEST_F(InBandClient, AnEndOrASecondAnswerLaterUndoesWhatWasPrepared) {
  until_prepare();
  EXPECT_EQ(ended(), (script{abandon, anew(reason::link_failed)}));
  in_band_client other(6s);
  script out;
  other.start(std::get<clc::proposal>(message("prop_v2_r")), t0, out);
  other.received(message("acc_v2_r"), t0, out);
  other.prepared(out);
  out.clear();
  other.received(message("acc_v2_r"), t0, out);
  EXPECT_EQ(out, (script{abandon, anew(reason::protocol_error)}));
}

TEST_F(InBandClient, WithoutItsFirstLinkItWaitsForADeclineAndDeclinesItself) {
  until_confirm();
  EXPECT_EQ(link_failed(reason::handshake_timed_out, t0 + 10s), script{abandon});
  EXPECT_EQ(machine_.next_deadline(), t0 + 11s);
  EXPECT_EQ(deadline(t0 + 10999ms), script{});
  EXPECT_EQ(deadline(t0 + 11s), (script{decline_with(diagnosis::confirm_link_timed_out),
                                        tcp_maybe_behind_a_decline(reason::handshake_timed_out)}));
  expect_over();
}

TEST_F(InBandClient, BeforeTheStartNothingMatters) {
  EXPECT_EQ(rubbish(), script{});
  EXPECT_EQ(ended(), script{});
  EXPECT_EQ(received(declining(diagnosis::internal)), script{});
  EXPECT_EQ(deadline(t0 + 1h), script{});
  EXPECT_EQ(start(), script{{kind::send_proposal}});
}

}  // namespace
}  // namespace smc::negotiation
