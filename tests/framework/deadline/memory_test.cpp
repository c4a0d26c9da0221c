// Memory of operations with deadlines: the handler's allocator, freed before the handler runs.
#include <asio/associated_allocator.hpp>
#include <asio/bind_allocator.hpp>
#include <asio/steady_timer.hpp>
#include <smc/deadline.hpp>

#include "framework/stream/setting.hpp"

namespace smc::test {
namespace {

struct account {
  std::atomic<int> blocks{0};
  std::atomic<int> taken{0};
};

template <typename T>
struct counting_allocator {
  using value_type = T;
  account* book;

  explicit counting_allocator(account& a) : book(&a) {}
  template <typename U>
  counting_allocator(const counting_allocator<U>& other) : book(other.book) {}
  T* allocate(std::size_t n) {
    ++book->blocks;
    ++book->taken;
    return std::allocator<T>().allocate(n);
  }
  void deallocate(T* p, std::size_t n) {
    --book->blocks;
    std::allocator<T>().deallocate(p, n);
  }
  bool operator==(const counting_allocator& other) const { return book == other.book; }
};

using DeadlineMemory = each_setting;

TEST_P(DeadlineMemory, ComesFromTheHandlersAllocatorAndIsFreedBeforeTheHandlerRuns) {
  connected([](pair& p) -> asio::awaitable<void> {
    for (const bool in_time : {false, true}) {
      for (const bool outside : {false, true}) {
        account book;
        bool called = false;
        char bytes[2] = {};
        const auto handler = [&](std::error_code ec, std::size_t n) {
          EXPECT_EQ(ec, in_time ? std::error_code() : std::error_code(asio::error::timed_out));
          EXPECT_EQ(n, in_time ? 2u : 0u);
          EXPECT_EQ(book.blocks, 0);
          called = true;
        };
        if (in_time) {
          co_await asio::async_write(p.server, asio::buffer("ab", 2), asio::use_awaitable);
        }
        const counting_allocator<void> allocator(book);
        const auto time = in_time ? std::chrono::milliseconds(std::chrono::hours(1)) : 5ms;
        if (outside) {
          asio::async_read(p.client, asio::buffer(bytes),
                           asio::bind_allocator(allocator, with_deadline(time, handler)));
        } else {
          asio::async_read(p.client, asio::buffer(bytes),
                           with_deadline(time, asio::bind_allocator(allocator, handler)));
        }
        EXPECT_GE(book.taken, 3);  // the deadline's, the timer's and the operation's
        co_await until([&called] { return called; });
        EXPECT_EQ(book.blocks, 0);
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Everywhere, DeadlineMemory, all_settings(), name_of_setting);

}  // namespace
}  // namespace smc::test
