// Both sides of the handshake over TCP against each other, in virtual time: messages and links that
// take long or fail, steps that can't be done, peers that go. Checks what no script can: both come
// to one opinion, and no byte of the handshake is taken for data.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <queue>
#include <random>

#include "negotiation/in_band_client.hpp"
#include "negotiation/in_band_server.hpp"
#include "vectors/vectors.hpp"

namespace smc::negotiation {
namespace {

using namespace std::chrono_literals;
using time_point = in_band_client::time_point;
using duration = in_band_client::duration;

template <typename T>
T from_vector(const char* name) {
  return std::get<T>(*clc::decode(test::vector(name)));
}

enum class end { none, transport, tcp, useless };

class conversation {
 public:
  explicit conversation(unsigned seed) : random_(seed) {
    first_contact_ = roll(3) != 0;
    link_works_ = roll(4) != 0;
    slow_ = roll(4) == 0;
    client_.start(from_vector<clc::proposal>("prop_v2_r"), now_, at_client_);
    carry_out_client();
    if (roll(20) == 0) later(delay(), [this] { client_leaves(); });
    run();
  }

  end client_end = end::none, server_end = end::none;
  bool left = false;
  int stray_at_client = 0, stray_at_server = 0;
  std::map<std::string, int>* seen = nullptr;

 private:
  unsigned roll(unsigned n) { return std::uniform_int_distribution<unsigned>(0, n - 1)(random_); }
  duration delay() { return 1ms * roll(300); }
  duration step() { return 1ms * roll(slow_ && roll(3) == 0 ? 9000 : 300); }

  void later(duration after, std::function<void()> what) {
    events_.push({now_ + after, number_++, std::move(what)});
  }
  // In the order of their sending, as TCP has it.
  void to_server(std::function<void()> what) {
    server_hears_ = std::max(server_hears_, now_ + delay());
    later(server_hears_ - now_, std::move(what));
  }
  void to_client(std::function<void()> what) {
    client_hears_ = std::max(client_hears_, now_ + delay());
    later(client_hears_ - now_, std::move(what));
  }

  void run() {
    for (;;) {
      std::optional<time_point> next;
      const auto earlier = [&next](std::optional<time_point> t) {
        if (t && (!next || *t < *next)) next = t;
      };
      if (!events_.empty()) earlier(events_.top().when);
      earlier(client_.next_deadline());
      earlier(server_.next_deadline());
      if (!next) return;
      now_ = std::max(now_, *next);
      if (!events_.empty() && events_.top().when <= now_) {
        const auto what = events_.top().what;
        events_.pop();
        what();
      }
      client_.deadline(now_, at_client_);
      carry_out_client();
      server_.deadline(now_, at_server_);
      carry_out_server();
    }
  }

  void client_leaves() {
    if (client_end != end::none) return;
    left = true;
    client_end = end::useless;
    to_server([this] { ended_at_server(); });
  }
  void ended_at_server() {
    server_.ended(at_server_);
    carry_out_server();
  }

  void send_to_server(clc::message m) {
    to_server([this, m = std::move(m)] {
      if (server_end == end::tcp && !server_eats_) ++stray_at_server;
      server_eats_ = false;
      if (const auto* p = std::get_if<clc::proposal>(&m)) {
        server_.start(*p, at_server_);
      } else {
        server_.received(m, at_server_);
      }
      carry_out_server();
    });
  }
  void send_to_client(clc::message m) {
    to_client([this, m = std::move(m)] {
      if (client_end == end::tcp && !client_eats_) ++stray_at_client;
      client_eats_ = false;
      if (left) return;
      client_.received(m, now_, at_client_);
      carry_out_client();
    });
  }

  static clc::decline decline_of(clc::diagnosis code) {
    clc::decline d;
    d.code = code;
    return d;
  }

  void carry_out_client() {
    using kind = in_band_client_action::kind;
    for (const auto& action : std::exchange(at_client_, {})) {
      if (left) continue;
      switch (action.what) {
        case kind::send_proposal:
          send_to_server(from_vector<clc::proposal>("prop_v2_r"));
          break;
        case kind::prepare:
          later(step(), [this, fails = roll(6) == 0] {
            if (fails) {
              client_.prepare_failed(reason::no_memory, !first_contact_ && roll(2) == 0,
                                     at_client_);
            } else {
              client_.prepared(at_client_);
            }
            carry_out_client();
          });
          break;
        case kind::send_confirm: {
          auto m = from_vector<clc::accept_confirm>("conf_v2_r");
          if (!first_contact_) m.smcr.first_contact = false, m.smcr.gids.clear();
          if (first_contact_ && roll(20) == 0) m.smcr.contact.max_links = 1;
          send_to_server(m);
          // As Linux: longer than the server. Errors of a device come at any time.
          if (first_contact_)
            later(roll(4) == 0 ? delay() : 4s, [this] { link_fails_at_client(); });
          break;
        }
        case kind::send_decline:
          send_to_server(decline_of(action.code));
          break;
        case kind::abandon:
          link_works_ = false;
          break;
        case kind::finished_transport:
          client_end = end::transport;
          break;
        case kind::finished_tcp:
          client_end = end::tcp;
          client_eats_ = action.decline_may_follow;
          break;
        case kind::reconnect:
          client_end = end::useless;
          to_server([this] { ended_at_server(); });
          break;
      }
    }
  }

  void link_fails_at_client() {
    client_.link_failed(reason::handshake_timed_out, now_, at_client_);
    carry_out_client();
  }

  void carry_out_server() {
    using kind = in_band_server_action::kind;
    for (const auto& action : std::exchange(at_server_, {})) {
      switch (action.what) {
        case kind::choose:
          later(step(), [this, fails = roll(6) == 0] {
            if (fails) {
              server_.choose_failed(reason::no_device, at_server_);
            } else {
              server_.chosen(
                  from_vector<clc::accept_confirm>(first_contact_ ? "acc_v2_r" : "acc_v2_r_sub"),
                  now_, at_server_);
            }
            carry_out_server();
          });
          break;
        case kind::send_accept:
          send_to_client(
              from_vector<clc::accept_confirm>(first_contact_ ? "acc_v2_r" : "acc_v2_r_sub"));
          break;
        case kind::establish:
          establish();
          break;
        case kind::send_decline:
          send_to_client(decline_of(action.code));
          break;
        case kind::abandon:
          link_works_ = false;
          break;
        case kind::end_group:
          break;
        case kind::finished_transport:
          server_end = end::transport;
          break;
        case kind::finished_tcp:
          server_end = end::tcp;
          server_eats_ = action.decline_may_follow;
          break;
        case kind::drop:
          server_end = end::useless;
          to_client([this] {
            if (left) return;
            client_.ended(at_client_);
            carry_out_client();
          });
          break;
      }
    }
  }

  // CONFIRM LINK and its answer, over a link that works for both or, from some time on, for none.
  void establish() {
    if (!first_contact_) {
      server_.established(at_server_);
      carry_out_server();
      return;
    }
    later(roll(4) == 0 ? delay() : 2s, [this] {
      server_.establish_failed(reason::handshake_timed_out, now_, at_server_);
      carry_out_server();
    });
    if (!link_works_ || roll(5) == 0) return;
    later(1ms * roll(50), [this] {
      if (!link_works_ || left) return;
      client_.linked(at_client_);
      carry_out_client();
      if (client_end != end::transport) return;
      server_.established(at_server_);  // what is on its way when a link works arrives
      carry_out_server();
    });
  }

  struct event {
    time_point when;
    std::uint64_t number;
    std::function<void()> what;
    bool operator<(const event& other) const {
      return std::tie(when, number) > std::tie(other.when, other.number);
    }
  };

  std::mt19937 random_;
  time_point now_{}, server_hears_{}, client_hears_{};
  std::uint64_t number_ = 0;
  std::priority_queue<event> events_;
  in_band_client client_{6s};
  in_band_server server_{6s};
  in_band_client::actions at_client_;
  in_band_server::actions at_server_;
  bool first_contact_ = true, link_works_ = true, slow_ = false;
  bool client_eats_ = false, server_eats_ = false;
};

TEST(InBandAgreement, BothSidesAlwaysComeToOneOpinion) {
  std::map<std::pair<end, end>, int> outcomes;
  for (unsigned seed = 0; seed < 20'000; ++seed) {
    const conversation c(seed);
    ++outcomes[{c.client_end, c.server_end}];
    ASSERT_NE(c.client_end, end::none) << "seed " << seed;
    ASSERT_NE(c.server_end, end::none) << "seed " << seed;
    ASSERT_EQ(c.stray_at_client, 0) << "seed " << seed;
    ASSERT_EQ(c.stray_at_server, 0) << "seed " << seed;
    if (c.client_end == end::useless) continue;  // the user of the new connection knows nothing
    if (c.client_end != c.server_end) {
      // A server that gave up told TCP's way, and too late for a client that had finished.
      ADD_FAILURE() << "seed " << seed << ": " << static_cast<int>(c.client_end) << " and "
                    << static_cast<int>(c.server_end);
      return;
    }
  }
  EXPECT_GT((outcomes[{end::transport, end::transport}]), 1000);
  EXPECT_GT((outcomes[{end::tcp, end::tcp}]), 1000);
  EXPECT_GT((outcomes[{end::useless, end::useless}]), 100);
}

}  // namespace
}  // namespace smc::negotiation
