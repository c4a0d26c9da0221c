#pragma once
// The glue of the client's side: one connect, from the intent to the connection. Carries out what
// client_machine decides, with links, the TCP socket and the transports.
#include <asio/ip/tcp.hpp>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include "negotiation/client_machine.hpp"
#include "negotiation/handshake.hpp"
#include "negotiation/local_network.hpp"
#include "stream/stream_core.hpp"

namespace smc::detail {

class connect_attempt final : public std::enable_shared_from_this<connect_attempt>,
                              private negotiation::attempt_handler,
                              private deadline_watcher {
 public:
  /// Begins; the outcome goes to core.connected(), from any thread. The core knows this attempt
  /// already.
  void start();
  /// Connects in the calling thread.
  static std::error_code run(stream_core& core, const asio::ip::tcp::endpoint& to,
                             established& outcome);

  connect_attempt(stream_core& core, const asio::ip::tcp::endpoint& to, bool blocking);
  ~connect_attempt();

  /// Gives up: peers are told, the core hears nothing more. Without the core's lock.
  void cancel() noexcept;

 private:
  using actions = negotiation::client_machine::actions;

  class announcement;

  template <typename F>
  void with_memory(F&& f) noexcept;
  void give_up() noexcept;
  bool over() const noexcept { return over_ || machine_.finished(); }

  void begin();
  void find_announcers(reason& why);
  void connect_tcp(actions& more);
  void await_tcp(actions& more);
  std::error_code wait_for_tcp();
  void tcp_done(std::error_code error, bool ask);
  void after_tcp(std::error_code error, actions& more);
  std::error_code learn_tuple();
  void wait_for_end();

  void perform(actions& todo);
  void act(const negotiation::client_action& action, actions& more);
  void send_intent(negotiation::announcer_id to, actions& more);
  void send_proposal(negotiation::announcer_id to, actions& more);
  void confirm(actions& more);
  void send_confirm(negotiation::announcer_id to);
  bool encode_proposal(negotiation::link& to, negotiation::proposal& message) noexcept;
  bool encode_confirm(negotiation::confirm& message) noexcept;
  void finish(std::error_code error, reason why, bool on_transport);
  void tell(std::error_code error, established&& outcome) noexcept;
  void after_send(negotiation::link& to) noexcept;

  void received(negotiation::link& from, const negotiation::message& what,
                std::span<system::descriptor> descriptors) override;
  void violated(negotiation::link& from, reason why) override;
  void ended(negotiation::link& from) override;
  void on_deadline(std::chrono::steady_clock::time_point now) noexcept override;
  void watch_deadline() noexcept;

  std::optional<negotiation::announcer_id> announcer(const negotiation::link& which) const;
  std::shared_ptr<negotiation::link> link_of(negotiation::announcer_id which) const;
  negotiation::connection_plan plan(negotiation::link& link) const;

  std::weak_ptr<operation_host> core_owner_;
  stream_core* core_;
  context_service& service_;
  negotiation::local_network* network_ = nullptr;
  const std::shared_ptr<const config> settings_;
  const std::size_t receive_size_;
  const std::size_t send_size_;
  const asio::ip::tcp::endpoint to_;
  const negotiation::endpoint destination_;
  const bool blocking_;

  negotiation::client_machine machine_;
  std::vector<std::shared_ptr<negotiation::link>> links_;  // index: announcer_id
  std::vector<negotiation::transport*> transports_;
  std::uint64_t number_ = 0;
  bool faster_wanted_ = false;
  bool faster_denied_ = false;  // by a rule
  std::size_t ring_size_ = 0;
  bool tcp_wanted_ = false;
  std::optional<negotiation::four_tuple> tuple_;
  clc::proposal proposed_;

  // While an ACCEPT is looked at:
  const negotiation::accept* accept_ = nullptr;
  std::span<system::descriptor> accept_descriptors_;
  std::shared_ptr<negotiation::link> accepting_link_;
  std::unique_ptr<negotiation::handshake> handshake_;
  negotiation::transport* chosen_ = nullptr;
  negotiation::offer confirm_;
  bool confirm_lost_ = false;
  bool confirm_sent_ = false;
  bool tcp_connected_ = false;

  reason obstacle_ = reason::none;  // found before the machine began

  // The outcome:
  std::unique_ptr<announcement> announcement_;  // to the core; made while there is memory
  bool over_ = false;                           // there is one, whatever the machine still says
  std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = false;
  std::atomic<bool> cancelled_{false};  // read by what is deferred, outside the exclusive section
  std::error_code error_;
  established outcome_;
};

}  // namespace smc::detail
