#include "system/socket_owner.hpp"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>

#include "system/sockets.hpp"

namespace smc::system {

namespace {

struct question {
  nlmsghdr header;
  inet_diag_req_v2 what;
};

void store(const asio::ip::tcp::endpoint& from, __be32 (&address)[4], __be16& port) noexcept {
  if (from.address().is_v4()) {
    const auto bytes = from.address().to_v4().to_bytes();
    std::memcpy(address, bytes.data(), bytes.size());
  } else {
    const auto bytes = from.address().to_v6().to_bytes();
    std::memcpy(address, bytes.data(), bytes.size());
  }
  port = htons(from.port());
}

question about(const asio::ip::tcp::endpoint& local,
               const asio::ip::tcp::endpoint& remote) noexcept {
  question q{};
  q.header.nlmsg_len = sizeof q;
  q.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  q.header.nlmsg_flags = NLM_F_REQUEST;
  q.what.sdiag_family = static_cast<__u8>(local.protocol().family());
  q.what.sdiag_protocol = IPPROTO_TCP;
  q.what.idiag_states = ~__u32{0};
  store(local, q.what.id.idiag_src, q.what.id.idiag_sport);
  store(remote, q.what.id.idiag_dst, q.what.id.idiag_dport);
  if (local.address().is_v6()) {
    q.what.id.idiag_if = static_cast<__u32>(local.address().to_v6().scope_id());
  }
  q.what.id.idiag_cookie[0] = q.what.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  return q;
}

template <typename T>
T content_of(std::span<const std::byte> message) noexcept {
  T content;
  std::memcpy(&content, message.data() + NLMSG_HDRLEN, sizeof content);
  return content;
}

}  // namespace

result<uid_t> owner_of_socket(const asio::ip::tcp::endpoint& local,
                              const asio::ip::tcp::endpoint& remote) noexcept {
  // Not to wait: the answer is there when the question was sent.
  const auto kernel = create_socket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG, true);
  if (!kernel) return kernel.error;
  const question q = about(local, remote);
  const auto sent = send_message(kernel.value, std::as_bytes(std::span(&q, 1)), {});
  if (!sent) return sent.error;
  std::array<std::byte, 4096> memory;  // an answer with everything that may be appended
  const auto received = receive_message(kernel.value, memory);
  if (!received) return received.error;

  const auto answer = std::span<const std::byte>(memory).first(received.value.bytes);
  nlmsghdr header{};
  if (answer.size() >= NLMSG_HDRLEN) std::memcpy(&header, answer.data(), sizeof header);
  const std::size_t content = answer.size() - std::min<std::size_t>(answer.size(), NLMSG_HDRLEN);
  if (header.nlmsg_type == NLMSG_ERROR && content >= sizeof(nlmsgerr)) {
    return error_of(-content_of<nlmsgerr>(answer).error);
  }
  if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY || content < sizeof(inet_diag_msg)) {
    return error_of(EBADMSG);
  }
  const auto found = content_of<inet_diag_msg>(answer);
  // A listening socket answers for a connection that is gone.
  if (found.idiag_state == TCP_LISTEN) return error_of(ENOENT);
  return found.idiag_uid;
}

}  // namespace smc::system
