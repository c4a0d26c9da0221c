#pragma once
// One asynchronous operation of a test, whatever the style in which its result is taken: by a
// callback, in a coroutine, from a future. A test starts it, looks at it, cancels it, waits for its
// end.
#include <gtest/gtest.h>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/buffer.hpp>
#include <asio/cancellation_signal.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <system_error>

namespace smc::test {

enum class style { callback, coroutine, future };

class operation {
 public:
  struct state {
    bool started = false;
    bool called = false;
    std::error_code error;
    std::size_t bytes = 0;
    asio::mutable_buffer room;
    asio::const_buffer data;
    asio::cancellation_signal signal;
    std::function<void()> look;  ///< takes the result of a future that is there

    void finish(std::error_code ec) {
      EXPECT_FALSE(called) << "completed twice";
      EXPECT_TRUE(started) << "completed inside the initiating function";
      called = true;
      error =
          ec ? ec : std::error_code();  // success is one value, whichever category it comes with
    }
    void finish(std::error_code ec, std::size_t n) { finish(ec), bytes = n; }
    void finish(std::error_code ec, asio::mutable_buffer r) { finish(ec), room = r; }
    void finish(std::error_code ec, asio::const_buffer d) { finish(ec), data = d; }
  };

  explicit operation(std::shared_ptr<state> s) : state_(std::move(s)) {}

  bool done() const {
    if (!state_->called && state_->look) state_->look();
    return state_->called;
  }
  /// What came of it; done() first.
  std::error_code error() const { return state_->error; }
  std::size_t bytes() const { return state_->bytes; }
  asio::mutable_buffer room() const { return state_->room; }
  asio::const_buffer data() const { return state_->data; }

  /// Asks through the operation's own slot; it does not end inside this call.
  void cancel(asio::cancellation_type type) {
    const bool before = done();
    state_->signal.emit(type);
    EXPECT_EQ(state_->called, before) << "ended inside emit()";
  }

  /// Lets the context run until it has ended, and returns its error.
  asio::awaitable<std::error_code> end();

 private:
  std::shared_ptr<state> state_;
};

}  // namespace smc::test
