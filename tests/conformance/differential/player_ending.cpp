// The steps of a script that end something, wait, or move much at once.
#include "conformance/differential/buffers.hpp"
#include "conformance/differential/player.hpp"

namespace smc::test {

namespace {

asio::cancellation_type type_of(unsigned variant) {
  static constexpr asio::cancellation_type types[] = {asio::cancellation_type::terminal,
                                                      asio::cancellation_type::partial,
                                                      asio::cancellation_type::total};
  return types[variant % 3];
}

}  // namespace

// ---- waiting and cancelling

asio::awaitable<void> player::wait_read() {
  side& me = mine();
  if (me.open && !me.idle()) co_return;
  co_await turns();  // Asio's reactor may still be about to tell of bytes that were read
  auto wait = own().wait(asio::socket_base::wait_read);
  if (!me.open || me.unread != 0 || me.at_end()) {
    const auto ec = co_await wait.end();
    note(std::string("waited for bytes, ") + name_of(ec));
  } else {
    me.wait = wait;
    note("waits for bytes");
  }
}

asio::awaitable<void> player::wait_write() {
  auto wait = own().wait(asio::socket_base::wait_write);
  const auto ec = co_await wait.end();
  note(std::string("waited for room, ") + name_of(ec));
}

asio::awaitable<void> player::cancel_one(const step& what) {
  side& me = mine();
  if (me.idle()) co_return;
  co_await turns();
  if (me.wait) {
    me.wait->cancel(type_of(what.variant));
    const auto ec = co_await me.wait->end();
    me.wait.reset();
    note(std::string("cancelled the wait, ") + name_of(ec));
    co_return;
  }
  const std::size_t which = what.size % me.reads.size();
  pending_read chosen = std::move(me.reads[which]);
  me.reads.erase(me.reads.begin() + static_cast<std::ptrdiff_t>(which));
  // Asio's composed operations know no total cancellation.
  const auto type = chosen.composed ? asio::cancellation_type::terminal : type_of(what.variant);
  chosen.op.cancel(type);
  co_await ended(me, std::move(chosen));
}

asio::awaitable<void> player::cancel_all() {
  co_await turns();
  note(std::string("cancelled, ") + name_of(own().cancel()));
  co_await pending_end(mine());
}

asio::awaitable<void> player::available() {
  side& me = mine();
  if (!me.open) {
    note(std::string("asked what is there, ") + name_of(own().available_error()));
    co_return;
  }
  co_await arrived(own(), me.unread);
  note("sees " + std::to_string(own().available()) + " bytes");
}

// ---- ending

asio::awaitable<void> player::all_arrived() {
  if (client_side_.open) co_await arrived(peers_.client, client_side_.unread);
  if (server_side_.open) co_await arrived(peers_.server, server_side_.unread);
}

asio::awaitable<void> player::shutdown(asio::socket_base::shutdown_type how) {
  side &me = mine(), &it = its();
  const bool sending = how != asio::socket_base::shutdown_receive;
  const bool receiving = how != asio::socket_base::shutdown_send;
  // Asio tells several reads of one end only where it is told of it several times; and what TCP
  // says of a connection that is over depends on how far its ends have travelled.
  if (me.open && (!it.open || (me.sending_ended && it.sending_ended))) co_return;
  if (me.reads.size() > 1 || it.reads.size() > 1) co_return;
  co_await all_arrived();
  note(std::string("shut down, ") + name_of(own().shutdown(how)));
  if (!me.open) co_return;
  if (receiving) {
    me.receiving_ended = true;
    co_await pending_end(me);
  }
  if (sending) {
    me.sending_ended = true;
    it.end_comes = true;
    if (it.unread == 0) co_await pending_end(it);
  }
}

asio::awaitable<void> player::close(bool reset) {
  side &me = mine(), &it = its();
  if (!me.open) {
    note(std::string("closed again, ") + name_of(own().close()));
    co_return;
  }
  if (it.open && it.reads.size() > 1) co_return;
  co_await all_arrived();
  const bool resets = reset || me.unread != 0;
  // Both ends have passed: TCP may have forgotten the connection.
  if (resets && it.open && (me.sending_ended || me.end_comes)) co_return;
  if (reset) {
    own().with([](auto& s) {
      std::error_code ec;
      s.set_option(asio::socket_base::linger(true, 0), ec);
    });
  }
  note(std::string("closed, ") + name_of(own().close()));
  me.open = false;
  me.unread = 0;
  co_await pending_end(me);
  if (!it.open) co_return;
  (resets ? it.reset_comes : it.end_comes) = true;
  if (it.unread == 0) co_await pending_end(it);
}

asio::awaitable<void> player::reconnect() {
  co_await all_arrived();
  // First, as one side's close may end the other's reads in time or not.
  for (const bool client : {true, false}) {
    client_ = client;
    if (mine().open && !mine().idle()) co_await cancel_all();
  }
  peers_.client.close();
  peers_.server.close();
  client_side_ = side();
  server_side_ = side();
  co_await connect();
  note("connected anew");
}

asio::awaitable<void> player::finish() {
  for (side* each : {&client_side_, &server_side_}) {
    client_ = each == &client_side_;
    if (!each->open) continue;
    if (!each->idle()) co_await cancel_all();
    if (each->unread != 0) {
      co_await read_what_is_there({verb::read, client_, each->unread, 1, 0}, each->unread);
    }
  }
}

// ---- much at once

asio::awaitable<void> player::exchange(const step& what) {
  side &me = mine(), &it = its();
  if (!me.live() || !it.live() || !me.idle() || !it.idle()) co_return;
  const bool both = what.variant % 2 == 0;
  const std::size_t size = what.size * (1 + what.variant % 9);
  const std::string out = bytes(me, me.written, size), back = bytes(it, it.written, size);
  std::string in(it.unread + size, '\0'), in_back(me.unread + size, '\0');
  auto there = other().read(spread<asio::mutable_buffer>(in.data(), in.size(), what.pieces));
  auto away = own().write(spread<asio::const_buffer>(out.data(), size, what.pieces));
  if (both) {
    auto here = own().read(asio::buffer(in_back));
    auto coming = other().write(asio::buffer(back));
    EXPECT_EQ(co_await coming.end(), std::error_code());
    const auto ec = co_await here.end();
    it.written += size;
    me.unread = 0;
    note_read(me, std::string_view(in_back).substr(0, here.bytes()), ec);
  }
  const auto written = co_await away.end();
  note("wrote " + std::to_string(away.bytes()) + " bytes, " + name_of(written));
  const auto ec = co_await there.end();
  me.written += size;
  it.unread = 0;
  note_read(it, std::string_view(in).substr(0, there.bytes()), ec);
}

asio::awaitable<void> player::overfill(const step& what) {
  side &me = mine(), &it = its();
  if (!me.live() || !it.live() || !me.idle() || !it.idle()) co_return;
  // What comes before it is read first: what follows is not in the pattern.
  std::string before(it.unread, '\0');
  auto first = other().read(asio::buffer(before));
  EXPECT_EQ(co_await first.end(), std::error_code());
  it.unread = 0;
  note_read(it, before, {});
  std::size_t filled = co_await fill(own());
  for (bool full = false; !full;) {
    auto more = own().write_some(asio::buffer("ffff", 4));
    co_await turns();
    if (more.done()) {  // TCP has moved bytes on
      filled += more.bytes();
      continue;
    }
    if (what.variant % 2 == 0) {
      own().cancel();
    } else {
      more.cancel(type_of(what.variant));
    }
    const auto ec = co_await more.end();
    filled += more.bytes();
    full = more.bytes() == 0;
    if (full) note(std::string("cancelled a write, ") + name_of(ec));
  }
  std::string in(filled, '\0');
  auto drained = other().read({asio::buffer(in)}, transfer_whole());
  EXPECT_EQ(co_await drained.end(), std::error_code());
  note(in == std::string(filled, 'f') ? "got all that was written" : "got SOMETHING ELSE");
}

// ---- a whole script

transcript play(const script& what, carrier by, place where, style how) {
  transcript told;
  try {
    world here(where);
    here.run([&]() -> asio::awaitable<void> {
      player plays(here.executor(), by, how, told);
      co_await plays.play(what);
    });
  } catch (const std::exception& e) {
    told.failure = e.what();
  }
  return told;
}

}  // namespace smc::test
