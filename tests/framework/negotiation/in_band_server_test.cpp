#include "negotiation/in_band_server.hpp"

#include <gtest/gtest.h>

#include "vectors/vectors.hpp"

namespace smc::negotiation {
namespace {

using namespace std::chrono_literals;
using clc::diagnosis;
using kind = in_band_server_action::kind;
using script = std::vector<in_band_server_action>;
using test::vector;

constexpr in_band_server::time_point t0{};

clc::message message(const char* name) { return *clc::decode(vector(name)); }

clc::accept_confirm confirm_like(const char* name) {
  return std::get<clc::accept_confirm>(message(name));
}

clc::decline declining(diagnosis code, bool out_of_sync = false) {
  clc::decline d;
  d.code = code;
  d.out_of_sync = out_of_sync;
  return d;
}

in_band_server_action tcp(reason why) { return {kind::finished_tcp, why}; }
in_band_server_action tcp_maybe_behind_a_decline(reason why) {
  return {kind::finished_tcp, why, {}, true};
}
in_band_server_action drop(reason why) { return {kind::drop, why}; }
in_band_server_action decline_with(diagnosis code) {
  return {kind::send_decline, reason::none, code};
}
const in_band_server_action abandon{kind::abandon};

class InBandServer : public ::testing::Test {
 protected:
  template <typename Event>
  script after(Event&& event) {
    script out;
    event(out);
    return out;
  }
  script start() {
    return after(
        [&](script& out) { machine_.start(std::get<clc::proposal>(message("prop_v2_r")), out); });
  }
  script chosen(const char* accept = "acc_v2_r") {
    return after([&](script& out) { machine_.chosen(confirm_like(accept), t0, out); });
  }
  script choose_failed(reason why) {
    return after([&](script& out) { machine_.choose_failed(why, out); });
  }
  script received(const clc::message& m) {
    return after([&](script& out) { machine_.received(m, out); });
  }
  script rubbish() {
    return after([&](script& out) { machine_.received_rubbish(out); });
  }
  script ended() {
    return after([&](script& out) { machine_.ended(out); });
  }
  script established() {
    return after([&](script& out) { machine_.established(out); });
  }
  script establish_failed(reason why) {
    return after([&](script& out) { machine_.establish_failed(why, t0, out); });
  }
  script deadline(in_band_server::time_point now) {
    return after([&](script& out) { machine_.deadline(now, out); });
  }
  clc::message later_confirm() {
    auto m = confirm_like("conf_v2_r");
    m.smcr.first_contact = false;
    m.smcr.gids.clear();
    return m;
  }
  void until_accept(const char* accept = "acc_v2_r") {
    start();
    EXPECT_EQ(chosen(accept), script{{kind::send_accept}});
  }
  void until_establish() {
    until_accept();
    EXPECT_EQ(received(message("conf_v2_r")), script{{kind::establish}});
  }
  void expect_over() {
    EXPECT_TRUE(machine_.finished());
    EXPECT_FALSE(machine_.next_deadline());
    script all;
    machine_.received(message("conf_v2_r"), all);
    machine_.received(declining(diagnosis::internal), all);
    machine_.received_rubbish(all);
    machine_.ended(all);
    machine_.chosen(confirm_like("acc_v2_r"), t0, all);
    machine_.choose_failed(reason::no_memory, all);
    machine_.established(all);
    machine_.establish_failed(reason::no_memory, t0, all);
    machine_.deadline(t0 + 1h, all);
    EXPECT_TRUE(all.empty()) << all.front();
  }

  in_band_server machine_{6s};
};

TEST_F(InBandServer, AHandshakeEndsWithWhatTheTransportEstablished) {
  EXPECT_EQ(start(), script{{kind::choose}});
  EXPECT_EQ(chosen(), script{{kind::send_accept}});
  EXPECT_EQ(machine_.next_deadline(), t0 + 6s);
  EXPECT_EQ(received(message("conf_v2_r")), script{{kind::establish}});
  EXPECT_FALSE(machine_.next_deadline()) << "the transport has its own times";
  EXPECT_EQ(established(), script{{kind::finished_transport}});
  expect_over();
}

TEST_F(InBandServer, WhereNothingFitsItDeclinesAndIsTcp) {
  start();
  EXPECT_EQ(choose_failed(reason::no_device),
            (script{decline_with(diagnosis::no_device), tcp(reason::no_device)}));
  expect_over();
}

TEST_F(InBandServer, AProposalThatCanNotBeReadIsDropped) {
  EXPECT_EQ(after([&](script& out) { machine_.start_with_rubbish(out); }),
            script{drop(reason::protocol_error)});
  expect_over();
}

TEST_F(InBandServer, ADeclineIsTcpWithItsReason) {
  until_accept();
  EXPECT_EQ(received(declining(diagnosis::no_memory)), (script{abandon, tcp(reason::no_memory)}));
  expect_over();
}

TEST_F(InBandServer, ADeclineWhileTheFirstLinkIsMadeIsTcp) {
  until_establish();
  EXPECT_EQ(received(declining(diagnosis::link_not_ready)),
            (script{abandon, tcp(reason::link_failed)}));
  expect_over();
}

TEST_F(InBandServer, OutOfSyncEndsTheGroupThatTheClientDoesNotKnow) {
  until_accept("acc_v2_r_sub");
  EXPECT_EQ(received(declining(diagnosis::out_of_sync, true)),
            (script{abandon, {kind::end_group}, tcp(reason::protocol_error)}));
}

TEST_F(InBandServer, OutOfSyncEndsNoGroupThatIsOnlyBeingMade) {
  until_accept();
  EXPECT_EQ(received(declining(diagnosis::out_of_sync, true)),
            (script{abandon, tcp(reason::protocol_error)}));
}

TEST_F(InBandServer, ALaterContactCanNotBeDeclinedBehindItsConfirm) {
  until_accept("acc_v2_r_sub");
  EXPECT_EQ(received(later_confirm()), script{{kind::establish}});
  EXPECT_EQ(received(declining(diagnosis::no_memory)),
            (script{abandon, drop(reason::protocol_error)}));
}

TEST_F(InBandServer, ALaterContactThatCanNotBeServedIsDropped) {
  until_accept("acc_v2_r_sub");
  EXPECT_EQ(received(later_confirm()), script{{kind::establish}});
  EXPECT_EQ(establish_failed(reason::link_failed), (script{abandon, drop(reason::link_failed)}));
}

TEST_F(InBandServer, AConfirmThatDoesNotFitIsDeclined) {
  until_accept();
  auto other = confirm_like("conf_v2_r");
  other.smcr.contact.max_links = 1;
  EXPECT_EQ(received(other), (script{abandon, decline_with(diagnosis::max_links),
                                     tcp_maybe_behind_a_decline(reason::protocol_error)}));
  expect_over();
}

TEST_F(InBandServer, AConfirmOfAnotherVersionIsDropped) {
  until_accept();
  EXPECT_EQ(received(message("conf_v1_r")), (script{abandon, drop(reason::protocol_error)}));
}

TEST_F(InBandServer, SilenceToTheAcceptIsDropped) {
  until_accept();
  EXPECT_EQ(deadline(t0 + 5999ms), script{});
  EXPECT_EQ(deadline(t0 + 6s), (script{abandon, drop(reason::handshake_timed_out)}));
  expect_over();
}

TEST_F(InBandServer, RubbishOrAnEndIsDropped) {
  until_accept();
  EXPECT_EQ(rubbish(), (script{abandon, drop(reason::protocol_error)}));
  in_band_server other(6s);
  script out;
  other.start(std::get<clc::proposal>(message("prop_v2_r")), out);
  out.clear();
  other.ended(out);
  EXPECT_EQ(out, (script{abandon, drop(reason::link_failed)}));
}

TEST_F(InBandServer, DataBehindTheConfirmIsAViolation) {
  until_establish();
  EXPECT_EQ(rubbish(), (script{abandon, drop(reason::protocol_error)}));
  expect_over();
}

TEST_F(InBandServer, WithoutItsFirstLinkItWaitsForADeclineAndDeclinesItself) {
  until_establish();
  EXPECT_EQ(establish_failed(reason::handshake_timed_out), script{abandon});
  EXPECT_EQ(machine_.next_deadline(), t0 + 1s);
  EXPECT_EQ(deadline(t0 + 1s), (script{decline_with(diagnosis::confirm_link_timed_out),
                                       tcp_maybe_behind_a_decline(reason::handshake_timed_out)}));
  expect_over();
}

TEST_F(InBandServer, WithoutItsFirstLinkTheClientsDeclineIsEnough) {
  until_establish();
  EXPECT_EQ(establish_failed(reason::handshake_timed_out), script{abandon});
  EXPECT_EQ(received(declining(diagnosis::confirm_link_timed_out)),
            script{tcp(reason::handshake_timed_out)});
  expect_over();
}

}  // namespace
}  // namespace smc::negotiation
