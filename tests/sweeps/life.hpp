#pragma once
// The whole life of a connection over the public interface, in one thread, without coroutines and
// without a std::function: whatever is allocated or asked of the system in it, the library does.
// Each step may end it with an error or a std::bad_alloc; none may hang or call twice.
#include <asio/io_context.hpp>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "failing_allocations.hpp"
#include "framework/stream/setting.hpp"

namespace smc::test {

/// A sanitizer makes a sweep slow, and most points lead through the same code.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr std::uint64_t points_apart = 5;
#else
inline constexpr std::uint64_t points_apart = 1;
#endif

class life {
 public:
  life(carrier by, place where, const config& settings)
      : by_(by), where_(where), settings_(settings) {}
  ~life() { end(); }
  life(const life&) = delete;
  life& operator=(const life&) = delete;

  /// From the context to the close, or to the first step that fails.
  void asynchronous();
  void blocking();
  /// The acceptor goes on: whatever failed before, its next client is served.
  void next_client();
  /// The streams, the acceptor and the context go. All that was started is told.
  void end();

  /// No step failed, and the transport was the one that was wanted.
  bool complete() const noexcept { return complete_; }
  /// The connection was TCP where something faster was wanted.
  bool fell_back() const noexcept { return fell_back_; }
  /// What it ended with.
  const std::string& story() const noexcept { return story_; }

 private:
  struct result {
    bool started = false;
    bool called = false;
    std::error_code error;
    std::size_t bytes = 0;
    asio::mutable_buffer room;
    asio::const_buffer seen;
  };
  class handler {
   public:
    explicit handler(result& into) : into_(&into) {}
    void operator()(std::error_code error) { store(error); }
    void operator()(std::error_code error, std::size_t bytes) {
      store(error);
      into_->bytes = bytes;
    }
    void operator()(std::error_code error, asio::mutable_buffer room) {
      store(error);
      into_->room = room;
    }
    void operator()(std::error_code error, asio::const_buffer seen) {
      store(error);
      into_->seen = seen;
    }

   private:
    void store(const std::error_code& error);
    result* into_;
  };

  bool make();
  bool establish();
  bool establish_blocking();
  bool transfer();
  bool in_place();
  bool part();
  void over();

  bool ended_with(const char* step, std::string_view how);
  template <typename Step>
  bool attempt(const char* step, Step&& step_itself);
  template <typename Start>
  bool begin(const char* step, result& into, Start&& start);
  template <typename Condition>
  bool drive(const char* step, Condition&& condition);
  bool succeeded(const char* step, result& of);
  bool on_one_transport();
  void accept_more();
  void turn();
  asio::any_io_executor executor();

  const carrier by_;
  const place where_;
  const config settings_;
  std::optional<event_loop> loop_;
  std::optional<asio::io_context> context_;
  std::optional<acceptor> listener_;
  std::optional<stream> client_, server_;
  std::vector<stream> later_;  // accepted behind the failure
  bool accepting_ = false;
  result accepted_, connected_, heard_, read_, written_, prepared_, there_, ended_;
  char in_[16] = {};
  bool complete_ = false;
  bool fell_back_ = false;
  std::string story_ = "went through";
};

}  // namespace smc::test
