#include "smcr/simulator/requester.hpp"

#include <algorithm>
#include <cstring>

#include "smcr/simulator/adapter.hpp"
#include "smcr/simulator/completion_queue.hpp"
#include "smcr/simulator/domain.hpp"
#include "smcr/simulator/network.hpp"
#include "smcr/simulator/queue_pair.hpp"

namespace smc::rdma::simulator {
namespace {

// Half of the sequence numbers: more on the way could not be told from what was.
constexpr std::uint64_t window = 1U << 22;
constexpr std::uint8_t for_ever = 7;

}  // namespace

void requester::start(const sending& how) noexcept {
  how_ = how;
  retries_ = how.retries;
  rnr_retries_ = how.rnr_retries;
}

std::uint32_t requester::psn_of(packet_number n) const noexcept {
  return psn_after(how_.send_psn, n & max_24_bits);
}

requester::packet_number requester::number_of(std::uint32_t psn) const noexcept {
  // Numbers before the first wrap around and are then beyond all that was sent.
  return unacknowledged_ +
         static_cast<packet_number>(std::int64_t{psn_distance(psn_of(unacknowledged_), psn)});
}

std::error_code requester::take_inline(request& to) const {
  if (to.length > owner_.options().max_inline) return system::error_of(EINVAL);
  to.inline_bytes.resize(to.length);
  std::size_t at = 0;
  for (const memory_part& p : to.parts) {
    if (p.length == 0) continue;
    std::memcpy(to.inline_bytes.data() + at, reinterpret_cast<const void*>(p.address), p.length);
    at += p.length;
  }
  return {};
}

std::error_code requester::post(const send_request& from) {
  const queue_pair_options& options = owner_.options();
  if (from.part_count < 0 || static_cast<std::uint32_t>(from.part_count) > options.max_send_parts ||
      (from.what != operation::send && from.what != operation::rdma_write)) {
    return system::error_of(EINVAL);
  }
  if (completed_ + requests_.size() - freed_ >= options.max_sends) return system::error_of(ENOMEM);

  request r;
  r.id = from.id;
  r.what = from.what;
  r.flags = from.flags;
  r.remote_address = from.remote_address;
  r.rkey = from.rkey;
  r.parts.assign(from.parts, from.parts + from.part_count);
  for (const memory_part& p : r.parts) r.length += p.length;
  if ((r.flags & send_flag::in_line) != 0) {
    if (const auto error = take_inline(r)) return error;
  }
  r.first = next_;
  r.packets = packets_of(r.length, owner_.path().path_mtu);
  next_ += r.packets;
  requests_.push_back(std::move(r));
  return {};
}

void requester::released(std::uint64_t count) noexcept { freed_ = std::max(freed_, count); }

bool requester::has_to_send() const noexcept {
  return owner_.state() == queue_pair_state::ready_to_send && !paused_ && !unreadable_ &&
         to_send_ < next_ && to_send_ - unacknowledged_ < window;
}

bool requester::gather(const request& r, std::uint64_t offset,
                       std::span<std::byte> into) const noexcept {
  if ((r.flags & send_flag::in_line) != 0) {
    std::copy_n(r.inline_bytes.begin() + static_cast<std::ptrdiff_t>(offset), into.size(),
                into.begin());
    return true;
  }
  const memory_table& memory = owner_.owner().memory();
  for (const memory_part& part : r.parts) {
    const std::byte* from = memory.local(owner_.of(), part, access::local_read_only);
    if (from == nullptr) return false;
    if (offset >= part.length) {
      offset -= part.length;
      continue;
    }
    const auto n = std::min<std::size_t>(part.length - offset, into.size());
    std::copy_n(from + offset, n, into.begin());
    into = into.subspan(n);
    offset = 0;
  }
  return into.empty();
}

std::optional<message> requester::next_message() {
  if (!has_to_send()) return std::nullopt;
  const auto found =
      std::upper_bound(requests_.begin(), requests_.end(), to_send_,
                       [](packet_number n, const request& r) { return n < r.first; }) -
      1;
  const request& r = *found;
  const std::size_t packet = bytes_of(owner_.path().path_mtu);
  const std::uint64_t offset = (to_send_ - r.first) * packet;
  std::uint64_t length = r.length - offset;
  if (r.what == operation::rdma_write) {
    const std::uint64_t turn = owner_.via().options().link.turn / packet * packet;
    length = std::min(length, std::max<std::uint64_t>(turn, packet));
  }

  message m;
  m.route = owner_.route();
  m.what = r.what;
  m.solicited = (r.flags & send_flag::solicited) != 0;
  m.psn = psn_of(to_send_);
  m.packets = packets_of(length, owner_.path().path_mtu);
  m.path_mtu = owner_.path().path_mtu;
  m.rkey = r.rkey;
  m.remote_address = r.remote_address + offset;
  m.write_address = r.remote_address;
  m.write_length = r.length;
  m.bytes.resize(length);
  if (!gather(r, offset, m.bytes)) {
    unreadable_ = completed_ + static_cast<std::uint64_t>(found - requests_.begin());
    fail_front_if_unreadable();
    return std::nullopt;
  }
  if (to_send_ < most_sent_) ++owner_.owner().counted().retransmissions;
  to_send_ += m.packets;
  most_sent_ = std::max(most_sent_, to_send_);
  if (!timer_) await_answer();
  return m;
}

void requester::answered(const reply& r) {
  if (owner_.state() != queue_pair_state::ready_to_send) return;
  const packet_number n = number_of(r.psn);
  // Old news, or about what was never sent.
  if (n < unacknowledged_ || n > most_sent_) return;
  acknowledge_before(n);
  if (requests_.empty()) return;
  switch (r.what) {
    case answer::acknowledged:
      return;
    case answer::out_of_sequence:
      if (n < most_sent_ && use_retry()) send_again_from(n);
      return;
    case answer::not_ready:
      wait_for_receiver(n, rnr_delay(r.rnr_timer));
      return;
    case answer::invalid_request:
      return fail_front(completion_status::remote_invalid_request);
    case answer::access_error:
      return fail_front(completion_status::remote_access_error);
    case answer::operation_error:
      return fail_front(completion_status::remote_operation_error);
  }
}

void requester::acknowledge_before(packet_number n) {
  if (n == unacknowledged_) return;
  unacknowledged_ = n;
  to_send_ = std::max(to_send_, n);
  retries_ = how_.retries;
  rnr_retries_ = how_.rnr_retries;
  stop_timer();
  if (paused_) resume();
  while (!requests_.empty() && requests_.front().first + requests_.front().packets <= n) {
    complete_front(completion_status::success);
  }
  fail_front_if_unreadable();
  if (unacknowledged_ < to_send_ && !requests_.empty()) await_answer();
  // The window may have been full.
  if (has_to_send()) owner_.via().enqueue(owner_.number());
}

void requester::complete_front(completion_status status) {
  const request r = std::move(requests_.front());
  requests_.pop_front();
  ++completed_;
  if (status == completion_status::success && (r.flags & send_flag::signaled) == 0) return;
  completion c;
  c.id = r.id;
  c.status = status;
  c.what = r.what == operation::send ? completed_operation::send : completed_operation::rdma_write;
  c.qpn = owner_.number();
  owner_.send_queue().add(c, {false, completed_}, false);
}

void requester::fail_front(completion_status status) {
  complete_front(status);
  owner_.break_down();
}

void requester::fail_front_if_unreadable() {
  if (unreadable_ == completed_ && !requests_.empty()) {
    fail_front(completion_status::local_protection_error);
  }
}

void requester::send_again_from(packet_number n) {
  to_send_ = n;
  unreadable_.reset();
  stop_timer();
  owner_.via().enqueue(owner_.number());
}

// One more attempt; false where there is none left, and the queue pair went to error.
bool requester::use_retry() {
  if (retries_ == 0) {
    fail_front(completion_status::retry_exceeded);
    return false;
  }
  --retries_;
  return true;
}

void requester::start_timer(moment delay, void (requester::*what)()) {
  stop_timer();
  timer_ = owner_.owner().net().events().after(delay, [this, what] {
    timer_.reset();
    (this->*what)();
  });
}

void requester::stop_timer() noexcept {
  if (timer_) owner_.owner().net().events().cancel(*timer_);
  timer_.reset();
}

void requester::await_answer() {
  const moment limit = acknowledgement_timeout(how_.timeout);
  if (limit > moment(0)) start_timer(limit, &requester::timed_out);
}

void requester::timed_out() {
  if (!requests_.empty() && use_retry()) send_again_from(unacknowledged_);
}

void requester::wait_for_receiver(packet_number n, moment delay) {
  if (how_.rnr_retries != for_ever) {
    if (rnr_retries_ == 0) return fail_front(completion_status::receiver_not_ready_exceeded);
    --rnr_retries_;
  }
  to_send_ = n;
  unreadable_.reset();
  paused_ = true;
  start_timer(delay, &requester::resume);
}

void requester::resume() {
  paused_ = false;
  if (has_to_send()) owner_.via().enqueue(owner_.number());
}

void requester::flush(bool silent) {
  stop_timer();
  while (!requests_.empty()) {
    if (silent) {
      requests_.pop_front();
    } else {
      complete_front(completion_status::flushed);
    }
  }
}

}  // namespace smc::rdma::simulator
