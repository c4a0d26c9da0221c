#pragma once
// Where listeners announce themselves and clients find them: local SEQPACKET sockets.
//
// In one network namespace by an abstract name, which belongs to the namespace, as ports do, and
// vanishes with its socket. A port number does not name one listener (127.0.0.1:P and 127.0.0.2:P,
// SO_REUSEPORT), so a port has several names, "\0smc.<port>.<k>"; an announcer takes the first free
// one.
//
// Between namespaces that share a folder by a file "<address>.<port>.<k>" in it, for the endpoint
// that clients dial. A killed announcer leaves its file: whoever meets a dead one removes it, under
// a lock on the folder, because another may just be putting a live one in its place.
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "negotiation/endpoint.hpp"
#include "system/descriptor.hpp"
#include "system/fork.hpp"
#include "system/result.hpp"

namespace smc::negotiation {

inline constexpr unsigned rendezvous_names = 32;
/// Callers that wait to be accepted; the kernel takes the smaller of this and net.core.somaxconn.
inline constexpr int rendezvous_backlog = 4096;

/// What the names of one listening endpoint have in common.
class rendezvous_place {
 public:
  /// By abstract names.
  explicit rendezvous_place(std::uint16_t port) : listener_({}, 0, port) {}
  /// In a folder.
  rendezvous_place(std::string directory, const endpoint& listener)
      : directory_(std::move(directory)), listener_(listener) {}

  /// The places of a listener that clients of other network namespaces dial: its address, or for a
  /// wildcard all addresses of this namespace but loopback ones.
  static std::vector<rendezvous_place> in_directory(const std::string& directory,
                                                    const asio::ip::tcp::endpoint& listener);

  bool is_abstract() const noexcept { return directory_.empty(); }
  const std::string& directory() const noexcept { return directory_; }
  std::uint16_t port() const noexcept { return listener_.port(); }
  std::string name(unsigned k) const;

  auto operator<=>(const rendezvous_place&) const = default;

 private:
  std::string directory_;
  endpoint listener_;
};

/// A listener that can be found. Removes its file with itself.
class announcement {
 public:
  /// Binds and listens on the first free name. To be called after the TCP socket listens.
  static system::result<announcement> make(const rendezvous_place& place);

  announcement() = default;
  announcement(announcement&&) noexcept = default;
  announcement& operator=(announcement&&) = delete;
  ~announcement();

  const system::descriptor& listener() const noexcept { return listener_; }
  const std::string& name() const noexcept { return name_; }

 private:
  system::descriptor listener_;
  std::string name_;
  std::uint32_t generation_ = system::fork_generation();
};

/// Connects, without waiting, to the k-th announcer of a place. connection_refused: there is none;
/// would_block: it is too busy.
system::result<system::descriptor> call_announcer(const rendezvous_place& place, unsigned k);

}  // namespace smc::negotiation
