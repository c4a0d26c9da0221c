#pragma once
// System calls on local sockets: listening, connecting, and messages that carry descriptors.
#include <sys/socket.h>
#include <sys/types.h>

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "system/descriptor.hpp"
#include "system/result.hpp"

namespace smc::system {

/// socket() with SOCK_CLOEXEC and, where asked, SOCK_NONBLOCK.
result<descriptor> create_socket(int family, int type, int protocol, bool non_blocking) noexcept;
/// A connected pair of local sockets.
std::error_code create_socket_pair(int type, bool non_blocking, descriptor& a,
                                   descriptor& b) noexcept;

/// Address of a local socket. A name that begins with a zero byte is abstract: no file.
struct local_address {
  sockaddr_storage storage{};
  socklen_t length = 0;

  /// ENAMETOOLONG, or EINVAL for an empty name.
  static result<local_address> of(std::string_view name) noexcept;
};

std::error_code bind_to(const descriptor& socket, const local_address& where) noexcept;
std::error_code listen_on(const descriptor& socket, int backlog) noexcept;
/// EAGAIN: the backlog is full.
std::error_code connect_to(const descriptor& socket, const local_address& where) noexcept;
result<descriptor> accept_from(const descriptor& listener, bool non_blocking) noexcept;
/// Removes a socket's file.
std::error_code remove_file(const char* path) noexcept;
/// Locks a folder against all others who do so, until the descriptor is closed. would_block:
/// another has it.
result<descriptor> lock_directory(const char* path) noexcept;

/// A message may carry at most this many descriptors.
inline constexpr std::size_t max_passed_descriptors = 8;

/// Sends bytes and descriptors in one message, never raising SIGPIPE. EINVAL for too many
/// descriptors.
result<std::size_t> send_message(const descriptor& socket, std::span<const std::byte> bytes,
                                 std::span<const int> descriptors) noexcept;

struct received_message {
  std::size_t bytes = 0;
  bool truncated = false;         ///< bytes were lost, or descriptors beyond the most that may come
  bool descriptors_lost = false;  ///< this process had no room for all that came
  std::size_t descriptor_count = 0;
  std::array<descriptor, max_passed_descriptors> descriptors;
};
/// Receives one message. Descriptors arrive close-on-exec; none leaks, whatever the peer sends. 0
/// bytes: hang-up.
result<received_message> receive_message(const descriptor& socket,
                                         std::span<std::byte> into) noexcept;

/// Who the peer was when it connected. ENODATA and the like where the kernel doesn't know.
result<ucred> peer_credentials(const descriptor& socket) noexcept;
/// The peer as a process descriptor; ENOPROTOOPT where the kernel can't (before 6.5).
result<descriptor> peer_process(const descriptor& socket) noexcept;

}  // namespace smc::system
