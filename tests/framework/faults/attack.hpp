#pragma once
// The frame of each test of hostile clients: a server, an attack, and what must hold behind it.
#include <gtest/gtest.h>

#include <deque>
#include <functional>

#include "framework/faults/echo_server.hpp"
#include "framework/faults/raw_client.hpp"

namespace smc::test {

/// The hostile side. What it holds stays open until the server was asked once whether it still
/// serves.
class attacker {
 public:
  explicit attacker(asio::ip::tcp::endpoint target) : target_(std::move(target)) {}

  const asio::ip::tcp::endpoint& target() const noexcept { return target_; }

  raw_client& client() { return clients_.emplace_back(target_.port()); }

  /// A TCP socket with an address of its own, not connected yet.
  asio::ip::tcp::socket& socket(const asio::any_io_executor& executor) {
    auto& made = sockets_.emplace_back(executor, asio::ip::tcp::v4());
    made.bind(any_port());
    return made;
  }

  negotiation::intent intent(std::uint64_t attempt = 1) const {
    return intent_for(attempt, target_);
  }
  negotiation::proposal proposal(const asio::ip::tcp::socket& from,
                                 std::uint64_t attempt = 1) const {
    return proposal_for(attempt, from.local_endpoint(), target_);
  }

 private:
  asio::ip::tcp::endpoint target_;
  std::deque<raw_client> clients_;
  std::deque<asio::ip::tcp::socket> sockets_;
};

using attack = std::function<asio::awaitable<void>(attacker&, echo_server&)>;

class attacked_server : public testing::TestWithParam<place> {
 protected:
  /// `does`, and behind it: the server serves everybody, while the attacker is still connected and
  /// when it is gone, and holds nothing of it.
  void attacked(const attack& does) {
    world here(GetParam());
    here.run([&]() -> asio::awaitable<void> {
      echo_server server(here.executor());
      co_await serves_everybody(server);  // makes what the process keeps
      const resources before = resources::of_this_process();
      {
        attacker hostile(server.endpoint());
        co_await does(hostile, server);
        co_await serves_everybody(server);
      }
      co_await serves_everybody(server);
      co_await nothing_is_left(before);
    });
  }
};

inline std::string name_of_place(const testing::TestParamInfo<place>& info) {
  return info.param == place::event_loop ? "on_event_loop" : "on_io_context";
}

inline auto both_places() { return testing::Values(place::event_loop, place::io_context); }

}  // namespace smc::test
