#include "support/memory_transport.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <smc/config.hpp>

#include "negotiation/registry.hpp"
#include "support/memory_connection.hpp"
#include "system/events.hpp"

namespace smc::test {

namespace {

using negotiation::connection_plan;
using negotiation::offer;
using negotiation::received_offer;

constexpr std::uint64_t largest_queue = std::uint64_t{512} << 20;

/// Channels that wait for their clients.
class meeting_places {
 public:
  void put(std::uint64_t key, std::weak_ptr<memory_channel> channel) {
    const std::lock_guard lock(mutex_);
    channels_[key] = std::move(channel);
  }
  std::shared_ptr<memory_channel> find(std::uint64_t key) const {
    const std::lock_guard lock(mutex_);
    const auto found = channels_.find(key);
    return found == channels_.end() ? nullptr : found->second.lock();
  }
  void remove(std::uint64_t key) {
    const std::lock_guard lock(mutex_);
    channels_.erase(key);
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::weak_ptr<memory_channel>> channels_;
};

meeting_places& places() {
  static meeting_places& all = *new meeting_places;  // never destroyed: contexts may end late
  return all;
}

std::uint64_t random_number() {
  std::uint64_t number = 0;
  while (number == 0) {
    if (system::fill_random(std::as_writable_bytes(std::span(&number, 1)))) number = 0;
  }
  return number;
}

/// What ACCEPT and CONFIRM carry. The peer is this very program, so its layout is the message's.
struct introduction {
  std::uint64_t key = 0;
  memory_channel::token token = 0;
  std::uint64_t send_size = 0;  ///< that its sender wishes for; 0: none
};

template <typename T>
std::vector<std::byte> encode(const T& what) {
  const auto bytes = std::as_bytes(std::span(&what, 1));
  return {bytes.begin(), bytes.end()};
}

template <typename T>
std::optional<T> decode(std::span<const std::byte> bytes) {
  if (bytes.size() != sizeof(T)) return std::nullopt;
  T what;
  std::memcpy(&what, bytes.data(), sizeof what);
  return what;
}

class memory_handshake final : public negotiation::handshake {
 public:
  explicit memory_handshake(const connection_plan& plan) : plan_(plan) {}
  ~memory_handshake() override {
    if (listed_) places().remove(own_.key);
    // Who has confirmed must not take this for an orderly end.
    if (half_) half_->abort();
  }

  reason answer(const received_offer& proposal, offer& accept) override {
    if (const reason why = faults::at_step(&memory_faults::answer); why != reason::none) return why;
    const auto send_size = decode<std::uint64_t>(proposal.extension);
    if (!send_size) return reason::protocol_error;
    const auto channel = std::make_shared<memory_channel>();
    own_ = {random_number(), random_number(), plan_.send_size};
    const reason why = open(channel, memory_side::server, *send_size, 0);
    if (why != reason::none) return why;
    places().put(own_.key, channel);
    listed_ = true;
    accept.extension = encode(own_);
    return reason::none;
  }

  reason confirm(const received_offer& accept, offer& confirm) override {
    if (const reason why = faults::at_step(&memory_faults::confirm); why != reason::none)
      return why;
    const auto peer = decode<introduction>(accept.extension);
    if (!peer) return reason::protocol_error;
    const auto channel = places().find(peer->key);
    if (!channel || !channel->has(memory_side::server, peer->token)) return reason::other_host;
    own_ = {peer->key, random_number(), plan_.send_size};
    const reason why = open(channel, memory_side::client, peer->send_size, peer->token);
    if (why != reason::none) return why;
    confirm.extension = encode(own_);
    return reason::none;
  }

  reason establish(const received_offer& confirm) override {
    if (const reason why = faults::at_step(&memory_faults::establish); why != reason::none) {
      return why;
    }
    const auto peer = decode<introduction>(confirm.extension);
    if (!peer || peer->key != own_.key) return reason::protocol_error;
    const bool proven = channel_->has(memory_side::client, peer->token) &&
                        channel_->saw(memory_side::client, own_.token);
    return proven ? reason::none : reason::other_host;
  }

  std::unique_ptr<detail::connection> take() override { return std::move(half_); }

 private:
  reason open(const std::shared_ptr<memory_channel>& channel, memory_side side,
              std::uint64_t peers_send_size, memory_channel::token seen) {
    int doorbell = -1;
    if (plan_.service.doorbell(doorbell)) return reason::descriptor_limit;
    // One of its own: the context may be gone when the peer still rings.
    auto own_doorbell = system::descriptor::adopt(::fcntl(doorbell, F_DUPFD_CLOEXEC, 0));
    if (!own_doorbell) return reason::descriptor_limit;
    const std::uint64_t own_wish = plan_.receive_size != 0 ? plan_.receive_size : plan_.ring_size;
    const auto size = std::min(std::max(own_wish, peers_send_size), largest_queue);
    channel->open(side, static_cast<std::size_t>(size), std::move(own_doorbell.value), own_.token,
                  seen);
    plan_.service.add_source(std::make_shared<memory_wakeups>(channel, side));
    channel_ = channel;
    half_ = std::make_unique<memory_connection>(channel, side);
    return reason::none;
  }

  const connection_plan plan_;
  introduction own_;
  bool listed_ = false;
  std::shared_ptr<memory_channel> channel_;
  std::unique_ptr<memory_connection> half_;
};

class memory_transport final : public negotiation::transport {
 public:
  transport_kind kind() const noexcept override { return transport_kind::other; }
  std::string_view name() const noexcept override { return "memory"; }
  reason probe(const config&) override { return faults::probe(); }

  void propose(const connection_plan& plan, clc::proposal&,
               std::vector<negotiation::part>& parts) override {
    parts.push_back({std::string(name()), encode(std::uint64_t{plan.send_size})});
  }

  std::unique_ptr<negotiation::handshake> begin(const connection_plan& plan) override {
    return std::make_unique<memory_handshake>(plan);
  }
};

}  // namespace

void use_memory_transport() {
  static const bool registered = [] {
    negotiation::register_transport(std::make_unique<memory_transport>());
    return true;
  }();
  (void)registered;
}

}  // namespace smc::test
