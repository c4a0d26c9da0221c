// IPv4, IPv6 and what lies between (brazilofmux/tinymux #800, alibaba/yalantinglibs #1186,
// eclipse-ecal/tcp_pubsub #35). Rules and mapped addresses: framework/stream/rules_test.cpp.
#include <fstream>
#include <optional>

#include "setting.hpp"
#include "support/network_namespace.hpp"
#include "support/other_process.hpp"

namespace smc::test {
namespace {

using tcp = asio::ip::tcp;

constexpr std::uint32_t not_possible_here = 1, same = 2, different = 3;

/// A network namespace of one's own, with these settings of IPv6.
bool has_namespace(const std::string& setting) {
  if (!enter_network_namespace()) return false;
  std::ofstream file("/proc/sys/net/ipv6/" + setting);
  file << "1" << std::flush;
  return file.good();
}

struct result {
  std::error_code listened, connected;
  bool operator==(const result&) const = default;
};

/// Listens as it is told and is called at the IPv4 loopback.
template <typename Acceptor, typename Socket, typename... Settings>
result listen_and_call(const tcp::endpoint& at, std::optional<bool> v6_only,
                       const Settings&... settings) {
  asio::io_context context;
  result r;
  Acceptor listener(context, settings...);
  listener.open(at.protocol(), r.listened);
  if (!r.listened && v6_only) listener.set_option(asio::ip::v6_only(*v6_only), r.listened);
  if (!r.listened) listener.bind(at, r.listened);
  if (!r.listened) listener.listen(asio::socket_base::max_listen_connections, r.listened);
  if (r.listened) return r;
  Socket client(context, settings...);
  listener.async_accept([](std::error_code, auto) {});
  client.async_connect(at_port(listener.local_endpoint().port()), [&](std::error_code error) {
    r.connected = error;
    listener.close();
  });
  context.run();
  return r;
}

/// The library against Asio, for each kind of listener.
void compare(shared_facts& facts, const std::string& setting) {
  if (!has_namespace(setting)) {
    facts.step = not_possible_here;
    return;
  }
  bool good = true;
  for (const char* address : {"0.0.0.0", "127.0.0.1", "::", "::1"}) {
    const tcp::endpoint at(asio::ip::make_address(address), 0);
    for (const std::optional<bool> v6_only :
         {std::optional<bool>(), std::optional(false), std::optional(true)}) {
      if (at.address().is_v4() && v6_only) continue;
      const auto expected = listen_and_call<tcp::acceptor, tcp::socket>(at, v6_only);
      const auto got =
          listen_and_call<acceptor, stream>(at, v6_only, settings_for(carrier::smc_d_mapped));
      if (expected == got) continue;
      std::fprintf(stderr, "%s, %s: Asio %s, %s; here %s, %s\n", setting.c_str(), address,
                   expected.listened.message().c_str(), expected.connected.message().c_str(),
                   got.listened.message().c_str(), got.connected.message().c_str());
      good = false;
    }
  }
  facts.step = good ? same : different;
}

void where_v6_is_alone(shared_facts& facts, const role_argument&) { compare(facts, "bindv6only"); }
void where_there_is_no_v6(shared_facts& facts, const role_argument&) {
  compare(facts, "conf/all/disable_ipv6");
}

void same_as_asio(role in_a_namespace) {
  const other_process tested(in_a_namespace);
  while (!tested.ended()) std::this_thread::yield();
  if (tested.facts().step == not_possible_here) GTEST_SKIP() << "no network namespaces here";
  EXPECT_EQ(tested.facts().step, same);
}

TEST(FieldDualStack, AListenerIsAsAsiosWhereV6SocketsAreAloneByDefault) {
  same_as_asio(where_v6_is_alone);
}

TEST(FieldDualStack, AListenerIsAsAsiosWhereThereIsNoV6) { same_as_asio(where_there_is_no_v6); }

}  // namespace
}  // namespace smc::test
