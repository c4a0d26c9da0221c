#include "system/sockets.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

#include "system/injection.hpp"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

namespace smc::system {

namespace {
int with_flags(int type, bool non_blocking) noexcept {
  return type | SOCK_CLOEXEC | (non_blocking ? SOCK_NONBLOCK : 0);
}
}  // namespace

result<descriptor> create_socket(int family, int type, int protocol, bool non_blocking) noexcept {
  if (const int e = injected(call::socket)) return error_of(e);
  const int number = ::socket(family, with_flags(type, non_blocking), protocol);
  if (number < 0) return last_error();
  return descriptor::adopt(number);
}

std::error_code create_socket_pair(int type, bool non_blocking, descriptor& a,
                                   descriptor& b) noexcept {
  if (const int e = injected(call::socket)) return error_of(e);
  int numbers[2];
  if (::socketpair(AF_UNIX, with_flags(type, non_blocking), 0, numbers) != 0) return last_error();
  auto first = descriptor::adopt(numbers[0]);
  auto second = descriptor::adopt(numbers[1]);
  if (first.error) return first.error;
  if (second.error) return second.error;
  a = std::move(first.value);
  b = std::move(second.value);
  return {};
}

result<local_address> local_address::of(std::string_view name) noexcept {
  sockaddr_un un{};
  un.sun_family = AF_UNIX;
  if (name.empty()) return error_of(EINVAL);
  const bool abstract = name.front() == '\0';
  // A path is followed by its zero byte; an abstract name is exactly as long as the address says.
  if (name.size() + (abstract ? 0 : 1) > sizeof(un.sun_path)) return error_of(ENAMETOOLONG);
  std::memcpy(un.sun_path, name.data(), name.size());
  local_address address;
  std::memcpy(&address.storage, &un, sizeof(un));
  address.length =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + (abstract ? 0 : 1));
  return address;
}

std::error_code bind_to(const descriptor& socket, const local_address& where) noexcept {
  if (const int e = injected(call::bind)) return error_of(e);
  const auto* address = reinterpret_cast<const sockaddr*>(&where.storage);
  return ::bind(socket.get(), address, where.length) == 0 ? std::error_code() : last_error();
}

std::error_code listen_on(const descriptor& socket, int backlog) noexcept {
  if (const int e = injected(call::listen)) return error_of(e);
  return ::listen(socket.get(), backlog) == 0 ? std::error_code() : last_error();
}

std::error_code connect_to(const descriptor& socket, const local_address& where) noexcept {
  if (const int e = injected(call::connect)) return error_of(e);
  const auto* address = reinterpret_cast<const sockaddr*>(&where.storage);
  int r;
  // A local connect that was interrupted has not begun: it can be repeated.
  do {
    r = ::connect(socket.get(), address, where.length);
  } while (r != 0 && errno == EINTR);
  return r == 0 ? std::error_code() : last_error();
}

result<descriptor> accept_from(const descriptor& listener, bool non_blocking) noexcept {
  if (const int e = injected(call::accept)) return error_of(e);
  int number;
  do {
    number = ::accept4(listener.get(), nullptr, nullptr,
                       SOCK_CLOEXEC | (non_blocking ? SOCK_NONBLOCK : 0));
  } while (number < 0 && errno == EINTR);
  if (number < 0) return last_error();
  return descriptor::adopt(number);
}

std::error_code remove_file(const char* path) noexcept {
  if (const int e = injected(call::unlink)) return error_of(e);
  return ::unlink(path) == 0 ? std::error_code() : last_error();
}

result<descriptor> lock_directory(const char* path) noexcept {
  if (const int e = injected(call::open)) return error_of(e);
  const int number = ::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (number < 0) return last_error();
  auto directory = descriptor::adopt(number);
  if (directory && ::flock(number, LOCK_EX | LOCK_NB) != 0) return last_error();
  return directory;
}

result<std::size_t> send_message(const descriptor& socket, std::span<const std::byte> bytes,
                                 std::span<const int> descriptors) noexcept {
  if (const int e = injected(call::send)) return error_of(e);
  if (descriptors.size() > max_passed_descriptors) return error_of(EINVAL);
  iovec piece{const_cast<std::byte*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * max_passed_descriptors)] = {};
  if (!descriptors.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  }
  ssize_t r;
  do {
    r = ::sendmsg(socket.get(), &message, MSG_NOSIGNAL);
  } while (r < 0 && errno == EINTR);
  if (r < 0) return last_error();
  return static_cast<std::size_t>(r);
}

result<received_message> receive_message(const descriptor& socket,
                                         std::span<std::byte> into) noexcept {
  if (const int e = injected(call::receive)) return error_of(e);
  iovec piece{into.data(), into.size()};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * max_passed_descriptors)];
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ssize_t r;
  do {
    r = ::recvmsg(socket.get(), &message, MSG_CMSG_CLOEXEC);
  } while (r < 0 && errno == EINTR);
  if (r < 0) return last_error();

  received_message received;
  received.bytes = static_cast<std::size_t>(r);
  received.truncated = (message.msg_flags & MSG_TRUNC) != 0;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int number;
      std::memcpy(&number, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
      auto adopted = descriptor::adopt(number);
      if (adopted.error) {
        received.descriptors_lost = true;
      } else if (received.descriptor_count == max_passed_descriptors) {
        received.truncated = true;
      } else {
        received.descriptors[received.descriptor_count++] = std::move(adopted.value);
      }
    }
  }
  if ((message.msg_flags & MSG_CTRUNC) != 0) {
    const bool full = received.descriptor_count == max_passed_descriptors;
    (full ? received.truncated : received.descriptors_lost) = true;
  }
  return received;
}

result<ucred> peer_credentials(const descriptor& socket) noexcept {
  if (const int e = injected(call::socket_option)) return error_of(e);
  ucred credentials{};
  socklen_t length = sizeof(credentials);
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) {
    return last_error();
  }
  return credentials;
}

result<descriptor> peer_process(const descriptor& socket) noexcept {
  if (const int e = injected(call::socket_option)) return error_of(e);
  int number = -1;
  socklen_t length = sizeof(number);
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERPIDFD, &number, &length) != 0) {
    return last_error();
  }
  return descriptor::adopt(number);
}

}  // namespace smc::system
