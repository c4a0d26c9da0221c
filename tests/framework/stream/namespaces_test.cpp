// Two network namespaces of one host that share a folder, as containers do.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "setting.hpp"
#include "support/network_namespace.hpp"

namespace smc::test {
namespace {

constexpr int not_possible_here = 77;

void tell(int pipe, std::uint16_t what) { (void)!::write(pipe, &what, sizeof what); }
std::uint16_t told(int pipe) {
  std::uint16_t what = 0;
  return ::read(pipe, &what, sizeof what) == sizeof what ? what : std::uint16_t{0};
}

config settings_with(const std::string& directory) {
  config settings = settings_for(carrier::smc_d_mapped);
  settings.rendezvous_directory = directory;
  return settings;
}

int run_client(const std::string& directory, int from_server, int to_server) {
  if (::unshare(CLONE_NEWNET) != 0) return not_possible_here;
  tell(to_server, 1);
  const std::uint16_t port = told(from_server);
  if (port == 0 || !shell("ip addr add 192.0.2.2/24 dev smcb && ip link set smcb up"))
    return not_possible_here;
  asio::io_context context;
  stream client(context, settings_with(directory));
  client.connect({asio::ip::make_address("192.0.2.1"), port});
  std::array<char, 1> byte{'n'};
  asio::write(client, asio::buffer(byte));
  asio::read(client, asio::buffer(byte));
  if (client.transport() == transport_kind::smc_d && byte[0] == 'N') return 0;
  std::fprintf(stderr, "client: %s\n", client.fallback_reason().message().c_str());
  return 1;
}

int run_server(const std::string& directory) {
  int to_client[2], from_client[2];
  if (::pipe(to_client) != 0 || ::pipe(from_client) != 0 || ::unshare(CLONE_NEWNET) != 0)
    return not_possible_here;
  const pid_t client = ::fork();
  if (client == 0) {
    ::close(to_client[1]);
    ::close(from_client[0]);
    ::_exit(run_client(directory, to_client[0], from_client[1]));
  }
  ::close(from_client[1]);
  ::close(to_client[0]);
  const bool possible =
      told(from_client[0]) == 1 &&
      shell("ip link add smca type veth peer name smcb netns " + std::to_string(client)) &&
      shell("ip addr add 192.0.2.1/24 dev smca && ip link set smca up");
  bool good = true;
  if (possible) {
    asio::io_context context;
    acceptor listener(context, {asio::ip::tcp::v4(), 0}, settings_with(directory));
    tell(to_client[1], listener.local_endpoint().port());
    stream server(context, settings_with(directory));
    listener.accept(server);
    std::array<char, 1> byte{};
    asio::read(server, asio::buffer(byte));
    byte[0] = static_cast<char>(byte[0] - 'a' + 'A');
    asio::write(server, asio::buffer(byte));
    good = server.transport() == transport_kind::smc_d;
  }
  ::close(to_client[1]);
  int status = 0;
  ::waitpid(client, &status, 0);
  if (!possible) return not_possible_here;
  return good && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

TEST(NetworkNamespaces, SharedFolderLetsThemUseSharedMemory) {
  std::string directory = std::filesystem::temp_directory_path() / "smc-namespaces-XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    int result = 1;
    try {
      result = run_server(directory);
    } catch (const std::exception& e) {
      std::fprintf(stderr, "server: %s\n", e.what());
    }
    ::_exit(result);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(std::filesystem::is_empty(directory)) << "the announcement's file stays behind";
  std::filesystem::remove_all(directory);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == not_possible_here)
    GTEST_SKIP() << "no permission to make network namespaces";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace smc::test
