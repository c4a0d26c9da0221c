#include "life.hpp"

#include <cstring>

namespace smc::test {

namespace {
constexpr std::chrono::seconds too_long{20};
}  // namespace

void life::handler::store(const std::error_code& error) {
  if (!into_->started || into_->called) {
    const allocation_failures::pause uncounted;
    ADD_FAILURE() << "called " << (into_->called ? "twice" : "though its start threw");
  }
  into_->called = true;
  into_->error = error;
}

asio::any_io_executor life::executor() {
  if (loop_) return loop_->get_executor();
  return context_->get_executor();
}

bool life::ended_with(const char* step, std::string_view how) {
  const allocation_failures::pause uncounted;
  story_.assign(step).append(": ").append(how);
  return false;
}

/// A call that may throw, or tell an error.
template <typename Step>
bool life::attempt(const char* step, Step&& step_itself) {
  std::error_code error;
  try {
    step_itself(error);
  } catch (const std::bad_alloc&) {
    return ended_with(step, "std::bad_alloc");
  } catch (const std::system_error& thrown) {
    error = thrown.code();
  }
  if (!error) return true;
  const allocation_failures::pause uncounted;
  return ended_with(step, error.message());
}

/// The start of an operation.
template <typename Start>
bool life::begin(const char* step, result& into, Start&& start) {
  into = {};
  into.started = true;
  const bool begun = attempt(step, [&](std::error_code&) { start(handler(into)); });
  if (!begun) into.started = false;
  return begun;
}

void life::turn() {
  using namespace std::chrono_literals;
  try {
    if (loop_) {
      if (loop_->stopped()) loop_->restart();
      loop_->run_one_for(1ms);
    } else {
      if (context_->stopped()) context_->restart();
      context_->run_one_for(1ms);
    }
  } catch (const std::exception& e) {
    const allocation_failures::pause uncounted;
    ADD_FAILURE() << "run() threw " << e.what();
  }
}

template <typename Condition>
bool life::drive(const char* step, Condition&& condition) {
  const auto limit = std::chrono::steady_clock::now() + too_long;
  while (!condition()) {
    turn();
    if (std::chrono::steady_clock::now() < limit) continue;
    const allocation_failures::pause uncounted;
    ADD_FAILURE() << step << " does not end";
    return ended_with(step, "does not end");
  }
  return true;
}

bool life::succeeded(const char* step, result& of) {
  if (!drive(step, [&] { return of.called; })) return false;
  if (!of.error) return true;
  const allocation_failures::pause uncounted;
  return ended_with(step, of.error.message());
}

// ---- the steps

bool life::make() {
  return attempt("making the context",
                 [&](std::error_code&) {
                   if (where_ == place::event_loop) {
                     loop_.emplace();
                   } else {
                     context_.emplace();
                   }
                 }) &&
         attempt("listening",
                 [&](std::error_code&) { listener_.emplace(executor(), any_port(), settings_); }) &&
         attempt("making streams", [&](std::error_code&) {
           client_.emplace(executor(), settings_);
           server_.emplace(executor(), settings_);
         });
}

bool life::establish() {
  if (!begin("accepting", accepted_, [&](handler h) { listener_->async_accept(*server_, h); }) ||
      !begin("connecting", connected_,
             [&](handler h) { client_->async_connect(listener_->local_endpoint(), h); }) ||
      !succeeded("connecting", connected_)) {
    return false;
  }
  // Where its confirmation can't be carried out, the client hears of it.
  if (!begin("waiting", heard_,
             [&](handler h) { client_->async_wait(asio::socket_base::wait_read, h); })) {
    return false;
  }
  return drive("accepting", [&] { return accepted_.called || heard_.called; }) &&
         (accepted_.called || ended_with("accepting", "the client was refused")) &&
         succeeded("accepting", accepted_) && on_one_transport();
}

bool life::establish_blocking() {
  listener_->non_blocking(true);
  if (!attempt("connecting", [&](std::error_code& error) {
        client_->connect(listener_->local_endpoint(), error);
      })) {
    return false;
  }
  client_->non_blocking(true);
  std::error_code refused;
  const auto limit = std::chrono::steady_clock::now() + too_long;
  for (;;) {
    std::error_code error;
    const bool no_exception = attempt("accepting", [&](std::error_code&) {
      listener_->accept(*server_, error);
      if (error == asio::error::would_block) client_->wait(asio::socket_base::wait_read, refused);
    });
    if (!no_exception) return false;
    if (!error) break;
    if (error != asio::error::would_block) return ended_with("accepting", "an error");
    if (refused != asio::error::would_block) return ended_with("accepting", "was refused");
    if (std::chrono::steady_clock::now() > limit) {
      const allocation_failures::pause uncounted;
      ADD_FAILURE() << "accepting does not end";
      return false;
    }
  }
  client_->non_blocking(false);
  return on_one_transport();
}

bool life::on_one_transport() {
  const allocation_failures::pause uncounted;
  EXPECT_EQ(client_->transport(), server_->transport());
  fell_back_ = client_->transport() != expected(by_);
  if (fell_back_) {
    EXPECT_TRUE(client_->fallback_reason());
    EXPECT_TRUE(server_->fallback_reason());
    story_ = "tcp: " + client_->fallback_reason().message() + " / " +
             server_->fallback_reason().message();
  }
  return true;
}

bool life::transfer() {
  if (!begin("reading", read_,
             [&](handler h) { server_->async_read_some(asio::buffer(in_), h); }) ||
      !begin("writing", written_,
             [&](handler h) { client_->async_write_some(asio::buffer("ping", 4), h); }) ||
      !succeeded("writing", written_) || !succeeded("reading", read_)) {
    return false;
  }
  EXPECT_EQ(written_.bytes, 4u);
  EXPECT_EQ(std::string_view(in_, read_.bytes), "ping");
  return true;
}

bool life::in_place() {
  if (!begin("preparing", prepared_, [&](handler h) { server_->async_prepare(4, h); }) ||
      !begin("awaiting data", there_, [&](handler h) { client_->async_data(4, h); }) ||
      !succeeded("preparing", prepared_)) {
    return false;
  }
  std::memcpy(prepared_.room.data(), "pong", 4);
  if (!attempt("committing", [&](std::error_code&) { server_->commit(4); }) ||
      !succeeded("awaiting data", there_)) {
    return false;
  }
  EXPECT_EQ(std::string_view(static_cast<const char*>(there_.seen.data()), there_.seen.size()),
            "pong");
  return attempt("consuming", [&](std::error_code&) { client_->consume(4); });
}

bool life::part() {
  std::error_code ignored;
  client_->close(ignored);
  if (!begin("reading the end", ended_,
             [&](handler h) { server_->async_read_some(asio::buffer(in_), h); }) ||
      !drive("reading the end", [&] { return ended_.called; })) {
    return false;
  }
  // EXPECT is not for here: it may also be the failure's own error.
  if (ended_.error != asio::error::eof) return succeeded("reading the end", ended_);
  server_->close(ignored);
  return true;
}

/// Whatever was started has been told before the next client comes; only the accept goes on.
void life::over() {
  std::error_code ignored;
  if (client_) client_->close(ignored);
  if (server_) server_->close(ignored);
  for (result* each : {&connected_, &heard_, &read_, &written_, &prepared_, &there_, &ended_}) {
    if (each->started) (void)drive("ending", [&] { return each->called; });
  }
}

void life::asynchronous() {
  const bool gone_through = make() && establish() && transfer() && in_place() && part();
  complete_ = gone_through && !fell_back_;
  over();
}

void life::blocking() {
  const auto transfers = [this](std::error_code& error) {
    client_->write_some(asio::buffer("ping", 4), error);
    if (!error) server_->read_some(asio::buffer(in_), error);
    if (error) return;
    const auto room = server_->prepare(4);
    if (room.size() < 4) return;
    std::memcpy(room.data(), "pong", 4);
    server_->commit(4);
    client_->read_some(asio::buffer(in_), error);
    if (error) return;
    EXPECT_EQ(std::string_view(in_, 4), "pong");
    client_->close(error);
    server_->read_some(asio::buffer(in_), error);
    if (error == asio::error::eof) error.clear();
  };
  const bool gone_through = make() && establish_blocking() && attempt("transferring", transfers);
  complete_ = gone_through && !fell_back_;
  over();
}

// ---- behind the failure

void life::accept_more() {
  accepting_ = true;
  listener_->async_accept([this](std::error_code error, stream peer) {
    accepting_ = false;
    if (error == asio::error::operation_aborted) return;
    if (!error) later_.push_back(std::move(peer));
    accept_more();
  });
}

void life::next_client() {
  if (!loop_ && !context_) return;
  if (!listener_ || !listener_->is_open()) listener_.emplace(executor(), any_port(), settings_);
  if (!accepted_.started || accepted_.called) accept_more();
  client_.emplace(executor(), settings_);
  char byte = 'n';
  result connected, written;
  const auto served_by = [&](stream& each) {
    std::error_code error;
    return each.available(error) == 1 && each.read_some(asio::buffer(&byte, 1)) == 1;
  };
  if (begin("the next connecting", connected,
            [&](handler h) { client_->async_connect(listener_->local_endpoint(), h); }) &&
      succeeded("the next connecting", connected) &&
      begin("the next writing", written,
            [&](handler h) { client_->async_write_some(asio::buffer(&byte, 1), h); }) &&
      succeeded("the next writing", written)) {
    (void)drive("serving the next", [&] {
      if (accepted_.called && !accepting_) accept_more();
      if (accepted_.called && server_->is_open() && served_by(*server_)) return true;
      for (stream& each : later_) {
        if (served_by(each)) return true;
      }
      return false;
    });
  } else {
    ADD_FAILURE() << "the next client is not served: " << story_;
  }
}

void life::end() {
  if (listener_) {
    std::error_code ignored;
    listener_->close(ignored);
    (void)drive("ending the accept",
                [&] { return (!accepted_.started || accepted_.called) && !accepting_; });
  }
  later_.clear();
  client_.reset();
  server_.reset();
  listener_.reset();
  loop_.reset();
  context_.reset();
}

}  // namespace smc::test
