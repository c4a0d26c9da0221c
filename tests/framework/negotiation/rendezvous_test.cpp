// Names by which listeners are found, and what becomes of the files of those that died.
#include "negotiation/rendezvous.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <asio/error.hpp>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "system/sockets.hpp"

namespace smc::test {
namespace {

using namespace negotiation;

asio::ip::tcp::endpoint at(const char* address, std::uint16_t port) {
  return {asio::ip::make_address(address), port};
}

class RendezvousDirectory : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = std::filesystem::temp_directory_path() / "smc-rendezvous-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    path = name;
    place.emplace(path, endpoint(at("192.0.2.1", 80)));
  }
  void TearDown() override { std::filesystem::remove_all(path); }

  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path), {}));
  }
  bool answers(unsigned k) const { return static_cast<bool>(call_announcer(*place, k)); }
  /// As an announcer leaves it that was killed.
  void leave_dead_file(unsigned k) const {
    auto socket = system::create_socket(AF_UNIX, SOCK_SEQPACKET, 0, true);
    ASSERT_FALSE(system::bind_to(socket.value, system::local_address::of(place->name(k)).value));
    ASSERT_FALSE(system::listen_on(socket.value, 1));
  }

  std::string path;
  std::optional<rendezvous_place> place;
};

TEST(Rendezvous, NamesOfAPortAreAbstract) {
  EXPECT_EQ(rendezvous_place(5210).name(7), std::string("\0smc.5210.7", 11));
}

TEST_F(RendezvousDirectory, LongestFolderFitsIntoAnAddress) {
  const rendezvous_place longest(std::string(56, 'd'), endpoint(at("2001:db8::1", 65535)));
  EXPECT_TRUE(system::local_address::of(longest.name(31)));
}

TEST_F(RendezvousDirectory, AnnouncerIsFoundAndItsFileGoesWithIt) {
  {
    const auto made = announcement::make(*place);
    ASSERT_TRUE(made) << made.error.message();
    EXPECT_EQ(files(), 1U);
    EXPECT_TRUE(answers(0));
  }
  EXPECT_EQ(files(), 0U);
  EXPECT_EQ(call_announcer(*place, 0).error, asio::error::connection_refused)
      << "as if nobody were there";
}

TEST_F(RendezvousDirectory, SeveralAnnouncersOfAnEndpointTakeFurtherNames) {
  const auto first = announcement::make(*place);
  const auto second = announcement::make(*place);
  ASSERT_TRUE(first && second);
  EXPECT_NE(first.value.name(), second.value.name());
  EXPECT_TRUE(answers(0) && answers(1));
}

TEST_F(RendezvousDirectory, AnnouncerTakesTheNameOfADeadOne) {
  leave_dead_file(0);
  const auto made = announcement::make(*place);
  ASSERT_TRUE(made);
  EXPECT_EQ(made.value.name(), place->name(0));
  EXPECT_TRUE(answers(0));
}

TEST_F(RendezvousDirectory, ClientRemovesADeadOne) {
  leave_dead_file(0);
  EXPECT_FALSE(answers(0));
  EXPECT_EQ(files(), 0U);
}

TEST_F(RendezvousDirectory, NobodyRemovesWhileAnotherHasTheLock) {
  leave_dead_file(0);
  const auto lock = system::lock_directory(path.c_str());
  ASSERT_TRUE(lock);
  EXPECT_FALSE(answers(0));
  EXPECT_EQ(files(), 1U);
  EXPECT_EQ(announcement::make(*place).value.name(), place->name(1));
}

TEST_F(RendezvousDirectory, MissingFolderIsAnErrorOfTheAnnouncementOnly) {
  const rendezvous_place nowhere(path + "/missing", endpoint(at("192.0.2.1", 80)));
  EXPECT_FALSE(announcement::make(nowhere));
  EXPECT_EQ(call_announcer(nowhere, 0).error, asio::error::connection_refused);
}

TEST(Rendezvous, LoopbackAddressesAreNoPlaceInAFolder) {
  EXPECT_TRUE(rendezvous_place::in_directory("/d", at("127.0.0.1", 80)).empty());
  const auto one = rendezvous_place::in_directory("/d", at("192.0.2.1", 80));
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one.front().name(3), "/d/00000000000000000000ffffc0000201.80.3");
}

}  // namespace
}  // namespace smc::test
