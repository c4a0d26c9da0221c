#include "negotiation/link.hpp"

#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <asio/error.hpp>
#include <atomic>

#include "system/events.hpp"
#include "system/sockets.hpp"

namespace smc::negotiation {

namespace {

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

/// One file is the other. Since 6.9 (pidfs) true for pidfds of one process only; before, for all
/// that are one.
bool same_file(int a, int b) {
  struct stat first {};
  struct stat second {};
  return ::fstat(a, &first) == 0 && ::fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

// A peer that sends as fast as we read would keep us for ever. As much as can be there when a look
// begins is enough for one look; what is left wakes the context again.
constexpr std::size_t most_mail_of_a_look = mailbox_capacity / envelope_header_size;
constexpr std::size_t most_messages_of_a_look =
    1024;  // the kernel's own limit for a socket is lower

}  // namespace

/// Tells attachments that the peer is gone. Waiting operations hear of it, and may run handlers:
/// not inside the exclusive section.
class link::farewell final : public detail::deferred_call {
 public:
  decltype(link::attachments_) gone;
  void run() noexcept override {
    for (const auto& [key, attachment] : gone) attachment->peer_gone();
  }
};

link::link(detail::context_service& service, system::descriptor socket, link_handler* handler)
    : service_(service),
      socket_(std::move(socket)),
      handler_(handler),
      id_(next_id()),
      farewell_(std::make_unique<farewell>()) {}

link::~link() {
  handler_ = nullptr;
  close();
}

std::error_code link::open() {
  auto credentials = system::peer_credentials(socket_);
  if (!credentials) return credentials.error;
  peer_.type = peer_identity::kind::local;
  peer_.uid = credentials.value.uid;
  same_process_ = credentials.value.pid == ::getpid();
  peer_.gid = credentials.value.gid;
  peer_.pid = credentials.value.pid;
  peer_.description =
      "process " + std::to_string(peer_.pid) + " of user " + std::to_string(peer_.uid);
  // Whoever can't introduce itself is not to keep its peer waiting for what it can't say.
  auto self = system::open_process(::getpid());
  if (!self) return self.error;
  own_process_ = std::move(self.value);
  return service_.watch(socket_.get(), *this, EPOLLIN | EPOLLRDHUP);
}

std::error_code link::send(const message& what, std::span<const int> descriptors,
                           urgency when) noexcept try {
  while (!unsent_.empty()) {
    if (const auto error = send_now(unsent_.front(), {}, urgency::with_the_next)) return error;
    unsent_.erase(unsent_.begin());
  }
  return send_now(what, descriptors, when);
} catch (const std::bad_alloc&) {
  return asio::error::no_memory;
}

void link::send_sometime(const message& what) noexcept try {
  if (send(what) && socket_) unsent_.push_back(what);
} catch (const std::bad_alloc&) {  // the peer's patience ends the attempt there
}

std::error_code link::send_now(const message& what, std::span<const int> descriptors,
                               urgency when) {
  if (!socket_) return asio::error::connection_reset;
  envelope_header header;
  header.number = sent_;
  std::vector<int> all;
  if (sent_ == 0) {
    all.push_back(own_process_.get());
    open_mailbox(all, header.introduces_mailbox);
  }
  all.insert(all.end(), descriptors.begin(), descriptors.end());
  encode(what, buffer_, header);
  std::error_code error;
  if (!all.empty() || !mail_sender_.attached() ||
      !mail_sender_.send(buffer_, when == urgency::now)) {
    error = system::send_message(socket_, buffer_, all).error;
  }
  if (!error) {
    ++sent_;
    own_process_.reset();
  }
  return error;
}

/// Without a mailbox the peer goes on using the socket.
void link::open_mailbox(std::vector<int>& introduction, bool& introduces) {
  int doorbell = -1;
  if (service_.doorbell(doorbell)) return;
  if (!mail_) {
    auto made = std::make_shared<mail_source>(*this);
    if (made->box.create(system::memory_budget::process()) != reason::none) return;
    service_.add_source(made);
    mail_ = std::move(made);
  }
  introduction.push_back(mail_->box.file().get());
  introduction.push_back(doorbell);
  introduces = true;
}

bool link::mail_source::poll() noexcept {
  if (finished() || stale() || !box.has_mail()) return false;
  service_.exclusively([this] {
    if (link* const owner = owner_.load(std::memory_order_relaxed)) owner->receive_mail();
  });
  return true;
}

void link::close() noexcept {
  if (!socket_) return;
  if (mail_) mail_->end();
  service_.unwatch(socket_.get());
  if (peer_process_) service_.unwatch(peer_process_.get());
  socket_.reset();
  peer_process_.reset();
  if (attachments_.empty()) return;
  farewell_->gone.swap(attachments_);
  service_.defer_prepared(std::move(farewell_));
}

void link::abandon() noexcept {
  handler_ = nullptr;
  attachments_.clear();
  close();
}

bool link::in_use() const noexcept {
  for (const auto& [key, what] : attachments_) {
    if (what->in_use()) return true;
  }
  return false;
}

std::shared_ptr<link_attachment> link::attachment(const void* owner, std::uint32_t number) const {
  const auto found = attachments_.find({owner, number});
  return found == attachments_.end() ? nullptr : found->second;
}

void link::attach(const void* owner, std::uint32_t number, std::shared_ptr<link_attachment> what) {
  attachments_[{owner, number}] = std::move(what);
}

void link::process_ended() noexcept {
  // What the peer sent before it died is still in the socket, and counts.
  on_event(EPOLLIN | EPOLLHUP);
}

void link::on_event(std::uint32_t events) noexcept {
  const auto keep = shared_from_this();
  receive_mail();
  try {
    for (std::size_t n = 0; n < most_messages_of_a_look && socket_ && receive_one(turn::any); ++n) {
    }
  } catch (const std::bad_alloc&) {
    end(reason::no_memory);
  }
  if ((events & (EPOLLHUP | EPOLLRDHUP | EPOLLERR)) == 0) return;
  receive_mail();
  end(reason::none);
}

void link::receive_mail() noexcept {
  const auto keep = shared_from_this();
  try {
    for (std::size_t n = 0; n < most_mail_of_a_look && socket_ && take_mail(turn::any); ++n) {
    }
  } catch (const std::bad_alloc&) {
    end(reason::no_memory);
  }
}

bool link::take_mail(turn expected) {
  if (!mail_ || !mail_->box.has_mail()) return false;
  std::array<std::byte, max_message_size> bytes;
  std::size_t size = 0;
  switch (mail_->box.take(bytes, size)) {
    case mailbox::outcome::none:
      return false;
    case mailbox::outcome::taken:
      return handle(std::span(bytes).first(size), {}, way::mail, expected);
    case mailbox::outcome::violation:
      end(reason::protocol_error);
  }
  return false;
}

bool link::receive_one(turn expected) {
  std::array<std::byte, max_message_size> bytes;
  auto got = system::receive_message(socket_, bytes);
  if (!got && got.error == asio::error::would_block) return false;
  if (!got || got.value.bytes == 0) {
    receive_mail();
    // What could not be taken in may have been a message.
    const bool hung_up = got || got.error == asio::error::connection_reset;
    end(hung_up ? reason::none : reason::no_memory);
    return false;
  }
  auto& in = got.value;
  // Later messages are for the handler even so: it must not take a confirmation for none at all.
  const bool unintroduced = in.descriptors_lost && !received_identity_;
  if (in.truncated || unintroduced) {
    end(in.truncated ? reason::protocol_error : reason::descriptor_limit);
    return false;
  }
  return handle(std::span(bytes).first(in.bytes),
                std::span(in.descriptors.data(), in.descriptor_count), way::socket, expected);
}

bool link::handle(std::span<const std::byte> packet, std::span<system::descriptor> descriptors,
                  way by, turn expected) {
  const auto decoded = decode(packet);
  reason why = decoded ? reason::none : decoded.error();
  if (why == reason::none) {
    const envelope_header header = header_of(packet);
    // Those before it all came the other way, in order: what is fetched from there must be the
    // next, else two messages would wait for each other, and behind them as many as the peer likes.
    while (expected == turn::any && socket_ &&
           static_cast<std::int32_t>(header.number - received_) > 0 &&
           (by == way::mail ? receive_one(turn::next) : take_mail(turn::next))) {
    }
    if (!socket_) return false;
    if (received_ != header.number) why = reason::protocol_error;
    if (why == reason::none && !received_identity_) {
      why = descriptors.empty() ? reason::protocol_error : take_peer_process(descriptors.front());
      if (why == reason::none) descriptors = descriptors.subspan(1);
      if (why == reason::none && header.introduces_mailbox) why = take_peer_mailbox(descriptors);
    }
  }
  if (why != reason::none) {
    end(why);
    return false;
  }
  ++received_;
  if (handler_) handler_->received(*this, *decoded, descriptors);
  return true;
}

/// Hangs up; the handler hears of it, and of what the peer did wrong.
void link::end(reason why) noexcept {
  if (!socket_) return;
  if (why != reason::none && handler_) handler_->violated(*this, why);
  close();
  if (handler_) handler_->ended(*this);
}

reason link::take_peer_process(system::descriptor& sent) {
  if (auto vouched = system::peer_process(socket_);
      vouched && !same_file(vouched.value.get(), sent.get())) {
    return reason::protocol_error;
  }
  received_identity_ = true;
  peer_process_ = std::move(sent);
  return service_.watch(peer_process_.get(), process_watcher_, EPOLLIN) ? reason::protocol_error
                                                                        : reason::none;
}

reason link::take_peer_mailbox(std::span<system::descriptor>& descriptors) {
  if (descriptors.size() < 2) return reason::protocol_error;
  const reason why = mail_sender_.attach(std::move(descriptors[0]), std::move(descriptors[1]),
                                         system::memory_budget::process());
  descriptors = descriptors.subspan(2);
  // Where only this side can't have it, the socket does.
  return why == reason::protocol_error || why == reason::version_mismatch ? why : reason::none;
}

}  // namespace smc::negotiation
