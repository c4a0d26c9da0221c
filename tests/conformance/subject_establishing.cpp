// How subjects connect and are accepted, in each style.
#include <type_traits>

#include "conformance/style.hpp"
#include "conformance/subject.hpp"

namespace smc::test {

namespace {

template <typename Acceptor>
using socket_of = std::conditional_t<std::is_same_v<Acceptor, acceptor>, stream, tcp::socket>;

/// The stream of an accept that succeeded becomes a subject.
struct into_subject {
  std::optional<subject>* made;
  style how;

  template <typename Socket>
  void operator()(operation::state& s, std::error_code ec, Socket socket) const {
    s.finish(ec);
    if (!ec) made->emplace(std::move(socket), how);
  }
};

}  // namespace

operation subject::connect(const tcp::endpoint& to) {
  return with([&](auto& s) {
    return begin(how_, executor(),
                 [&s, to](auto&& token) { return s.async_connect(to, std::move(token)); });
  });
}

operation listener::accept(subject& into) {
  return with([&]<typename Acceptor>(Acceptor& a) {
    auto& peer = into.with([](auto& s) -> socket_of<Acceptor>& {
      if constexpr (std::is_same_v<decltype(s), socket_of<Acceptor>&>) return s;
      throw std::logic_error("the wrong kind of subject");
    });
    return begin(how_, a.get_executor(),
                 [&a, &peer](auto&& token) { return a.async_accept(peer, std::move(token)); });
  });
}

operation listener::accept(subject& into, tcp::endpoint& at) {
  return with([&]<typename Acceptor>(Acceptor& a) {
    auto& peer = into.with([](auto& s) -> socket_of<Acceptor>& {
      if constexpr (std::is_same_v<decltype(s), socket_of<Acceptor>&>) return s;
      throw std::logic_error("the wrong kind of subject");
    });
    return begin(how_, a.get_executor(), [&a, &peer, &at](auto&& token) {
      return a.async_accept(peer, at, std::move(token));
    });
  });
}

operation listener::accept(std::optional<subject>& made) {
  return with([&](auto& a) {
    return begin(
        how_, a.get_executor(), [&a](auto&& token) { return a.async_accept(std::move(token)); },
        into_subject{&made, how_});
  });
}

operation listener::accept(const asio::any_io_executor& executor, std::optional<subject>& made) {
  return with([&](auto& a) {
    return begin(
        how_, a.get_executor(),
        [&a, executor](auto&& token) { return a.async_accept(executor, std::move(token)); },
        into_subject{&made, how_});
  });
}

operation listener::wait() {
  return with([&](auto& a) {
    return begin(how_, a.get_executor(), [&a](auto&& token) {
      return a.async_wait(asio::socket_base::wait_read, std::move(token));
    });
  });
}

namespace {

/// Calls accept(acceptor, stream) with both as what they are.
template <typename Listener, typename Accept>
void with_both(Listener& at, subject& into, Accept&& accept) {
  at.with([&]<typename Acceptor>(Acceptor& a) {
    into.with([&](auto& s) {
      if constexpr (std::is_same_v<decltype(s), socket_of<Acceptor>&>) accept(a, s);
    });
  });
}

}  // namespace

std::error_code listener::accept_now(subject& into) {
  std::error_code ec;
  with_both(*this, into, [&ec](auto& a, auto& s) { a.accept(s, ec); });
  return ec ? ec : std::error_code();
}

std::error_code listener::accept_now(subject& into, tcp::endpoint& peer) {
  std::error_code ec;
  with_both(*this, into, [&](auto& a, auto& s) { a.accept(s, peer, ec); });
  return ec ? ec : std::error_code();
}

}  // namespace smc::test
