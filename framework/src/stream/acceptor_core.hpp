#pragma once
// An acceptor without its types: the listening TCP socket, the announcement beside it, and the
// handshakes of those clients that want something faster than TCP.
#include <asio/any_io_executor.hpp>
#include <asio/ip/tcp.hpp>
#include <deque>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <smc/detail/acceptor_api.hpp>
#include <smc/detail/operation.hpp>

#include "negotiation/handshake.hpp"
#include "negotiation/link.hpp"
#include "negotiation/local_acceptors.hpp"
#include "negotiation/refused_callers.hpp"
#include "negotiation/registry.hpp"
#include "negotiation/rendezvous.hpp"
#include "negotiation/server_machine.hpp"
#include "stream/context_service.hpp"
#include "stream/stream_core.hpp"

namespace smc::detail {

/// A connection that was accepted and not yet handed to a stream. If none takes it the peer sees
/// what it sees of one in a backlog that goes: a reset.
struct accepted_connection {
  system::descriptor socket;
  asio::ip::tcp::endpoint peer;
  established outcome;
  std::uint32_t fork_generation = system::fork_generation();

  ~accepted_connection();
};

class acceptor_core final : public operation_host,
                            public negotiation::local_acceptor,
                            public negotiation::link_handler,
                            private descriptor_watcher,
                            private deadline_watcher {
 public:
  acceptor_core(const asio::any_io_executor& executor, context_service& service,
                std::shared_ptr<const config> settings);
  ~acceptor_core() override;

  bool is_open() const noexcept { return acceptor_.is_open(); }
  asio::ip::tcp::acceptor& acceptor() noexcept { return acceptor_; }
  const asio::ip::tcp::acceptor& acceptor() const noexcept { return acceptor_; }
  int number() const noexcept {
    return const_cast<asio::ip::tcp::acceptor&>(acceptor_).native_handle();
  }
  std::error_code listen(int backlog);
  std::error_code close() noexcept;
  static void release(std::shared_ptr<acceptor_core> core) noexcept;
  void non_blocking(bool mode) noexcept { non_blocking_ = mode; }
  bool non_blocking() const noexcept { return non_blocking_; }
  std::error_code set_option(int level, int name, const void* value, std::size_t size) noexcept;
  std::error_code get_option(int level, int name, void* value, std::size_t* size) const noexcept;

  std::error_code accept(accepted_ptr& accepted) noexcept;
  std::error_code wait() noexcept;
  bool take(operation& op, accepted_ptr& accepted) noexcept;
  bool ready_to_accept() const noexcept { return !ready_.empty(); }
  void expect(const asio::any_io_executor& executor);

  void serve_arrivals() noexcept override;
  void context_gone() noexcept override;
  void after_fork() noexcept override;

 private:
  using actions = negotiation::server_machine::actions;

  struct pending {  // an accepted TCP connection whose transport is being chosen
    system::descriptor socket;
    asio::ip::tcp::endpoint peer;
    negotiation::four_tuple tuple;
    std::vector<negotiation::transport*> transports;  // for this peer
    std::size_t ring_size = 0;
    reason obstacle = reason::none;  // where there are none, and something faster was wanted
    std::shared_ptr<negotiation::link> link;  // from `answer` on
    negotiation::transport* chosen = nullptr;
    std::unique_ptr<negotiation::handshake> handshake;
    std::vector<std::byte> accept_clc;
    clc::proposal proposed;
    bool confirmed_maybe = false;  // what the client said last was lost
  };
  struct stored_proposal {
    std::weak_ptr<negotiation::link> link;
    negotiation::proposal message;
  };

  std::error_code take_first(accepted_ptr& accepted) noexcept;

  // operation_host
  void* target(unsigned char) noexcept override { return is_open() ? this : nullptr; }
  std::error_code closed_error(unsigned char) const noexcept override;
  bool arm(unsigned char queue, operation& head) noexcept override;
  void disarm(unsigned char queue) noexcept override;
  void waiting_changed(int difference) override;

  // The rest: exclusively in the context.
  void announce() noexcept;
  void announce_at(const negotiation::rendezvous_place& place);
  void forget_announcements() noexcept;
  void forget_handshakes() noexcept;
  void start_over() noexcept;
  void withdraw_announcement() noexcept;
  void serve(bool eagerly) noexcept;
  void serve_all(bool eagerly);
  void serve_event();
  void serve_proposed();
  void watch_for_proposed();
  bool any_unclaimed(const std::vector<negotiation::connection_id>& fresh) const;
  bool is_allowed(negotiation::link_id caller) const;
  bool is_of_refused_user(const negotiation::four_tuple& connection) const;
  bool accept_one(std::vector<negotiation::connection_id>& fresh);
  void apply_rules(pending& p) const;
  void deliver(std::error_code error, accepted_ptr accepted) noexcept;
  void wait_for_arrivals();
  bool pause_if_exhausted(const std::error_code& error);
  void end_pause();

  /// Has the machine take something in, and carries out what it asks for then.
  template <typename Event>
  void feed(Event&& event) noexcept {
    try {
      actions todo;
      event(todo);
      perform(todo);
    } catch (const std::bad_alloc&) {
      start_over();
    }
  }
  void perform(actions& todo);
  void act(const negotiation::server_action& action, actions& more);
  void answer(const negotiation::server_action& action, actions& more);
  void establish(const negotiation::server_action& action, actions& more);
  void hand_over_pending(const negotiation::server_action& action, bool on_transport);
  void send_decline(const negotiation::attempt_key& to, reason why);
  negotiation::transport* choose(const negotiation::proposal& message, pending& p, reason& why);

  void on_event(std::uint32_t events) noexcept override;  // of the rendezvous listeners
  void received(negotiation::link& from, const negotiation::message& what,
                std::span<system::descriptor> descriptors) override;
  void violated(negotiation::link& from, reason why) override;
  void ended(negotiation::link& from) override;
  void on_deadline(std::chrono::steady_clock::time_point now) noexcept override;
  void watch_deadline();

  const asio::any_io_executor executor_;
  context_service& service_;
  const std::shared_ptr<const config> settings_;
  asio::ip::tcp::acceptor acceptor_;
  std::vector<negotiation::probed_transport> probed_;  // when it was announced, for any peer
  std::vector<negotiation::transport*> transports_;    // those of them that can be used
  std::atomic<context_service*> target_service_;  // of the stream that is waiting to be accepted

  std::vector<negotiation::announcement> announcements_;
  std::optional<negotiation::server_machine> machine_;
  struct known_link {
    std::weak_ptr<negotiation::link> weak;
    bool allowed;  // its user, who was noted by the kernel when the link was made, as this was
    bool spoke = false;
  };
  std::atomic<bool> serves_others_{false};  // streams of other contexts than its own
  std::map<negotiation::link_id, known_link> links_;
  negotiation::refused_callers refused_;
  std::map<negotiation::connection_id, pending> pending_;
  std::map<negotiation::attempt_key, stored_proposal> proposals_;
  std::uint64_t last_connection_ = 0;
  bool serving_ = false;
  bool accepted_ahead_ = false;        // of the event that the wait for arrivals will end with
  bool announce_again_ = false;        // inherited from the parent, and not used here yet
  bool callers_wait_ = false;          // the rendezvous listeners are not watched in a pause
  bool waiting_for_arrivals_ = false;  // with the host's lock
  asio::cancellation_signal stop_waiting_;
  wait_memory arrivals_memory_;

  // While a CONFIRM is looked at:
  const negotiation::confirm* confirm_ = nullptr;
  std::span<system::descriptor> confirm_descriptors_;

  // With the host's lock:
  struct result {
    std::error_code error;
    accepted_ptr connection;
  };
  std::deque<result> ready_;
  std::atomic<std::size_t> ready_count_{0};
  std::atomic<std::ptrdiff_t> waiting_{0};

  socket_options options_;
  bool non_blocking_ = false;
  bool gone_ = false;
  // Out of descriptors or memory: the next look is not at once.
  std::atomic<std::chrono::steady_clock::time_point> paused_until_{};
};

}  // namespace smc::detail
