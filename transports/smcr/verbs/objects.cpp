#ifdef SMC_WITH_VERBS

#include "smcr/verbs/objects.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cstddef>
#include <new>

namespace smc::rdma::verbs {
namespace {

// Requests and completions are handed on as they are.
static_assert(sizeof(send_request) == sizeof(ibv_send_wr));
static_assert(offsetof(send_request, next) == offsetof(ibv_send_wr, next));
static_assert(offsetof(send_request, parts) == offsetof(ibv_send_wr, sg_list));
static_assert(offsetof(send_request, part_count) == offsetof(ibv_send_wr, num_sge));
static_assert(offsetof(send_request, what) == offsetof(ibv_send_wr, opcode));
static_assert(offsetof(send_request, flags) == offsetof(ibv_send_wr, send_flags));
static_assert(offsetof(send_request, remote_address) == offsetof(ibv_send_wr, wr.rdma.remote_addr));
static_assert(offsetof(send_request, rkey) == offsetof(ibv_send_wr, wr.rdma.rkey));
static_assert(sizeof(receive_request) == sizeof(ibv_recv_wr));
static_assert(offsetof(receive_request, next) == offsetof(ibv_recv_wr, next));
static_assert(offsetof(receive_request, parts) == offsetof(ibv_recv_wr, sg_list));
static_assert(offsetof(receive_request, part_count) == offsetof(ibv_recv_wr, num_sge));
static_assert(sizeof(memory_part) == sizeof(ibv_sge));
static_assert(offsetof(memory_part, length) == offsetof(ibv_sge, length));
static_assert(offsetof(memory_part, lkey) == offsetof(ibv_sge, lkey));
static_assert(sizeof(completion) == sizeof(ibv_wc));
static_assert(offsetof(completion, status) == offsetof(ibv_wc, status));
static_assert(offsetof(completion, what) == offsetof(ibv_wc, opcode));
static_assert(offsetof(completion, length) == offsetof(ibv_wc, byte_len));
static_assert(offsetof(completion, qpn) == offsetof(ibv_wc, qp_num));
static_assert(offsetof(completion, source_qpn) == offsetof(ibv_wc, src_qp));

template <typename Ours, typename Theirs>
constexpr bool same(Ours ours, Theirs theirs) noexcept {
  return static_cast<unsigned>(ours) == static_cast<unsigned>(theirs);
}
static_assert(same(operation::send, IBV_WR_SEND) && same(operation::rdma_write, IBV_WR_RDMA_WRITE));
static_assert(same(send_flag::signaled, IBV_SEND_SIGNALED) &&
              same(send_flag::solicited, IBV_SEND_SOLICITED) &&
              same(send_flag::in_line, IBV_SEND_INLINE));
static_assert(same(completed_operation::send, IBV_WC_SEND) &&
              same(completed_operation::rdma_write, IBV_WC_RDMA_WRITE) &&
              same(completed_operation::receive, IBV_WC_RECV));
static_assert(same(completion_status::flushed, IBV_WC_WR_FLUSH_ERR) &&
              same(completion_status::retry_exceeded, IBV_WC_RETRY_EXC_ERR) &&
              same(completion_status::general_error, IBV_WC_GENERAL_ERR));
static_assert(same(access::local_write, IBV_ACCESS_LOCAL_WRITE) &&
              same(access::remote_write, IBV_ACCESS_REMOTE_WRITE));
static_assert(same(mtu::b256, IBV_MTU_256) && same(mtu::b4096, IBV_MTU_4096));

std::error_code result_of(int number) noexcept {
  return number == 0 ? std::error_code{} : system::error_of(number);
}

std::error_code posted(int number, void* bad, void** refused) noexcept {
  if (number != 0 && refused != nullptr) *refused = bad;
  return result_of(number);
}

}  // namespace

// The context of a queue is our object, which events name.
created<completion_queue> queue::create(const library& lib, ibv_context* context,
                                        std::uint32_t depth) noexcept {
  // A channel of its own: the descriptor then speaks of this queue only.
  ibv_comp_channel* const channel = lib.create_comp_channel(context);
  if (channel == nullptr) return system::last_error();
  ::fcntl(channel->fd, F_SETFL, ::fcntl(channel->fd, F_GETFL) | O_NONBLOCK);
  ibv_cq* const cq = lib.create_cq(
      context, static_cast<int>(std::min<std::uint32_t>(depth, 0x7fffffff)), nullptr, channel, 0);
  if (cq == nullptr) {
    const auto error = system::last_error();
    lib.destroy_comp_channel(channel);
    return error;
  }
  std::unique_ptr<completion_queue> made(new (std::nothrow) queue(lib, channel, cq));
  if (made != nullptr) {
    cq->cq_context = made.get();
    return made;
  }
  lib.destroy_cq(cq);
  lib.destroy_comp_channel(channel);
  return system::error_of(ENOMEM);
}

queue::~queue() {
  lib_.destroy_cq(cq_);
  lib_.destroy_comp_channel(channel_);
}

std::ptrdiff_t queue::poll(std::span<completion> into) noexcept {
  return ::ibv_poll_cq(cq_, static_cast<int>(std::min<std::size_t>(into.size(), 1U << 20)),
                       reinterpret_cast<ibv_wc*>(into.data()));
}

std::error_code queue::arm(bool solicited_only) noexcept {
  return result_of(::ibv_req_notify_cq(cq_, solicited_only ? 1 : 0));
}

void queue::acknowledge() noexcept {
  ibv_cq* which = nullptr;
  void* unused = nullptr;
  unsigned events = 0;
  while (lib_.get_cq_event(channel_, &which, &unused) == 0) ++events;
  // A queue can't be destroyed before all of its events were acknowledged.
  if (events != 0) lib_.ack_cq_events(cq_, events);
}

std::error_code shared_receives::post(receive_request& first, receive_request** refused) noexcept {
  ibv_recv_wr* bad = nullptr;
  return posted(::ibv_post_srq_recv(srq_, reinterpret_cast<ibv_recv_wr*>(&first), &bad), bad,
                reinterpret_cast<void**>(refused));
}

std::error_code pair::modify(ibv_qp_attr& attributes, int which) noexcept {
  return result_of(lib_.modify_qp(qp_, &attributes, which | IBV_QP_STATE));
}

queue_pair_state pair::state() const noexcept {
  switch (qp_->state) {
    case IBV_QPS_RESET:
      return queue_pair_state::reset;
    case IBV_QPS_INIT:
      return queue_pair_state::init;
    case IBV_QPS_RTR:
      return queue_pair_state::ready_to_receive;
    case IBV_QPS_RTS:
      return queue_pair_state::ready_to_send;
    default:
      return queue_pair_state::error;
  }
}

std::error_code pair::initialize(std::uint8_t port) noexcept {
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_INIT;
  a.port_num = port;
  a.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  const auto error = modify(a, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  if (!error) port_ = port;
  return error;
}

std::error_code pair::receive_from(const path& from) noexcept {
  if (from.own_gid_index > 255) return system::error_of(EINVAL);
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_RTR;
  a.path_mtu = static_cast<ibv_mtu>(from.path_mtu);
  a.dest_qp_num = from.remote_qpn;
  a.rq_psn = from.receive_psn;
  a.max_dest_rd_atomic = 1;
  a.min_rnr_timer = from.min_rnr_timer;
  a.ah_attr.is_global = 1;
  a.ah_attr.port_num = port_;
  a.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(from.own_gid_index);
  a.ah_attr.grh.hop_limit = from.hop_limit;
  std::transform(from.remote_gid.begin(), from.remote_gid.end(), a.ah_attr.grh.dgid.raw,
                 [](std::byte b) { return std::to_integer<std::uint8_t>(b); });
  return modify(a, IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

std::error_code pair::send_with(const sending& how) noexcept {
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_RTS;
  a.sq_psn = how.send_psn;
  a.timeout = how.timeout;
  a.retry_cnt = how.retries;
  a.rnr_retry = how.rnr_retries;
  a.max_rd_atomic = 1;
  return modify(a, IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                       IBV_QP_MAX_QP_RD_ATOMIC);
}

std::error_code pair::fail() noexcept {
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_ERR;
  return modify(a, 0);
}

std::error_code pair::post_send(send_request& first, send_request** refused) noexcept {
  ibv_send_wr* bad = nullptr;
  return posted(::ibv_post_send(qp_, reinterpret_cast<ibv_send_wr*>(&first), &bad), bad,
                reinterpret_cast<void**>(refused));
}

std::error_code pair::post_receive(receive_request& first, receive_request** refused) noexcept {
  ibv_recv_wr* bad = nullptr;
  return posted(::ibv_post_recv(qp_, reinterpret_cast<ibv_recv_wr*>(&first), &bad), bad,
                reinterpret_cast<void**>(refused));
}

created<memory_region> domain::register_memory(std::span<std::byte> bytes,
                                               unsigned allowed) noexcept {
  return wrapped<memory_region, region>(
      lib_, lib_.reg_mr(pd_, bytes.data(), bytes.size(), static_cast<int>(allowed)),
      [this](ibv_mr* mr) { lib_.dereg_mr(mr); }, bytes);
}

created<queue_pair> domain::create_queue_pair(const queue_pair_options& wanted) noexcept {
  if (wanted.sends == nullptr || wanted.receives == nullptr) return system::error_of(EINVAL);
  ibv_qp_init_attr a{};
  a.send_cq = static_cast<queue*>(wanted.sends)->native();
  a.recv_cq = static_cast<queue*>(wanted.receives)->native();
  if (wanted.shared != nullptr) a.srq = static_cast<shared_receives*>(wanted.shared)->native();
  a.qp_type = IBV_QPT_RC;
  a.cap.max_send_wr = wanted.max_sends;
  a.cap.max_recv_wr = wanted.shared == nullptr ? wanted.max_receives : 0;
  a.cap.max_send_sge = wanted.max_send_parts;
  a.cap.max_recv_sge = wanted.shared == nullptr ? wanted.max_receive_parts : 0;
  a.cap.max_inline_data = wanted.max_inline;
  ibv_qp* const qp = lib_.create_qp(pd_, &a);
  queue_pair_options granted = wanted;
  granted.max_sends = a.cap.max_send_wr;
  granted.max_receives = a.cap.max_recv_wr;
  granted.max_send_parts = a.cap.max_send_sge;
  granted.max_receive_parts = a.cap.max_recv_sge;
  granted.max_inline = a.cap.max_inline_data;
  return wrapped<queue_pair, pair>(
      lib_, qp, [this](ibv_qp* one) { lib_.destroy_qp(one); }, granted);
}

created<shared_receive_queue> domain::create_shared_receive_queue(
    std::uint32_t max_receives, std::uint32_t max_parts) noexcept {
  ibv_srq_init_attr a{};
  a.attr.max_wr = max_receives;
  a.attr.max_sge = max_parts;
  ibv_srq* const srq = lib_.create_srq(pd_, &a);
  auto made = wrapped<shared_receive_queue, shared_receives>(
      lib_, srq, [this](ibv_srq* one) { lib_.destroy_srq(one); });
  if (made) srq->srq_context = made.value.get();
  return made;
}

}  // namespace smc::rdma::verbs

#endif
