// Every kind of buffer sequence, in every function that takes one.
#include "compile/archetypes/buffers.hpp"

#include <array>
#include <asio/read.hpp>
#include <asio/write.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compile/archetypes/scene.hpp"

namespace smc::test {
namespace {

template <typename Scene>
struct Buffers : testing::Test {};
TYPED_TEST_SUITE(Buffers, scenes_to_try);

/// Expects "abcd" to arrive, four times.
template <typename Scene, typename ConstBuffers>
void write_all_ways(Scene& s, const ConstBuffers& buffers) {
  std::error_code ec;
  std::size_t written = s.client.write_some(buffers);
  written += s.client.send(buffers, 0, ec);
  int called = 0;
  const auto count = [&](std::error_code e, std::size_t n) {
    ++called;
    EXPECT_FALSE(e) << e.message();
    written += n;
  };
  s.client.async_write_some(buffers, count);
  EXPECT_TRUE(s.comes([&called] { return called == 1; }));
  asio::async_write(s.client, buffers, count);
  EXPECT_TRUE(s.comes([&called] { return called == 2; }));
  EXPECT_EQ(written, 16u);
  std::string in(16, ' ');
  EXPECT_EQ(asio::read(s.server, asio::buffer(in)), 16u);
  EXPECT_EQ(in, "abcdabcdabcdabcd");
}

/// `memory` is what the buffers are over.
template <typename Scene, typename MutableBuffers>
void read_all_ways(Scene& s, const MutableBuffers& buffers, std::string& memory) {
  std::error_code ec;
  int called = 0;
  const auto expect = [&](std::string_view bytes, std::size_t n) {
    EXPECT_EQ(n, bytes.size());
    EXPECT_EQ(memory, bytes);
  };
  const auto finish = [&](std::error_code e, std::size_t n) {
    ++called;
    EXPECT_FALSE(e) << e.message();
    EXPECT_EQ(n, 4u);
  };
  s.send("abcdefghijklmnop");
  expect("abcd", s.client.read_some(buffers));
  expect("efgh", s.client.receive(buffers, 0, ec));
  s.client.async_read_some(buffers, finish);
  EXPECT_TRUE(s.comes([&called] { return called == 1; }));
  expect("ijkl", 4);
  asio::async_read(s.client, buffers, finish);
  EXPECT_TRUE(s.comes([&called] { return called == 2; }));
  expect("mnop", 4);
}

TYPED_TEST(Buffers, OfAnyKindAreWritten) {
  TypeParam s;
  s.connect();
  const std::string text = "abcd";
  const asio::const_buffer first(text.data(), 1), second(text.data() + 1, 3);
  write_all_ways(s, two_buffers<asio::const_buffer>(first, second));
  write_all_ways(s, std::array<asio::const_buffer, 2>{first, second});
  write_all_ways(s, std::vector<asio::const_buffer>{first, second});
  const std::array<asio::const_buffer, 2> both{first, second};
  write_all_ways(s, std::span<const asio::const_buffer>(both));
  write_all_ways(s, asio::buffer(std::string_view(text)));
}

TYPED_TEST(Buffers, OfAnyKindAreReadInto) {
  TypeParam s;
  s.connect();
  std::string in(4, ' ');
  const asio::mutable_buffer first(in.data(), 1), second(in.data() + 1, 3);
  read_all_ways(s, two_buffers<asio::mutable_buffer>(first, second), in);
  read_all_ways(s, std::array<asio::mutable_buffer, 2>{first, second}, in);
  const std::array<asio::mutable_buffer, 2> both{first, second};
  read_all_ways(s, std::span<const asio::mutable_buffer>(both), in);
  read_all_ways(s, asio::buffer(in), in);
  read_all_ways(s, named_buffer(in.data(), in.size(), "in"), in);
}

}  // namespace
}  // namespace smc::test
