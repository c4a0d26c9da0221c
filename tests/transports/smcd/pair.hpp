#pragma once
// Two link groups in one process, wired directly: each has the other's inbox, doorbell and rings,
// as two processes would.
#include <gtest/gtest.h>

#include <array>
#include <asio/buffer.hpp>
#include <asio/error.hpp>
#include <atomic>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "smcd/connection.hpp"
#include "smcd/link_group.hpp"
#include "system/events.hpp"

namespace smc::smcd::testing {

inline std::error_code code(asio::error::basic_errors e) { return asio::error::make_error_code(e); }
inline std::error_code eof() { return asio::error::make_error_code(asio::error::eof); }

struct side_options {
  bool loop_mode = true;
  bool map_send_buffer = true;
  std::size_t max_connections = 1024;
  system::memory_budget* budget = nullptr;
};

/// A doorbell and a group.
struct side {
  system::descriptor doorbell;
  std::shared_ptr<link_group> group;

  explicit side(const side_options& options = {}) {
    auto made = system::create_event();
    EXPECT_FALSE(made.error) << made.error.message();
    doorbell = std::move(made.value);
    group_options o;
    o.threads.loop_mode = options.loop_mode;
    o.map_send_buffer = options.map_send_buffer;
    o.max_connections = options.max_connections;
    o.own_doorbell = doorbell.get();
    o.budget = options.budget;
    auto created = link_group::create(o);
    EXPECT_EQ(created.why, reason::none);
    group = std::move(created.value);
  }
};

inline void introduce(side& to, side& other) {
  auto inbox = other.group->inbox_file().duplicate();
  auto bell = other.doorbell.duplicate();
  ASSERT_FALSE(inbox.error);
  ASSERT_FALSE(bell.error);
  ASSERT_EQ(to.group->attach_peer(std::move(inbox.value), std::move(bell.value)), reason::none);
}

struct linked_sides {
  side a;
  side b;

  explicit linked_sides(const side_options& options = {}) : linked_sides(options, options) {}
  linked_sides(const side_options& for_a, const side_options& for_b) : a(for_a), b(for_b) {
    introduce(a, b);
    introduce(b, a);
  }
};

struct connected {
  std::unique_ptr<connection> a;
  std::unique_ptr<connection> b;
};

inline system::descriptor copy_of(const system::descriptor* file) {
  if (file == nullptr) return {};
  auto copy = file->duplicate();
  EXPECT_FALSE(copy.error);
  return std::move(copy.value);
}

inline connected connect(linked_sides& sides, std::size_t size_of_a = 16384,
                         std::size_t size_of_b = 16384) {
  auto from_a = sides.a.group->open_ring(size_of_a);
  auto from_b = sides.b.group->open_ring(size_of_b);
  EXPECT_EQ(from_a.why, reason::none);
  EXPECT_EQ(from_b.why, reason::none);
  if (!from_a.value || !from_b.value) return {};
  const auto ring_of_a = from_a.value.descriptor();
  const auto ring_of_b = from_b.value.descriptor();
  auto slab_of_a = copy_of(from_a.value.slab_file());
  auto slab_of_b = copy_of(from_b.value.slab_file());
  auto a = sides.a.group->connect(std::move(from_a.value), ring_of_b, std::move(slab_of_b));
  auto b = sides.b.group->connect(std::move(from_b.value), ring_of_a, std::move(slab_of_a));
  EXPECT_EQ(a.why, reason::none);
  EXPECT_EQ(b.why, reason::none);
  sides.a.group->set_peer_has_slab(ring_of_a.slab_id);
  sides.b.group->set_peer_has_slab(ring_of_b.slab_id);
  return {std::move(a.value), std::move(b.value)};
}

inline detail::transfer_result write(connection& c, std::span<const std::byte> bytes) {
  const asio::const_buffer buffer(bytes.data(), bytes.size());
  return c.write_some({&buffer, 1});
}
inline detail::transfer_result write(connection& c, const std::string& text) {
  return write(c, std::as_bytes(std::span(text)));
}
inline detail::transfer_result read(connection& c, std::span<std::byte> into) {
  const asio::mutable_buffer buffer(into.data(), into.size());
  return c.read_some({&buffer, 1});
}
/// What one read gives, as text, or the error's message in brackets.
inline std::string read_text(connection& c, std::size_t most = 65536) {
  std::vector<std::byte> into(most);
  const auto r = read(c, into);
  if (r.error) return "[" + r.error.message() + "]";
  return std::string(reinterpret_cast<const char*>(into.data()), r.bytes);
}

/// Bytes that differ from place to place with a long period.
inline std::vector<std::byte> pattern(std::size_t n, std::uint64_t seed = 1) {
  std::vector<std::byte> bytes(n);
  auto x = seed * 0x9e3779b97f4a7c15u + 1;
  for (auto& b : bytes) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    b = static_cast<std::byte>(x >> 56);
  }
  return bytes;
}

class counting_waiter final : public detail::waiter {
 public:
  void ready() noexcept override { told_.fetch_add(1); }
  std::shared_ptr<void> keep_alive() noexcept override { return nullptr; }
  int told() const { return told_.load(); }

 private:
  std::atomic<int> told_{0};
};

/// Polls both until nothing is left.
inline void settle(linked_sides& sides) {
  for (bool more = true; more;) {
    more = sides.a.group->poll();
    more = sides.b.group->poll() || more;
  }
}

}  // namespace smc::smcd::testing
