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

/// Two pidfds that the kernel can tell apart (pidfs, since 6.9) and that name different processes.
bool name_different_processes(int a, int b) {
  struct stat first{};
  struct stat second{};
  return ::fstat(a, &first) == 0 && ::fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino != second.st_ino;
}

}  // namespace

link::link(detail::context_service& service, system::descriptor socket, link_handler* handler)
    : service_(service), socket_(std::move(socket)), handler_(handler), id_(next_id()) {}

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
  peer_.description = "process " + std::to_string(peer_.pid) + " of user " + std::to_string(peer_.uid);
  return service_.watch(socket_.get(), *this);
}

std::error_code link::send(const message& what, std::span<const int> descriptors) {
  if (!socket_) return asio::error::connection_reset;
  encode(what, buffer_);
  std::vector<int> all;
  system::descriptor self;
  if (!sent_identity_) {
    auto opened = system::open_process(::getpid());
    if (!opened) return opened.error;
    self = std::move(opened.value);
    all.push_back(self.get());
    sent_identity_ = true;
  }
  all.insert(all.end(), descriptors.begin(), descriptors.end());
  return system::send_message(socket_, buffer_, all).error;
}

void link::close() noexcept {
  if (!socket_) return;
  service_.unwatch(socket_.get());
  if (peer_process_) service_.unwatch(peer_process_.get());
  socket_.reset();
  peer_process_.reset();
  std::vector<std::shared_ptr<link_attachment>> gone;
  for (auto& [key, what] : attachments_) gone.push_back(std::move(what));
  attachments_.clear();
  // Waiting operations are told, and may run handlers: not in here.
  if (!gone.empty()) {
    service_.defer([gone = std::move(gone)] {
      for (const auto& attachment : gone) attachment->peer_gone();
    });
  }
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
  bool more = true;
  while (more && socket_) {
    try {
      more = receive_one();
    } catch (const std::bad_alloc&) {
      if (handler_) handler_->violated(*this, reason::no_memory);
      break;
    }
  }
  if (socket_ && (events & (EPOLLHUP | EPOLLRDHUP | EPOLLERR)) != 0) {
    close();
    if (handler_) handler_->ended(*this);
  }
}

/// False: there is nothing (more) to receive now.
bool link::receive_one() {
  std::array<std::byte, max_message_size> bytes;
  auto got = system::receive_message(socket_, bytes);
  if (!got) {
    if (got.error == asio::error::would_block) return false;
    close();
    if (handler_) handler_->ended(*this);
    return false;
  }
  auto& in = got.value;
  if (in.bytes == 0) {
    close();
    if (handler_) handler_->ended(*this);
    return false;
  }
  reason why = in.truncated ? reason::protocol_error : reason::none;
  std::span<system::descriptor> descriptors(in.descriptors.data(), in.descriptor_count);
  if (why == reason::none && !received_identity_) {
    why = descriptors.empty() ? reason::protocol_error : take_peer_process(descriptors.front());
    if (why == reason::none) descriptors = descriptors.subspan(1);
  }
  if (why == reason::none) {
    const auto decoded = decode(std::span(bytes).first(in.bytes));
    if (decoded) {
      if (handler_) handler_->received(*this, *decoded, descriptors);
      return true;
    }
    why = decoded.error();
  }
  if (handler_) handler_->violated(*this, why);
  close();
  if (handler_) handler_->ended(*this);
  return false;
}

reason link::take_peer_process(system::descriptor& sent) {
  if (auto vouched = system::peer_process(socket_);
      vouched && name_different_processes(vouched.value.get(), sent.get())) {
    return reason::protocol_error;
  }
  received_identity_ = true;
  peer_process_ = std::move(sent);
  return service_.watch(peer_process_.get(), process_watcher_) ? reason::protocol_error : reason::none;
}

}  // namespace smc::negotiation
