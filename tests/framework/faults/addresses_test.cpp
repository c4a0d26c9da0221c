// Where a local listener may listen and how it may be dialled: each pair that TCP connects has
// shared memory.
#include "framework/faults/echo_server.hpp"
#include "negotiation/endpoint.hpp"
#include "support/network_namespace.hpp"
#include "support/other_process.hpp"

namespace smc::test {
namespace {

using tcp = asio::ip::tcp;

constexpr std::uint32_t not_possible_here = 1, right = 2, wrong = 3;

/// A network namespace of one's own, with addresses that are none of the loopback's.
bool has_network() {
  return enter_network_namespace() &&
         shell("ip addr add 192.0.2.1/24 dev lo && ip addr add 192.0.2.2/24 dev lo") &&
         shell("ip addr add 2001:db8::1/64 dev lo nodad");
}

struct route {
  const char* listening;
  std::vector<const char*> dialled;
};
const route routes[] = {
    {"0.0.0.0", {"127.0.0.1", "127.9.8.7", "0.0.0.0", "192.0.2.1", "192.0.2.2"}},
    {"::",
     {"::1", "127.0.0.1", "::ffff:127.0.0.1", "::ffff:192.0.2.1", "192.0.2.2", "2001:db8::1",
      "::"}},
    {"127.0.0.2", {"127.0.0.2", "::ffff:127.0.0.2"}},
    {"192.0.2.1", {"192.0.2.1", "::ffff:192.0.2.1"}},
    {"::ffff:192.0.2.2", {"192.0.2.2", "::ffff:192.0.2.2"}},
    {"2001:db8::1", {"2001:db8::1"}},
};

/// The two ends' sockets may be of different families.
bool same(const tcp::endpoint& a, const tcp::endpoint& b) {
  return negotiation::endpoint(a) == negotiation::endpoint(b);
}

/// Whether a client of this listener gets shared memory, and both ends know each other's address.
bool reaches(const char* listening, const char* dialled) {
  const config settings = settings_for(carrier::smc_d_mapped);
  asio::io_context context;
  acceptor listener(context, {asio::ip::make_address(listening), 0}, settings);
  const tcp::endpoint at(asio::ip::make_address(dialled), listener.local_endpoint().port());
  stream client(context, settings), server(context, settings);
  bool good = false;
  listener.async_accept(server, [](std::error_code) {});
  client.async_connect(at, [&](std::error_code error) {
    good = !error && client.transport() == transport_kind::smc_d;
    if (error) listener.close();
  });
  context.run();
  good = good && server.transport() == transport_kind::smc_d &&
         same(client.local_endpoint(), server.remote_endpoint()) &&
         same(client.remote_endpoint(), server.local_endpoint());
  if (!good) {
    std::fprintf(stderr, "%s dialled as %s: %s\n", listening, dialled,
                 client.fallback_reason().message().c_str());
  }
  return good;
}

void each_is_reached(shared_facts& facts, const role_argument&) {
  if (!has_network()) {
    facts.step = not_possible_here;
    return;
  }
  bool good = true;
  for (const route& each : routes) {
    for (const char* dialled : each.dialled) good &= reaches(each.listening, dialled);
  }
  facts.step = good ? right : wrong;
}

TEST(Addresses, EachWayToALocalListenerLeadsToSharedMemory) {
  const other_process tested(each_is_reached);
  while (!tested.ended()) std::this_thread::yield();
  if (tested.facts().step == not_possible_here) GTEST_SKIP() << "no network namespaces here";
  EXPECT_EQ(tested.facts().step, right);
}

}  // namespace
}  // namespace smc::test
