#pragma once
// A rendezvous connection between two processes of this host: messages with descriptors, the peer's
// identity as the kernel vouches for it, and the news of its death.
//
// The first message in each direction introduces its sender. It carries, as its first descriptor, a
// pidfd: a hang-up alone would not show the death of a process whose forked child still holds the
// socket. Then, where there is memory for one, the sender's mailbox and doorbell. From then on
// messages without descriptors go through the mailbox, and the socket is left for the others.
// Messages are numbered, so that both ways together keep one order: who holds message n finds the
// earlier ones in the other way, because its sender put them there first.
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <smc/peer_identity.hpp>
#include <span>
#include <string>
#include <vector>

#include "negotiation/envelope.hpp"
#include "negotiation/mailbox.hpp"
#include "stream/context_service.hpp"
#include "system/descriptor.hpp"
#include "system/fork.hpp"

namespace smc::negotiation {

class link;

/// Gets what arrives on links; called exclusively in the link's context.
class link_handler {
 public:
  /// `descriptors`: those that came with the message, to be moved from; fewer than were sent where
  /// this process has no room for more.
  virtual void received(link& from, const message& what,
                        std::span<system::descriptor> descriptors) = 0;
  /// A message that could not be decoded or a broken rule; ended() follows.
  virtual void violated(link& from, reason why) = 0;
  /// The link is dead; nothing follows.
  virtual void ended(link& from) = 0;

 protected:
  ~link_handler() = default;
};

/// What a transport keeps with a link (a link group, say).
class link_attachment {
 public:
  virtual ~link_attachment() = default;
  /// The peer is gone. Called outside of the context's exclusive section.
  virtual void peer_gone() noexcept = 0;
  /// Whether connections still need the link.
  virtual bool in_use() const noexcept = 0;
};

class link final : public std::enable_shared_from_this<link>, private detail::descriptor_watcher {
 public:
  link(detail::context_service& service, system::descriptor socket, link_handler* handler);
  ~link();
  link(const link&) = delete;
  link& operator=(const link&) = delete;

  /// Reads the peer's credentials, prepares the introduction and starts watching. An error:
  /// unusable.
  std::error_code open();

  enum class urgency : unsigned char {
    now,           ///< a peer that sleeps is woken
    with_the_next  ///< what follows will wake it
  };
  /// Sends one message. Never blocks: a full peer is an error.
  std::error_code send(const message& what, std::span<const int> descriptors = {},
                       urgency when = urgency::now) noexcept;
  /// Takes in what has arrived.
  void receive_all() noexcept { on_event(0); }
  /// Takes in what has arrived by mail: costs a look into memory where there is nothing.
  void receive_mail() noexcept;
  /// Sends `what`, which ends an attempt, now or before the next message.
  void send_sometime(const message& what) noexcept;
  /// The peer broke a rule that only the handler knows: hangs up, and tells the handler.
  void break_off(reason why) noexcept { end(why); }
  /// Hangs up. The attachments are told that the peer is gone.
  void close() noexcept;
  /// Hangs up without telling anybody here: the context goes away.
  void abandon() noexcept;
  bool is_open() const noexcept { return static_cast<bool>(socket_); }

  void set_handler(link_handler* handler) noexcept { handler_ = handler; }
  const peer_identity& peer() const noexcept { return peer_; }
  bool same_process() const noexcept { return same_process_; }
  /// The rendezvous name that was called; empty on the announcer's side.
  const std::string& name() const noexcept { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  bool in_use() const noexcept;
  detail::context_service& service() noexcept { return service_; }
  std::uint64_t id() const noexcept { return id_; }

  /// The attachment of `owner` for the context `number`, if there is one.
  std::shared_ptr<link_attachment> attachment(const void* owner, std::uint32_t number) const;
  void attach(const void* owner, std::uint32_t number, std::shared_ptr<link_attachment> what);

 private:
  /// Where the peer's mail arrives: polled by the context, which may keep it a little longer than
  /// the link.
  class mail_source final : public detail::wake_source {
   public:
    explicit mail_source(link& owner) noexcept : owner_(&owner), service_(owner.service_) {}
    mailbox box;
    void end() noexcept { owner_.store(nullptr, std::memory_order_relaxed); }
    bool poll() noexcept override;
    /// Mail that comes, or stayed, after the end keeps nobody awake.
    bool before_sleep() noexcept override { return finished() || stale() || box.before_sleep(); }
    void after_sleep() noexcept override {
      if (!stale()) box.after_sleep();
    }
    bool finished() const noexcept override {
      return owner_.load(std::memory_order_relaxed) == nullptr;
    }

   private:
    /// A child of fork() does not have the memory.
    bool stale() const noexcept { return generation_ != system::fork_generation(); }

    std::atomic<link*> owner_;  // used exclusively; whether there is one, any thread asks
    detail::context_service& service_;
    const std::uint32_t generation_ = system::fork_generation();
  };

  void on_event(std::uint32_t events) noexcept override;
  enum class way : unsigned char { mail, socket };
  /// Whether a message may have been overtaken, so that it waits for those before it, which came
  /// the other way.
  enum class turn : unsigned char { any, next };
  /// False: there is nothing (more) to receive now.
  bool receive_one(turn expected);
  bool take_mail(turn expected);
  /// One message, by either way; those before it first. False: the link has ended.
  bool handle(std::span<const std::byte> packet, std::span<system::descriptor> descriptors, way by,
              turn expected);
  reason take_peer_process(system::descriptor& sent);
  reason take_peer_mailbox(std::span<system::descriptor>& descriptors);
  void open_mailbox(std::vector<int>& introduction, bool& introduces);
  std::error_code send_now(const message& what, std::span<const int> descriptors, urgency when);
  void end(reason why) noexcept;

  class process_watcher final : public detail::descriptor_watcher {
   public:
    explicit process_watcher(link& owner) noexcept : owner_(owner) {}
    void on_event(std::uint32_t) noexcept override { owner_.process_ended(); }

   private:
    link& owner_;
  };
  void process_ended() noexcept;

  detail::context_service& service_;
  system::descriptor socket_;
  system::descriptor own_process_;  // until the introduction was sent
  system::descriptor peer_process_;
  process_watcher process_watcher_{*this};
  link_handler* handler_;
  peer_identity peer_;
  std::string name_;
  const std::uint64_t id_;
  bool same_process_ = false;
  bool received_identity_ = false;
  std::uint32_t sent_ = 0;  // messages, by both ways
  std::uint32_t received_ = 0;
  std::shared_ptr<mail_source> mail_;
  mail_sender mail_sender_;
  std::vector<message> unsent_;  // the peer had no room
  std::map<std::pair<const void*, std::uint32_t>, std::shared_ptr<link_attachment>> attachments_;
  std::vector<std::byte> buffer_;
  class farewell;
  std::unique_ptr<farewell> farewell_;  // from the beginning: close() must not need memory
};

}  // namespace smc::negotiation
