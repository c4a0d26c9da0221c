#pragma once
// A context's rendezvous connections: those it made to announcers, kept for the next connect, and
// those that clients made to its acceptors, which outlive the acceptor as long as connections need
// them.
#include <asio/execution_context.hpp>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <smc/error.hpp>
#include <vector>

#include "negotiation/link.hpp"
#include "negotiation/rendezvous.hpp"

namespace smc {
class config;
}

namespace smc::negotiation {

/// Gets what concerns one connect attempt; called exclusively.
class attempt_handler {
 public:
  virtual void received(link& from, const message& what,
                        std::span<system::descriptor> descriptors) = 0;
  virtual void violated(link& from, reason why) = 0;
  virtual void ended(link& from) = 0;

 protected:
  ~attempt_handler() = default;
};

/// All functions: exclusively in the context.
class local_network final : public asio::execution_context::service,
                            public link_handler,
                            private detail::fork_watcher {
 public:
  using key_type = local_network;
  using clock = std::chrono::steady_clock;
  static asio::execution_context::id id;

  explicit local_network(asio::execution_context& context);
  static local_network& of(detail::context_service& service);

  /// Links to whoever announced itself for `destination`: by abstract name where it is one of this
  /// network namespace's addresses, else in the rendezvous directory. `why`: what stood against it
  /// where there is none.
  std::vector<std::shared_ptr<link>> announcers(detail::context_service& of_context,
                                                const endpoint& destination, const config& settings,
                                                reason& why);
  /// A connection to `destination` got what it wanted: the links known for its port are enough.
  void proven(const endpoint& destination) { proven_.insert(destination); }
  /// Nobody listens there (any more): what was found is forgotten.
  void refused(const endpoint& destination);

  std::uint64_t add_attempt(attempt_handler& handler);
  void remove_attempt(std::uint64_t attempt) noexcept { attempts_.erase(attempt); }

  /// Keeps a link that a client made.
  void keep(std::shared_ptr<link> accepted) { kept_.insert(std::move(accepted)); }
  void forget(const link& gone) noexcept;
  /// Their acceptor is gone: what still comes on such a link is answered here.
  void take_over(link& orphan) { orphan.set_handler(this); }

 private:
  struct place_state {
    std::map<unsigned, std::shared_ptr<link>> links;  // by k of the name
    clock::time_point looked_at{};                    // at all names
    reason obstacle = reason::none;
  };

  void shutdown() override;
  void after_fork() noexcept override;
  template <typename Tell>
  void tell_attempts(Tell&& tell);
  void abandon_links() noexcept;
  void look(detail::context_service& of_context, const rendezvous_place& place, place_state& state,
            const config& settings, bool beyond_gaps);
  void received(link& from, const message& what,
                std::span<system::descriptor> descriptors) override;
  void violated(link& from, reason why) override;
  void ended(link& from) override;
  void retire(link& from);
  void unlist(const link& gone);

  std::map<rendezvous_place, place_state> places_;
  std::set<endpoint> proven_;
  std::set<std::shared_ptr<link>> kept_;
  std::map<std::uint64_t, attempt_handler*> attempts_;
  std::uint64_t last_attempt_ = 0;
};

/// Whether `settings` lets processes of this user share memory with ours.
bool is_allowed_user(const config& settings, uid_t user) noexcept;

}  // namespace smc::negotiation
