#pragma once
// "Tell me once when this socket may be read or written", from one Asio wait per direction.
#include <array>
#include <asio/cancellation_signal.hpp>
#include <asio/ip/tcp.hpp>
#include <memory>
#include <mutex>

#include "stream/transport.hpp"
#include "stream/wait_memory.hpp"

namespace smc::detail {
class loop_core;
}

namespace smc::tcp {

/// On an event_loop all calls come from its thread and nothing is locked; elsewhere the wait's
/// handler runs on any thread of the context.
class readiness : public std::enable_shared_from_this<readiness> {
 public:
  readiness(asio::ip::tcp::socket& socket, detail::loop_core* loop)
      : socket_(&socket), loop_(loop) {
    for (side& s : sides_) detail::reserve_slot(s.signal);
  }

  /// `who` is told at the next readiness, error or hang-up. Arming again replaces `who`.
  void arm(detail::direction d, detail::waiter& who);
  void disarm(detail::direction d);
  /// The socket goes away: no wait touches it any more.
  void detach();

 private:
  struct side {
    detail::waiter* who = nullptr;
    bool waiting = false;
    asio::cancellation_signal signal;
    detail::wait_memory memory;
  };
  void on_ready(side& s);

  asio::ip::tcp::socket* socket_;
  detail::loop_core* loop_;
  std::mutex mutex_;
  std::array<side, 2> sides_;
};

}  // namespace smc::tcp
