// Client and server machines against each other, over links that deliver late or end, with clocks
// that run ahead of the messages. Checks what no script can: both sides always come to one opinion.
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>
#include <set>

#include "negotiation/client_machine.hpp"
#include "negotiation/server_machine.hpp"
#include "server_script.hpp"

namespace smc::negotiation {
namespace {

enum class verb { intent, proposal, accept, confirm, decline, withdraw };

struct packet {
  verb what;
  std::uint64_t attempt = 0;
  four_tuple connection{};
  duration patience{};
  reason why = reason::none;
};

// One process's rendezvous connection to one server.
struct pipe {
  std::deque<packet> to_server;
  std::deque<packet> to_client;
  bool client_gone = false;
  bool server_gone = false;
  bool server_was_told = false;
  bool client_was_told = false;
};

struct attempt_record {
  client_machine machine;
  std::size_t process = 0;
  std::uint64_t number = 0;
  four_tuple connection{};
  connection_id at_server{};
  bool connecting = false;
  std::optional<announcer_id> confirming;
  announcer_id confirmed_to{};
  int finishes = 0;
  bool on_transport = false;
  bool on_tcp = false;
  bool sent_confirm = false;
  bool was_reset = false;  // declined after its CONFIRM
};

enum class outcome { transport, tcp, dropped };

constexpr std::size_t processes = 3;
constexpr std::size_t servers =
    2;  // both announce the destination, only the first gets its connections

class World {
 public:
  explicit World(unsigned seed) : random_(seed) {
    for (std::size_t s = 0; s < servers; ++s) {
      server_.push_back(std::make_unique<server_machine>(1ms * (10 + roll(1000))));
    }
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) step();
    settle();
    check();
  }

 private:
  std::size_t roll(std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_);
  }
  bool one_in(std::size_t n) { return roll(n) == 0; }

  pipe& link(std::size_t process, std::size_t server) { return pipes_[{process, server}]; }
  static link_id id_of(std::size_t process) { return link_id{process}; }

  void step() {
    switch (roll(12)) {
      case 0:
        if (attempts_.size() < 40) begin();
        break;
      case 1:
        plain_client();
        break;
      case 2:
      case 3:
        if (!attempts_.empty()) connect_ends(attempts_[roll(attempts_.size())], one_in(10));
        break;
      case 4:
      case 5:
        read_at_server(roll(processes), roll(servers));
        break;
      case 6:
      case 7:
        read_at_client(roll(processes), roll(servers));
        break;
      case 8:
        accept_one();
        break;
      case 9:
        now_ += 1ms * roll(one_in(10) ? 1500 : 40);
        break;
      case 10:
        deadlines();
        break;
      default:
        if (!attempts_.empty()) transport_ends(attempts_[roll(attempts_.size())]);
        if (one_in(40)) kill_client(roll(processes));
        if (one_in(100)) kill_server(roll(servers));
        if (one_in(100)) close_server(roll(servers));
    }
  }

  void begin() {
    attempts_.emplace_back();
    attempt_record& a = attempts_.back();
    a.process = roll(processes);
    a.number = attempts_.size();
    a.connection = tuple(static_cast<std::uint16_t>(1000 + attempts_.size()));
    if (dead_.contains(a.process)) {
      attempts_.pop_back();
      return;
    }
    std::vector<announcer_id> announcers;
    for (std::size_t s = 0; s < servers; ++s) {
      if (!link(a.process, s).server_gone && !one_in(4)) announcers.push_back(announcer_id{s});
    }
    std::vector<client_action> out;
    a.machine.start(announcers, 1ms * (10 + roll(1000)), out);
    carry_out(a, out);
  }

  void plain_client() {
    if (plain_ < 40 && !stopped(0)) {
      backlog_.push_back(
          {connection_id{5000 + plain_}, tuple(static_cast<std::uint16_t>(30000 + plain_))});
      ++plain_;
    }
  }

  void underway(attempt_record& a) {
    std::vector<client_action> out;
    a.machine.tcp_underway(now_, out);
    carry_out(a, out);
  }

  void connect_ends(attempt_record& a, bool failed) {
    if (!a.connecting || dead_.contains(a.process)) return;
    a.connecting = false;
    std::vector<client_action> out;
    if (failed || stopped(0)) {
      a.machine.tcp_failed(std::make_error_code(std::errc::connection_refused), out);
    } else {
      a.at_server = connection_id{a.number};
      backlog_.push_back({a.at_server, a.connection});
      if (one_in(2)) accept_one();  // the server may be faster than the client's own event
      a.machine.tcp_connected(now_, out);
    }
    carry_out(a, out);
  }

  void transport_ends(attempt_record& a) {
    if (!a.confirming || dead_.contains(a.process)) return;
    a.confirming.reset();
    std::vector<client_action> out;
    if (one_in(6)) {
      a.machine.transport_failed(reason::mapping_limit, out);
    } else {
      a.machine.transport_confirmed(now_, out);
    }
    carry_out(a, out);
  }

  void carry_out(attempt_record& a, const std::vector<client_action>& actions) {
    using kind = client_action::kind;
    for (const client_action& action : actions) {
      pipe& to = link(a.process, static_cast<std::size_t>(action.announcer));
      const auto send = [&](packet p) {
        p.attempt = a.number;
        if (!to.server_gone) to.to_server.push_back(p);
      };
      switch (action.what) {
        case kind::send_intent:
          send({verb::intent});
          break;
        case kind::connect_tcp:
          a.connecting = true;
          if (one_in(2)) underway(a);
          break;
        case kind::await_tcp:
          EXPECT_TRUE(a.connecting);
          break;
        case kind::send_proposal:
          send({verb::proposal, 0, a.connection, a.machine.patience()});
          break;
        case kind::confirm:
          a.confirming = action.announcer;
          if (one_in(2)) transport_ends(a);
          break;
        case kind::send_confirm:
          a.sent_confirm = true;
          a.confirmed_to = action.announcer;
          send({verb::confirm});
          break;
        case kind::send_decline:
          send({verb::decline, 0, {}, {}, action.why});
          break;
        case kind::send_withdraw:
          send({verb::withdraw});
          break;
        case kind::finished_transport:
          ++a.finishes;
          a.on_transport = true;
          break;
        case kind::finished_tcp:
          ++a.finishes;
          a.on_tcp = true;
          break;
        case kind::finished_error:
          ++a.finishes;
          break;
      }
    }
  }

  bool stopped(std::size_t s) const { return gone_.contains(s) || closed_.contains(s); }

  // One packet, or the end behind the last. False where there was nothing to read.
  bool read_at_server(std::size_t process, std::size_t s) {
    if (gone_.contains(s)) return false;
    pipe& from = link(process, s);
    std::vector<server_action> out;
    if (from.to_server.empty()) {
      if (!from.client_gone || std::exchange(from.server_was_told, true)) return false;
      server_[s]->hung_up(id_of(process), out);
    } else {
      const packet p = from.to_server.front();
      from.to_server.pop_front();
      server_machine& m = *server_[s];
      switch (p.what) {
        case verb::intent:
          m.intent(id_of(process), p.attempt, out);
          break;
        case verb::proposal:
          m.proposal(id_of(process), p.attempt, p.connection, p.patience, now_, out);
          break;
        case verb::confirm:
          m.confirm(id_of(process), p.attempt, out);
          break;
        case verb::decline:
          m.decline(id_of(process), p.attempt, p.why, out);
          break;
        case verb::withdraw:
          m.withdraw(id_of(process), p.attempt, out);
          break;
        case verb::accept:
          break;
      }
    }
    carry_out(s, out);
    return true;
  }

  void drain(std::size_t s) {
    for (std::size_t process = 0; process < processes; ++process) {
      while (read_at_server(process, s)) {
      }
    }
  }

  void carry_out(std::size_t s, const std::vector<server_action>& actions) {
    server_machine& m = *server_[s];
    for (const server_action& action : actions) {
      pipe& to = link(static_cast<std::size_t>(action.by.link), s);
      const auto made = std::pair(action.connection, action.by);
      std::vector<server_action> more;
      switch (action.what) {
        case kind::answer:
          if (one_in(7)) {
            m.answer_failed(action.connection, reason::no_memory, more);
          } else {
            made_.insert(made);
            to.to_client.push_back({verb::accept, action.by.attempt});
            m.answered(action.connection, now_, more);
          }
          break;
        case kind::establish:
          EXPECT_EQ(made_.erase(made), 1U) << "established what was not made";
          if (one_in(20)) {
            m.establish_failed(action.connection, reason::protocol_error, more);
          } else {
            m.established(action.connection, more);
          }
          break;
        case kind::abandon:
          EXPECT_EQ(made_.erase(made), 1U) << "abandoned what was not made";
          break;
        case kind::send_decline:
          to.to_client.push_back({verb::decline, action.by.attempt, {}, {}, action.why});
          break;
        case kind::deliver:
          outcomes_.emplace(action.connection, outcome::transport);
          break;
        case kind::deliver_tcp:
          outcomes_.emplace(action.connection, outcome::tcp);
          break;
        case kind::drop:
          outcomes_.emplace(action.connection, outcome::dropped);
          break;
      }
      carry_out(s, more);
    }
  }

  bool read_at_client(std::size_t process, std::size_t s) {
    if (dead_.contains(process)) return false;
    pipe& from = link(process, s);
    const announcer_id announcer{s};
    if (from.to_client.empty()) {
      if (!from.server_gone || std::exchange(from.client_was_told, true)) return false;
      for (attempt_record& a : attempts_) {
        if (a.process != process) continue;
        std::vector<client_action> out;
        a.machine.hung_up(announcer, out);
        carry_out(a, out);
      }
      return true;
    }
    const packet p = from.to_client.front();
    from.to_client.pop_front();
    attempt_record& a = attempts_[static_cast<std::size_t>(p.attempt) - 1];
    std::vector<client_action> out;
    if (p.what == verb::accept) {
      a.machine.accepted(announcer, now_, out);
    } else {
      if (a.on_transport && a.confirmed_to == announcer) a.was_reset = true;
      a.machine.declined(announcer, p.why, out);
    }
    carry_out(a, out);
    return true;
  }

  void accept_one() {
    if (backlog_.empty() || stopped(0)) return;
    drain(0);
    if (backlog_.empty() || stopped(0)) return;
    const auto [c, name] = backlog_.front();
    backlog_.pop_front();
    accepted_.insert(c);
    std::vector<server_action> out;
    server_[0]->tcp_accepted(c, name, true, now_, out);
    carry_out(std::size_t{0}, out);
  }

  void deadlines() {
    for (std::size_t s = 0; s < servers; ++s) {
      if (gone_.contains(s) || one_in(3)) continue;
      drain(s);
      const auto next = server_[s]->next_deadline();
      if (!next || *next > now_) continue;
      std::vector<server_action> out;
      server_[s]->deadline(now_, out);
      carry_out(s, out);
    }
    for (attempt_record& a : attempts_) {
      if (dead_.contains(a.process) || one_in(3)) continue;
      std::vector<client_action> out;
      a.machine.deadline(now_, out);
      carry_out(a, out);
    }
  }

  void kill_client(std::size_t process) {
    dead_.insert(process);
    for (std::size_t s = 0; s < servers; ++s) link(process, s).client_gone = true;
  }

  void kill_server(std::size_t s) {
    gone_.insert(s);
    for (std::size_t process = 0; process < processes; ++process)
      link(process, s).server_gone = true;
  }

  void close_server(std::size_t s) {
    if (stopped(s)) return;
    closed_.insert(s);
    std::vector<server_action> out;
    server_[s]->close(out);
    carry_out(s, out);
    if (s == 0) backlog_.clear();
  }

  // Lets everything come to its end.
  void settle() {
    for (int round = 0; round < 60; ++round) {
      for (attempt_record& a : attempts_) {
        connect_ends(a, false);
        transport_ends(a);
      }
      while (!backlog_.empty() && !stopped(0)) accept_one();
      for (std::size_t s = 0; s < servers; ++s) {
        drain(s);
        for (std::size_t process = 0; process < processes; ++process) {
          while (read_at_client(process, s)) {
          }
        }
      }
      now_ += 100ms;
      deadlines();
    }
  }

  void check() {
    for (const attempt_record& a : attempts_) {
      const bool alive = !dead_.contains(a.process);
      EXPECT_LE(a.finishes, 1);
      if (alive) {
        EXPECT_EQ(a.finishes, 1) << "attempt " << a.number;
      }
      EXPECT_EQ(a.sent_confirm, a.on_transport);
      if (gone_.contains(0)) continue;
      const auto at = outcomes_.find(a.at_server);
      if (at == outcomes_.end()) continue;
      if (at->second == outcome::transport) {
        EXPECT_TRUE(a.sent_confirm) << "attempt " << a.number << " was never confirmed";
        EXPECT_FALSE(a.was_reset);
      } else if (at->second == outcome::tcp) {
        EXPECT_FALSE(a.sent_confirm) << "attempt " << a.number << " is TCP at one end only";
      } else if (alive && a.on_transport) {
        EXPECT_TRUE(a.was_reset) << "attempt " << a.number << " was dropped without a word";
      }
    }
    if (gone_.contains(0)) return;
    for (const connection_id c : accepted_) {
      EXPECT_EQ(outcomes_.count(c), 1U) << "connection " << static_cast<std::uint64_t>(c);
    }
    EXPECT_EQ(outcomes_.size(), accepted_.size());
    EXPECT_EQ(server_[0]->connections(), 0U);
    EXPECT_EQ(server_[0]->attempts(), 0U);
    EXPECT_TRUE(made_.empty());
  }

  std::mt19937 random_;
  time_point now_{};
  std::vector<std::unique_ptr<server_machine>> server_;
  std::deque<attempt_record> attempts_;
  std::map<std::pair<std::size_t, std::size_t>, pipe> pipes_;
  std::deque<std::pair<connection_id, four_tuple>> backlog_;
  std::set<connection_id> accepted_;
  std::multimap<connection_id, outcome> outcomes_;
  std::set<std::pair<connection_id, attempt_key>> made_;
  std::set<std::size_t> dead_;
  std::set<std::size_t> gone_;
  std::set<std::size_t> closed_;
  std::uint64_t plain_ = 0;
};

TEST(Agreement, BothSidesAlwaysComeToOneOpinion) {
  for (unsigned seed = 0; seed < 1500 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    World(seed).run(600);
  }
}

// A link that keeps the rules gets its transport, whatever three others do that keep none, as long
// as they don't claim its very connections.
TEST(Agreement, LinksThatKeepNoRulesDisturbNobody) {
  for (unsigned seed = 0; seed < 300 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto roll = [&](unsigned n) {
      return std::uniform_int_distribution<unsigned>(0, n - 1)(random);
    };
    server_machine m(timeout);
    steady_clock::time_point now{};
    std::uint64_t connections = 0;
    std::map<connection_id, int> delivered;
    std::set<connection_id> on_transport;

    const auto carry_out = [&](script out) {
      for (std::size_t i = 0; i < out.size(); ++i) {
        const server_action action = out[i];
        script more;
        if (action.what == kind::answer) {
          const bool fails = action.by.link != link_a && roll(4) == 0;
          fails ? m.answer_failed(action.connection, reason::no_memory, more)
                : m.answered(action.connection, now, more);
        } else if (action.what == kind::establish) {
          const bool fails = action.by.link != link_a && roll(4) == 0;
          fails ? m.establish_failed(action.connection, reason::protocol_error, more)
                : m.established(action.connection, more);
        } else if (action.what == kind::deliver || action.what == kind::deliver_tcp ||
                   action.what == kind::drop) {
          ++delivered[action.connection];
          if (action.what == kind::deliver) on_transport.insert(action.connection);
        }
        out.insert(out.end(), more.begin(), more.end());
      }
    };
    const auto accept = [&](std::uint16_t port) {
      const connection_id c{++connections};
      delivered[c];
      script out;
      m.tcp_accepted(c, tuple(port), roll(8) != 0 || port >= 50000, now, out);
      carry_out(out);
      return c;
    };
    const auto noise = [&](unsigned events) {
      for (unsigned i = 0; i < events; ++i) {
        const link_id l{10 + roll(3)};
        const std::uint64_t n = roll(6);
        const auto port = static_cast<std::uint16_t>(1 + roll(4));
        script out;
        switch (roll(8)) {
          case 0:
            accept(port);
            break;
          case 1:
            m.confirm(l, n, out);
            break;
          case 2:
            m.withdraw(l, n, out);
            break;
          case 3:
            m.decline(l, n, reason::no_memory, out);
            break;
          case 4:
            if (roll(4) == 0) m.hung_up(l, out);
            break;
          case 5:
            m.proposal(l, n, tuple(port), 1ms * roll(4000), now, out);
            break;
          default:
            m.intent(l, n, out);
        }
        carry_out(out);
      }
    };

    for (std::uint16_t i = 0; i < 20; ++i) {
      noise(10);
      const auto port = static_cast<std::uint16_t>(50000 + i);
      script out;
      m.intent(link_a, i, out);
      noise(5);
      const bool early = roll(2) == 0;
      connection_id c{};
      if (early) c = accept(port);
      noise(5);
      m.proposal(link_a, i, tuple(port), timeout, now, out);
      carry_out(std::exchange(out, {}));
      noise(5);
      if (!early) c = accept(port);
      noise(5);
      m.confirm(link_a, i, out);
      carry_out(std::exchange(out, {}));
      EXPECT_TRUE(on_transport.contains(c)) << i;
      now += 1ms * roll(700);
      m.deadline(now, out);
      carry_out(out);
    }
    script out;
    for (const link_id l : {link_id{10}, link_id{11}, link_id{12}}) m.hung_up(l, out);
    m.deadline(now + max_patience, out);
    carry_out(out);
    for (const auto& [c, times] : delivered) {
      EXPECT_EQ(times, 1) << "connection " << static_cast<std::uint64_t>(c);
    }
    EXPECT_EQ(m.attempts(), 0U);
    EXPECT_EQ(m.connections(), 0U);
  }
}

}  // namespace
}  // namespace smc::negotiation
