#pragma once
// Plays a script's steps, one after the other.
#include <string>

#include "conformance/differential/side.hpp"
#include "conformance/differential/transcript.hpp"
#include "conformance/subject.hpp"

namespace smc::test {

/// An error's class, the same for all transports.
const char* name_of(const std::error_code& ec);

class player {
 public:
  player(const asio::any_io_executor& executor, carrier by, style how, transcript& into)
      : into_(into), peers_(executor, by, how) {}

  asio::awaitable<void> play(const script& what);

 private:
  // Each takes its step, or leaves it out.
  asio::awaitable<void> take(const step& what);
  asio::awaitable<void> write(const step& what);
  asio::awaitable<void> read(const step& what);
  asio::awaitable<void> read_what_is_there(const step& what, std::size_t size);
  asio::awaitable<void> wait_read();
  asio::awaitable<void> wait_write();
  asio::awaitable<void> cancel_one(const step& what);
  asio::awaitable<void> cancel_all();
  asio::awaitable<void> available();
  asio::awaitable<void> shutdown(asio::socket_base::shutdown_type how);
  asio::awaitable<void> close(bool reset);
  asio::awaitable<void> exchange(const step& what);
  asio::awaitable<void> overfill(const step& what);
  asio::awaitable<void> reconnect();
  asio::awaitable<void> finish();

  // Parts of steps.
  asio::awaitable<void> connect();
  void begin_read(const step& what);
  asio::awaitable<std::size_t> perform_write(const step& what, std::size_t size,
                                             std::error_code& ec);
  /// The peer of the side whose step it is has got so many bytes.
  asio::awaitable<void> delivered(std::size_t size);
  /// What is pending at it has been ended.
  asio::awaitable<void> pending_end(side& at);
  asio::awaitable<void> ended(side& at, pending_read each);
  asio::awaitable<void> progressed(const pending_read& each);
  asio::awaitable<void> all_arrived();

  void note(const std::string& what);
  void note_read(side& at, std::string_view bytes, std::error_code ec);

  subject& own() { return client_ ? peers_.client : peers_.server; }
  subject& other() { return client_ ? peers_.server : peers_.client; }
  side& mine() { return client_ ? client_side_ : server_side_; }
  side& its() { return client_ ? server_side_ : client_side_; }
  char salt(const side& writer) const { return &writer == &client_side_ ? 'c' : 's'; }
  std::string bytes(const side& writer, std::size_t from, std::size_t size) const;
  bool is_reference() const { return peers_.by == carrier::reference; }

  transcript& into_;
  // The memory of what is pending; outlives the streams.
  side client_side_, server_side_;
  peers peers_;
  bool client_ = true;
  std::size_t step_ = 0;
};

}  // namespace smc::test
