#ifdef SMC_WITH_VERBS

#include "smcr/verbs/device.hpp"

#include <fcntl.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <new>

#include "smcr/verbs/objects.hpp"
#include "system/descriptor.hpp"

namespace smc::rdma::verbs {
namespace {

constexpr std::uint32_t at_least_zero(int number) noexcept {
  return number < 0 ? 0 : static_cast<std::uint32_t>(number);
}

// Zeroes where the interface is gone.
mac_address mac_of(std::uint32_t interface_index) noexcept {
  mac_address mac{};
  ifreq request{};
  if (::if_indextoname(interface_index, request.ifr_name) == nullptr) return mac;
  const auto socket = system::descriptor::adopt(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (socket && ::ioctl(socket.value.get(), SIOCGIFHWADDR, &request) == 0) {
    std::memcpy(mac.data(), request.ifr_hwaddr.sa_data, mac.size());
  }
  return mac;
}

event_kind kind_of(ibv_event_type type) noexcept {
  switch (type) {
    case IBV_EVENT_CQ_ERR:
      return event_kind::completion_queue_error;
    case IBV_EVENT_QP_FATAL:
      return event_kind::queue_pair_fatal;
    case IBV_EVENT_QP_REQ_ERR:
      return event_kind::queue_pair_request_error;
    case IBV_EVENT_QP_ACCESS_ERR:
      return event_kind::queue_pair_access_error;
    case IBV_EVENT_COMM_EST:
      return event_kind::communication_established;
    case IBV_EVENT_QP_LAST_WQE_REACHED:
      return event_kind::last_request_reached;
    case IBV_EVENT_SRQ_ERR:
      return event_kind::shared_receive_queue_error;
    case IBV_EVENT_PORT_ACTIVE:
      return event_kind::port_active;
    case IBV_EVENT_PORT_ERR:
      return event_kind::port_error;
    case IBV_EVENT_GID_CHANGE:
      return event_kind::gid_change;
    case IBV_EVENT_DEVICE_FATAL:
      return event_kind::device_fatal;
    default:
      return event_kind::other;
  }
}

}  // namespace

std::error_code opened::prepare() {
  // Events are looked for, not waited for.
  ::fcntl(context_->async_fd, F_SETFL, ::fcntl(context_->async_fd, F_GETFL) | O_NONBLOCK);
  ibv_device_attr a{};
  if (const int error = lib_.query_device(context_, &a)) return system::error_of(error);
  attributes_.name = lib_.get_device_name(context_->device);
  attributes_.node_guid = lib_.get_device_guid(context_->device);
  if constexpr (std::endian::native == std::endian::little) {
    attributes_.node_guid = __builtin_bswap64(attributes_.node_guid);
  }
  attributes_.ports = a.phys_port_cnt;
  attributes_.max_queue_pairs = at_least_zero(a.max_qp);
  attributes_.max_requests = at_least_zero(a.max_qp_wr);
  attributes_.max_parts = at_least_zero(a.max_sge);
  attributes_.max_completion_queues = at_least_zero(a.max_cq);
  attributes_.max_completions = at_least_zero(a.max_cqe);
  attributes_.max_domains = at_least_zero(a.max_pd);
  attributes_.max_regions = at_least_zero(a.max_mr);
  attributes_.max_region_size = a.max_mr_size;
  attributes_.max_shared_receive_queues = at_least_zero(a.max_srq);
  attributes_.max_shared_receives = at_least_zero(a.max_srq_wr);
  return {};
}

// As the header's inline function has it, which would need the symbol.
std::error_code opened::query(std::uint8_t number, ibv_port_attr& into) const noexcept {
  into = {};
  const verbs_context* const extended = verbs_get_ctx(context_);
  const bool knows = extended != nullptr &&
                     extended->sz >= sizeof *extended - offsetof(verbs_context, query_port) &&
                     extended->query_port != nullptr;
  const int error =
      knows ? extended->query_port(context_, number, &into, sizeof into)
            : lib_.query_port(context_, number, reinterpret_cast<_compat_ibv_port_attr*>(&into));
  return error == 0 ? std::error_code{} : system::error_of(error);
}

system::result<port_attributes> opened::port(std::uint8_t number) const noexcept {
  ibv_port_attr a;
  if (const auto error = query(number, a)) return error;
  port_attributes result;
  result.state = static_cast<port_state>(a.state);
  result.active_mtu = mtu_of_code(static_cast<std::uint8_t>(a.active_mtu)).value_or(mtu::b256);
  result.max_mtu = mtu_of_code(static_cast<std::uint8_t>(a.max_mtu)).value_or(mtu::b256);
  result.ethernet = a.link_layer == IBV_LINK_LAYER_ETHERNET;
  return result;
}

system::result<std::vector<gid_entry>> opened::gids(std::uint8_t port_number) const noexcept try {
  ibv_port_attr a;
  if (const auto error = query(port_number, a)) return error;
  // The table is that of all ports.
  std::size_t lines = 0;
  for (std::uint8_t p = 1; p <= attributes_.ports; ++p) {
    if (const auto error = query(p, a)) return error;
    lines += at_least_zero(a.gid_tbl_len);
  }
  std::vector<ibv_gid_entry> table(lines);
  const auto count =
      lib_.query_gid_table(context_, table.data(), table.size(), 0, sizeof(ibv_gid_entry));
  if (count < 0) return system::error_of(static_cast<int>(-count));
  table.resize(static_cast<std::size_t>(count));
  std::vector<gid_entry> result;
  for (const ibv_gid_entry& line : table) {
    if (line.port_num != port_number) continue;
    gid_entry e;
    std::memcpy(e.gid.data(), line.gid.raw, e.gid.size());
    e.index = line.gid_index;
    e.type = static_cast<gid_type>(line.gid_type);
    e.interface_index = line.ndev_ifindex;
    e.mac = mac_of(line.ndev_ifindex);
    result.push_back(e);
  }
  return result;
} catch (const std::bad_alloc&) {
  return system::error_of(ENOMEM);
}

created<protection_domain> opened::allocate_domain() noexcept {
  return wrapped<protection_domain, domain>(lib_, lib_.alloc_pd(context_),
                                            [this](ibv_pd* pd) { lib_.dealloc_pd(pd); });
}

created<completion_queue> opened::create_completion_queue(std::uint32_t depth) noexcept {
  return queue::create(lib_, context_, depth);
}

std::size_t opened::poll_events(std::span<asynchronous_event> into) noexcept {
  std::size_t n = 0;
  ibv_async_event event;
  while (n < into.size() && lib_.get_async_event(context_, &event) == 0) {
    asynchronous_event& e = into[n++];
    e = {kind_of(event.event_type), 0, 0, nullptr};
    switch (e.kind) {
      case event_kind::port_active:
      case event_kind::port_error:
      case event_kind::gid_change:
        e.port = static_cast<std::uint8_t>(event.element.port_num);
        break;
      case event_kind::queue_pair_fatal:
      case event_kind::queue_pair_request_error:
      case event_kind::queue_pair_access_error:
      case event_kind::communication_established:
      case event_kind::last_request_reached:
        e.qpn = event.element.qp->qp_num;
        break;
      case event_kind::completion_queue_error:
        e.object = event.element.cq->cq_context;
        break;
      case event_kind::shared_receive_queue_error:
        e.object = event.element.srq->srq_context;
        break;
      case event_kind::device_fatal:
      case event_kind::other:
        break;
    }
    // At once, or the object could not be destroyed.
    lib_.ack_async_event(&event);
  }
  return n;
}

}  // namespace smc::rdma::verbs

#endif
