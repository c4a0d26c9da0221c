#include "conformance/differential/player.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "conformance/differential/buffers.hpp"

namespace smc::test {

namespace {

// What every transport holds without a reader. A ring's reader may keep a quarter of it that it has
// read for itself.
constexpr std::size_t room = test_ring / 4 * 3 - 1;
constexpr std::size_t one_segment = 512;  // arrives whole
constexpr std::size_t reads_at_most = 4;  // that wait
constexpr std::size_t buffers_at_once = 16;

}  // namespace

const char* name_of(const std::error_code& ec) {
  if (!ec) return "ok";
  if (ec == asio::error::eof) return "end of stream";
  if (ec == asio::error::operation_aborted) return "aborted";
  if (ec == asio::error::connection_reset) return "reset";
  if (ec == asio::error::broken_pipe) return "broken pipe";
  if (ec == asio::error::bad_descriptor) return "bad descriptor";
  if (ec == asio::error::would_block) return "would block";
  if (ec == asio::error::not_connected) return "not connected";
  return "another error";
}

asio::awaitable<void> player::play(const script& what) {
  co_await connect();
  for (const step& each : what) {
    ++step_;
    if (!client_side_.open && !server_side_.open) co_await reconnect();
    client_ = each.by_client;
    co_await take(each);
  }
  co_await finish();
}

asio::awaitable<void> player::connect() {
  co_await peers_.connect();
  for (subject* each : {&peers_.client, &peers_.server}) {
    // Once for all: leaving the mode again makes Asio's pending operations block.
    each->non_blocking(true);
    // Else TCP holds small writes back for a while.
    each->with([](auto& s) { s.set_option(tcp::no_delay(true)); });
  }
}

asio::awaitable<void> player::take(const step& what) {
  switch (what.what) {
    case verb::write:
    case verb::write_some:
    case verb::write_now:
    case verb::write_in_place:
      return write(what);
    case verb::read:
    case verb::read_some:
    case verb::read_now:
    case verb::read_in_place:
      return read(what);
    case verb::wait_read:
      return wait_read();
    case verb::wait_write:
      return wait_write();
    case verb::cancel_one:
      return cancel_one(what);
    case verb::cancel_all:
      return cancel_all();
    case verb::available:
      return available();
    case verb::shutdown_send:
      return shutdown(asio::socket_base::shutdown_send);
    case verb::shutdown_receive:
      return shutdown(asio::socket_base::shutdown_receive);
    case verb::shutdown_both:
      return shutdown(asio::socket_base::shutdown_both);
    case verb::close:
      return close(false);
    case verb::reset:
      return close(true);
    case verb::exchange:
      return exchange(what);
    case verb::overfill:
      return overfill(what);
    case verb::reconnect:
      return reconnect();
  }
  throw std::logic_error("no such step");
}

// ---- notes

void player::note(const std::string& what) {
  into_.lines.push_back(std::to_string(step_) + (client_ ? " client " : " server ") + what);
}

std::string player::bytes(const side& writer, std::size_t from, std::size_t size) const {
  std::string text = pattern_text(from, size);
  for (char& each : text) each = static_cast<char>(each ^ salt(writer));
  return text;
}

/// A read of `at` took these bytes.
void player::note_read(side& at, std::string_view got, std::error_code ec) {
  const side& writer = &at == &client_side_ ? server_side_ : client_side_;
  const bool right = got == bytes(writer, at.read, got.size());
  note("got " + std::to_string(got.size()) + (right ? " right" : " WRONG") + " bytes, " +
       name_of(ec));
  at.read += got.size();
  if (ec == asio::error::connection_reset) {  // told once
    at.reset_comes = false;
    at.end_comes = true;
  }
}

// ---- writing

asio::awaitable<std::size_t> player::perform_write(const step& what, std::size_t size,
                                                   std::error_code& ec) {
  const std::string text = bytes(mine(), mine().written, size);
  const auto list = spread<asio::const_buffer>(text.data(), size, what.pieces);
  // Asio 1.22 tells a second asynchronous operation of an end nothing.
  const bool over = is_reference() && mine().open && mine().sending_ended && size != 0;
  if (what.what == verb::write_now || over) {
    const std::size_t n = own().write_now(list, ec);
    co_return n;
  }
  if (what.what == verb::write_in_place && !is_reference() && mine().live() && size != 0) {
    auto prepared = own().prepare(size);
    ec = co_await prepared.end();
    if (ec) co_return 0;
    std::memcpy(prepared.room().data(), text.data(), size);
    own().own().commit(size);
    co_return size;
  }
  auto op = what.what == verb::write_some ? own().write_some(list) : own().write(list);
  ec = co_await op.end();
  co_return op.bytes();
}

asio::awaitable<void> player::write(const step& what) {
  side &me = mine(), &it = its();
  // To a peer that is gone TCP writes until it hears of it.
  if (me.open && !it.open) co_return;
  if (me.open && it.receiving_ended) co_return;
  std::size_t size = what.size;
  if (me.open && !me.sending_ended) {
    size = std::min(size, it.idle() ? room - std::min(room, it.unread) : one_segment);
  }
  step now = what;
  // Arrives at once, whatever waits for it.
  if (!it.idle()) now.pieces = std::min(now.pieces, buffers_at_once);
  std::error_code ec;
  std::size_t n = co_await perform_write(now, size, ec);
  if (!ec && n < size && now.pieces > buffers_at_once) {
    // How many buffers one operation takes is a transport's own affair: the rest, with the next.
    me.written += n;
    const step rest{verb::write, client_, size - n, 1, 0};
    const std::size_t more = co_await perform_write(rest, size - n, ec);
    me.written -= n;
    n += more;
  }
  note("wrote " + std::to_string(n) + " bytes, " + name_of(ec));
  co_await delivered(n);
}

asio::awaitable<void> player::delivered(std::size_t size) {
  side& it = its();
  mine().written += size;
  it.unread += size;
  if (size != 0 && it.wait) {
    const auto ec = co_await it.wait->end();
    it.wait.reset();
    note(std::string("ended the wait, ") + name_of(ec));
  }
  while (it.unread != 0 && !it.reads.empty()) {
    pending_read& first = it.reads.front();
    const std::size_t taken = std::min(it.unread, first.size - first.got);
    it.unread -= taken;
    first.got += taken;
    if (first.composed && first.got != first.size) {
      co_await progressed(first);
    } else {
      pending_read done = std::move(first);
      it.reads.pop_front();
      co_await ended(it, std::move(done));
    }
  }
}

// ---- reading

asio::awaitable<void> player::progressed(const pending_read& each) {
  co_await until([&each] { return each.op.done() || *each.progress >= each.got; });
}

asio::awaitable<void> player::ended(side& at, pending_read each) {
  const auto ec = co_await each.op.end();
  note_read(at, std::string_view(*each.into).substr(0, each.op.bytes()), ec);
}

asio::awaitable<void> player::pending_end(side& at) {
  if (at.wait) {
    const auto ec = co_await at.wait->end();
    at.wait.reset();
    note(std::string("ended the wait, ") + name_of(ec));
  }
  while (!at.reads.empty()) {
    pending_read first = std::move(at.reads.front());
    at.reads.pop_front();
    co_await ended(at, std::move(first));
  }
}

void player::begin_read(const step& what) {
  pending_read made{step_,
                    what.size,
                    what.what != verb::read_some,
                    0,
                    std::make_shared<std::string>(what.size, '\0'),
                    std::make_shared<std::size_t>(0),
                    operation(nullptr)};
  const auto list = spread<asio::mutable_buffer>(made.into->data(), what.size, what.pieces);
  if (made.composed) {
    made.op = own().read(
        list, [p = made.progress, size = what.size](const std::error_code& ec, std::size_t n) {
          *p = n;
          return ec ? 0 : size - n;
        });
  } else {
    made.op = own().read_some(list);
  }
  mine().reads.push_back(std::move(made));
}

asio::awaitable<void> player::read(const step& what) {
  side& me = mine();
  if (me.open && me.wait) co_return;
  if (me.open && !me.reads.empty()) {
    const bool queues = what.what == verb::read_some && !me.reads.front().composed &&
                        me.reads.size() < reads_at_most && what.size != 0 &&
                        what.pieces <= buffers_at_once;
    if (!queues) co_return;
    begin_read(what);
    note("queued a read");
    co_return;
  }
  const bool waits = me.open && me.unread < what.size && !me.at_end() &&
                     (what.what == verb::read || (what.what == verb::read_some && me.unread == 0));
  if (!waits) {
    const bool partial = what.what == verb::read_some || what.what == verb::read_now;
    const std::size_t size =
        me.at_end() || partial || !me.open ? what.size : std::min(what.size, me.unread);
    co_await read_what_is_there(what, size);
    co_return;
  }
  if (what.pieces > buffers_at_once) co_return;
  const std::size_t there = std::exchange(me.unread, 0);
  begin_read(what);
  me.reads.back().got = there;
  if (me.reads.back().composed) co_await progressed(me.reads.back());
  note("began a read");
}

/// Ends in any case.
asio::awaitable<void> player::read_what_is_there(const step& what, std::size_t size) {
  side& me = mine();
  if (me.open) {
    co_await arrived(own(), me.unread);
    // A count of bytes is no promise beyond sixteen buffers.
    if (what.pieces > buffers_at_once) co_return;
  }
  std::string in(size, '\0');
  const auto list = spread<asio::mutable_buffer>(in.data(), size, what.pieces);
  std::error_code ec;
  std::size_t n = 0;
  const bool at_once = what.what == verb::read_now ||
                       // As in perform_write().
                       (is_reference() && me.open && me.unread == 0 && me.at_end() && size != 0);
  if (at_once) {
    n = own().read_now(list, ec);
  } else if (what.what == verb::read_in_place && !is_reference() && me.open && size != 0 &&
             size <= me.unread) {
    auto there = own().data(size);
    ec = co_await there.end();
    n = std::min(size, there.data().size());
    std::memcpy(in.data(), there.data().data(), n);
    if (!ec) own().own().consume(n);
  } else {
    auto op = what.what == verb::read_some ? own().read_some(list) : own().read(list);
    ec = co_await op.end();
    n = op.bytes();
  }
  me.unread -= std::min(me.unread, n);
  note_read(me, std::string_view(in).substr(0, n), ec);
}

}  // namespace smc::test
