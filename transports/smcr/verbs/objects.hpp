#pragma once
// The seam's objects over libibverbs': each owns one of them.
#include "smcr/device.hpp"
#include "smcr/verbs/library.hpp"

namespace smc::rdma::verbs {

class region final : public memory_region {
 public:
  region(const library& lib, ibv_mr* of, std::span<std::byte> bytes) noexcept
      : memory_region(bytes, of->lkey, of->rkey), lib_(lib), mr_(of) {}
  region(const region&) = delete;
  ~region() override { lib_.dereg_mr(mr_); }

 private:
  const library& lib_;
  ibv_mr* mr_;
};

class queue final : public completion_queue {
 public:
  queue(const library& lib, ibv_comp_channel* channel, ibv_cq* cq) noexcept
      : lib_(lib), channel_(channel), cq_(cq) {}
  queue(const queue&) = delete;
  ~queue() override;

  static created<completion_queue> create(const library& lib, ibv_context* context,
                                          std::uint32_t depth) noexcept;

  std::ptrdiff_t poll(std::span<completion> into) noexcept override;
  std::error_code arm(bool solicited_only) noexcept override;
  int descriptor() noexcept override { return channel_->fd; }
  void acknowledge() noexcept override;
  std::uint32_t depth() const noexcept override { return static_cast<std::uint32_t>(cq_->cqe); }

  ibv_cq* native() const noexcept { return cq_; }

 private:
  const library& lib_;
  ibv_comp_channel* channel_;
  ibv_cq* cq_;
};

class shared_receives final : public shared_receive_queue {
 public:
  shared_receives(const library& lib, ibv_srq* of) noexcept : lib_(lib), srq_(of) {}
  shared_receives(const shared_receives&) = delete;
  ~shared_receives() override { lib_.destroy_srq(srq_); }

  std::error_code post(receive_request& first, receive_request** refused) noexcept override;

  ibv_srq* native() const noexcept { return srq_; }

 private:
  const library& lib_;
  ibv_srq* srq_;
};

class pair final : public queue_pair {
 public:
  pair(const library& lib, ibv_qp* of, const queue_pair_options& granted) noexcept
      : lib_(lib), qp_(of), options_(granted) {}
  pair(const pair&) = delete;
  ~pair() override { lib_.destroy_qp(qp_); }

  std::uint32_t number() const noexcept override { return qp_->qp_num; }
  queue_pair_state state() const noexcept override;
  const queue_pair_options& options() const noexcept override { return options_; }

  std::error_code initialize(std::uint8_t port) noexcept override;
  std::error_code receive_from(const path& from) noexcept override;
  std::error_code send_with(const sending& how) noexcept override;
  std::error_code fail() noexcept override;
  std::error_code post_send(send_request& first, send_request** refused) noexcept override;
  std::error_code post_receive(receive_request& first, receive_request** refused) noexcept override;

 private:
  std::error_code modify(ibv_qp_attr& attributes, int which) noexcept;

  const library& lib_;
  ibv_qp* qp_;
  queue_pair_options options_;
  std::uint8_t port_ = 0;
};

class domain final : public protection_domain {
 public:
  domain(const library& lib, ibv_pd* of) noexcept : lib_(lib), pd_(of) {}
  domain(const domain&) = delete;
  ~domain() override { lib_.dealloc_pd(pd_); }

  created<memory_region> register_memory(std::span<std::byte> bytes,
                                         unsigned allowed) noexcept override;
  created<queue_pair> create_queue_pair(const queue_pair_options& wanted) noexcept override;
  created<shared_receive_queue> create_shared_receive_queue(
      std::uint32_t max_receives, std::uint32_t max_parts) noexcept override;

 private:
  const library& lib_;
  ibv_pd* pd_;
};

/// Made of a verbs object, or of errno where there is none; ENOMEM, after `undo`, where our own
/// object finds no memory.
template <typename Interface, typename Object, typename Native, typename Undo, typename... More>
created<Interface> wrapped(const library& lib, Native* native, Undo&& undo,
                           const More&... more) noexcept {
  if (native == nullptr) return system::last_error();
  std::unique_ptr<Interface> made(new (std::nothrow) Object(lib, native, more...));
  if (made == nullptr) {
    undo(native);
    return system::error_of(ENOMEM);
  }
  return made;
}

}  // namespace smc::rdma::verbs
