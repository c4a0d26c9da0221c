#include "negotiation/local_addresses.hpp"

#include <ifaddrs.h>
#include <netinet/in.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <set>

#include "config/network.hpp"

namespace smc::negotiation {

namespace {

using clock = std::chrono::steady_clock;

asio::ip::address without_scope(const asio::ip::address& address) {
  return address.is_v6() ? asio::ip::address_v6(address.to_v6().to_bytes()) : address;
}

struct cache {
  std::mutex mutex;
  std::set<asio::ip::address> addresses;
  clock::time_point read_at{};
};

}  // namespace

std::vector<asio::ip::address> interface_addresses() {
  std::vector<asio::ip::address> result;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return result;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, &::freeifaddrs);
  for (const ifaddrs* i = list; i; i = i->ifa_next) {
    if (!i->ifa_addr) continue;
    if (i->ifa_addr->sa_family == AF_INET) {
      const auto& in = *reinterpret_cast<const sockaddr_in*>(i->ifa_addr);
      result.push_back(asio::ip::address_v4(ntohl(in.sin_addr.s_addr)));
    } else if (i->ifa_addr->sa_family == AF_INET6) {
      const auto& in = *reinterpret_cast<const sockaddr_in6*>(i->ifa_addr);
      asio::ip::address_v6::bytes_type bytes;
      std::copy(std::begin(in.sin6_addr.s6_addr), std::end(in.sin6_addr.s6_addr), bytes.begin());
      result.push_back(asio::ip::address_v6(bytes));
    }
  }
  return result;
}

bool is_own_address(const asio::ip::address& address) {
  const asio::ip::address wanted = without_scope(config_detail::canonical(address));
  if (wanted.is_loopback() || wanted.is_unspecified()) return true;
  static cache& known = *new cache;  // never destroyed: streams may be closed late
  const std::lock_guard lock(known.mutex);
  const auto now = clock::now();
  if (known.read_at == clock::time_point{} || now - known.read_at > std::chrono::seconds(1)) {
    const auto now_there = interface_addresses();
    known.addresses = {now_there.begin(), now_there.end()};
    known.read_at = now;
  }
  return known.addresses.contains(wanted);
}

}  // namespace smc::negotiation
