#pragma once
// A server_machine driven by scripts: each event gives back the actions that it led to.
#include <gtest/gtest.h>

#include <string>

#include "negotiation/server_machine.hpp"

namespace smc::negotiation {

using script = std::vector<server_action>;
using kind = server_action::kind;
using std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr link_id link_a{1};
constexpr link_id link_b{2};
constexpr connection_id c1{101};
constexpr connection_id c2{102};
constexpr connection_id c3{103};
constexpr steady_clock::time_point t0{};
constexpr steady_clock::duration timeout = 1s;

inline four_tuple tuple(std::uint16_t client_port) {
  const auto local = [](std::uint16_t port) {
    return endpoint(asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), port));
  };
  return {local(client_port), local(80)};
}

inline attempt_key key(link_id link, std::uint64_t attempt) { return {link, attempt}; }
inline server_action answer_for(connection_id c, const attempt_key& by) {
  return {kind::answer, c, by};
}
inline server_action abandon_of(connection_id c, const attempt_key& by) {
  return {kind::abandon, c, by};
}
inline server_action tcp_for(connection_id c, reason why) {
  return {kind::deliver_tcp, c, {}, why};
}
inline server_action decline_to(const attempt_key& by, reason why) {
  return {kind::send_decline, {}, by, why};
}

class ServerScript : public ::testing::Test {
 protected:
  explicit ServerScript(const server_limits& limits = {}) : machine_(timeout, limits) {}

  template <typename Event>
  script after(Event&& event) {
    script out;
    event(out);
    return out;
  }

  script intent(link_id l, std::uint64_t n) {
    return after([&](script& out) { machine_.intent(l, n, out); });
  }
  script proposal(link_id l, std::uint64_t n, std::uint16_t port, steady_clock::time_point now = t0,
                  steady_clock::duration patience = timeout) {
    return after([&](script& out) { machine_.proposal(l, n, tuple(port), patience, now, out); });
  }
  script confirm(link_id l, std::uint64_t n) {
    return after([&](script& out) { machine_.confirm(l, n, out); });
  }
  script decline(link_id l, std::uint64_t n, reason why) {
    return after([&](script& out) { machine_.decline(l, n, why, out); });
  }
  script withdraw(link_id l, std::uint64_t n) {
    return after([&](script& out) { machine_.withdraw(l, n, out); });
  }
  script hung_up(link_id l) {
    return after([&](script& out) { machine_.hung_up(l, out); });
  }
  script tcp_accepted(connection_id c, std::uint16_t port, steady_clock::time_point now = t0,
                      bool local = true) {
    return after([&](script& out) { machine_.tcp_accepted(c, tuple(port), local, now, out); });
  }
  script answered(connection_id c, steady_clock::time_point now = t0) {
    return after([&](script& out) { machine_.answered(c, now, out); });
  }
  script answer_failed(connection_id c, reason why) {
    return after([&](script& out) { machine_.answer_failed(c, why, out); });
  }
  script established(connection_id c) {
    return after([&](script& out) { machine_.established(c, out); });
  }
  script establish_failed(connection_id c, reason why) {
    return after([&](script& out) { machine_.establish_failed(c, why, out); });
  }
  script deadline(steady_clock::time_point now) {
    return after([&](script& out) { machine_.deadline(now, out); });
  }
  script close() {
    return after([&](script& out) { machine_.close(out); });
  }

  // Attempt n of link l for connection c, up to the ACCEPT.
  void up_to_accept(link_id l, std::uint64_t n, connection_id c, std::uint16_t port,
                    steady_clock::time_point now = t0) {
    EXPECT_EQ(intent(l, n), script{});
    EXPECT_EQ(proposal(l, n, port, now), script{});
    EXPECT_EQ(tcp_accepted(c, port, now), (script{answer_for(c, key(l, n))}));
    EXPECT_EQ(answered(c, now), script{});
  }

  void expect_nothing_left() {
    EXPECT_EQ(machine_.attempts(), 0U);
    EXPECT_EQ(machine_.connections(), 0U);
    EXPECT_EQ(machine_.next_deadline(), std::nullopt);
  }

  server_machine machine_;
};

}  // namespace smc::negotiation
