#include "negotiation/rendezvous.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <asio/error.hpp>

#include "negotiation/local_addresses.hpp"
#include "system/sockets.hpp"

namespace smc::negotiation {

namespace {

bool is_file(const std::string& name) { return !name.empty() && name.front() != '\0'; }

system::result<system::descriptor> connect_to_name(const std::string& name) {
  auto socket = system::create_socket(AF_UNIX, SOCK_SEQPACKET, 0, true);
  if (!socket) return socket.error;
  const auto where = system::local_address::of(name);
  if (!where) return where.error;
  if (const auto error = system::connect_to(socket.value, where.value)) return error;
  return std::move(socket.value);
}

/// Removes the file of an announcer that died. True: the name may be free now.
bool remove_dead(const rendezvous_place& place, const std::string& name) {
  const auto lock = system::lock_directory(place.directory().c_str());
  if (!lock) return false;
  // Somebody may have been here before us.
  const auto called = connect_to_name(name);
  if (called || called.error != asio::error::connection_refused) return false;
  return !system::remove_file(name.c_str());
}

std::string hexadecimal(const endpoint::address_bytes& bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

}  // namespace

std::vector<rendezvous_place> rendezvous_place::in_directory(
    const std::string& directory, const asio::ip::tcp::endpoint& listener) {
  std::vector<asio::ip::address> dialled{listener.address()};
  if (listener.address().is_unspecified()) {
    dialled = interface_addresses();
    if (listener.address().is_v4())
      std::erase_if(dialled, [](const auto& a) { return !a.is_v4(); });
  }
  std::erase_if(dialled, [](const auto& a) { return a.is_loopback(); });
  std::vector<rendezvous_place> places;
  for (const asio::ip::address& each : dialled) {
    places.emplace_back(directory, endpoint(asio::ip::tcp::endpoint(each, listener.port())));
  }
  return places;
}

std::string rendezvous_place::name(unsigned k) const {
  const std::string tail = std::to_string(port()) + '.' + std::to_string(k);
  if (is_abstract()) return std::string(1, '\0') + "smc." + tail;
  return directory_ + '/' + hexadecimal(listener_.address()) + '.' + tail;
}

system::result<announcement> announcement::make(const rendezvous_place& place) {
  std::error_code error;
  for (unsigned k = 0; k < rendezvous_names; ++k) {
    auto socket = system::create_socket(AF_UNIX, SOCK_SEQPACKET, 0, true);
    if (!socket) return socket.error;
    const std::string name = place.name(k);
    const auto where = system::local_address::of(name);
    if (!where) return where.error;
    error = system::bind_to(socket.value, where.value);
    if (error == asio::error::address_in_use && !place.is_abstract() && remove_dead(place, name)) {
      error = system::bind_to(socket.value, where.value);
    }
    announcement made;
    if (!error) {
      made.name_ = name;
      made.listener_ = std::move(socket.value);
      error = system::listen_on(made.listener_, rendezvous_backlog);
    }
    if (!error) return made;
    if (error != asio::error::address_in_use) break;
  }
  return error;
}

announcement::~announcement() {
  if (listener_ && is_file(name_) && generation_ == system::fork_generation()) {
    (void)system::remove_file(name_.c_str());
  }
}

system::result<system::descriptor> call_announcer(const rendezvous_place& place, unsigned k) {
  const std::string name = place.name(k);
  auto called = connect_to_name(name);
  if (called || place.is_abstract()) return called;
  if (called.error == asio::error::connection_refused) (void)remove_dead(place, name);
  if (called.error == system::error_of(ENOENT))
    return std::error_code(asio::error::connection_refused);
  return called;
}

}  // namespace smc::negotiation
