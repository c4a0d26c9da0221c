#include "conformance/subject.hpp"

namespace smc::test {

namespace {

std::variant<stream, tcp::socket> make_socket(const asio::any_io_executor& executor, carrier by) {
  if (by == carrier::reference) return tcp::socket(executor);
  return stream(executor, settings_for(by));
}

std::variant<acceptor, tcp::acceptor> make_acceptor(const asio::any_io_executor& executor,
                                                    carrier by) {
  if (by == carrier::reference) return tcp::acceptor(executor);
  return acceptor(executor, settings_for(by));
}

std::variant<acceptor, tcp::acceptor> make_acceptor(const asio::any_io_executor& executor,
                                                    const tcp::endpoint& at, carrier by) {
  if (by == carrier::reference) return tcp::acceptor(executor, at);
  return acceptor(executor, at, settings_for(by));
}

// Success is one value, whichever category it comes with.
std::error_code told(const std::error_code& ec) { return ec ? ec : std::error_code(); }

}  // namespace

asio::awaitable<std::error_code> operation::end() {
  const operation kept = *this;
  // By reference: g++ 12 destroys twice what a lambda in a co_await expression captures by value.
  co_await until([&kept] { return kept.done(); });
  co_return kept.error();
}

// ---- subject -----------------------------------------------------------------------------------

subject::subject(const asio::any_io_executor& executor, carrier by, style how)
    : socket_(make_socket(executor, by)), how_(how) {}

asio::any_io_executor subject::executor() {
  return with([](auto& s) -> asio::any_io_executor { return s.get_executor(); });
}

bool subject::is_open() const {
  return std::visit([](auto& s) { return s.is_open(); }, socket_);
}

std::error_code subject::open() {
  std::error_code ec;
  with([&](auto& s) { s.open(tcp::v4(), ec); });
  return told(ec);
}

std::error_code subject::bind(const tcp::endpoint& to) {
  std::error_code ec;
  with([&](auto& s) { s.bind(to, ec); });
  return told(ec);
}

std::error_code subject::close() {
  std::error_code ec;
  with([&](auto& s) { s.close(ec); });
  return told(ec);
}

std::error_code subject::cancel() {
  std::error_code ec;
  with([&](auto& s) { s.cancel(ec); });
  return told(ec);
}

std::error_code subject::shutdown(asio::socket_base::shutdown_type what) {
  std::error_code ec;
  with([&](auto& s) { s.shutdown(what, ec); });
  return told(ec);
}

std::error_code subject::non_blocking(bool mode) {
  std::error_code ec;
  with([&](auto& s) { s.non_blocking(mode, ec); });
  return told(ec);
}

std::size_t subject::available() {
  return with([](auto& s) { return s.available(); });
}

std::error_code subject::available_error() {
  std::error_code ec;
  with([&](auto& s) { (void)s.available(ec); });
  return told(ec);
}

tcp::endpoint subject::local_endpoint() {
  return with([](auto& s) { return s.local_endpoint(); });
}

tcp::endpoint subject::remote_endpoint() {
  return with([](auto& s) { return s.remote_endpoint(); });
}

std::error_code subject::connect_now(const tcp::endpoint& to) {
  std::error_code ec;
  with([&](auto& s) { s.connect(to, ec); });
  return told(ec);
}

std::error_code subject::wait_now(asio::socket_base::wait_type what) {
  std::error_code ec;
  with([&](auto& s) { s.wait(what, ec); });
  return told(ec);
}

std::size_t subject::read_now(const mutable_list& to, std::error_code& ec) {
  return with([&](auto& s) { return s.read_some(to, ec); });
}

std::size_t subject::write_now(const const_list& from, std::error_code& ec) {
  return with([&](auto& s) { return s.write_some(from, ec); });
}

// ---- listener ----------------------------------------------------------------------------------

listener::listener(const asio::any_io_executor& executor, carrier by, style how)
    : acceptor_(make_acceptor(executor, by)), how_(how) {}

listener::listener(const asio::any_io_executor& executor, const tcp::endpoint& at, carrier by,
                   style how)
    : acceptor_(make_acceptor(executor, at, by)), how_(how) {}

tcp::endpoint listener::endpoint() {
  return with([](auto& a) { return a.local_endpoint(); });
}

std::error_code listener::close() {
  std::error_code ec;
  with([&](auto& a) { a.close(ec); });
  return told(ec);
}

std::error_code listener::cancel() {
  std::error_code ec;
  with([&](auto& a) { a.cancel(ec); });
  return told(ec);
}

// ---- what most tests do ------------------------------------------------------------------------

asio::awaitable<void> peers::connect() {
  auto accepted = at.accept(server);
  auto made = client.connect(at.endpoint());
  EXPECT_EQ(co_await made.end(), std::error_code());
  EXPECT_EQ(co_await accepted.end(), std::error_code());
  if (by == carrier::reference) co_return;
  EXPECT_EQ(client.own().transport(), expected(by)) << client.own().fallback_reason().message();
  EXPECT_EQ(server.own().transport(), expected(by)) << server.own().fallback_reason().message();
}

asio::awaitable<void> send(subject& to, std::string text) {
  auto write = to.write(asio::buffer(text));
  if (const auto error = co_await write.end()) throw std::system_error(error, "send");
  EXPECT_EQ(write.bytes(), text.size());
}

asio::awaitable<std::string> receive(subject& from, std::size_t size) {
  std::string text(size, '\0');
  auto read = from.read(asio::buffer(text));
  if (const auto error = co_await read.end()) throw std::system_error(error, "receive");
  EXPECT_EQ(read.bytes(), size);
  co_return text;
}

asio::awaitable<std::error_code> read_end(subject& from) {
  char in[16];
  if (from.is_reference()) {
    // Asio 1.22 may let a second asynchronous operation at an end wait for ever: its reactor tells
    // of an end once.
    std::error_code ec;
    EXPECT_EQ(from.read_now({asio::buffer(in)}, ec), 0u);
    co_return ec;
  }
  auto read = from.read_some(asio::buffer(in));
  co_await read.end();
  EXPECT_EQ(read.bytes(), 0u);
  co_return read.error();
}

asio::awaitable<std::error_code> write_end(subject& to) {
  if (to.is_reference()) {  // as above
    std::error_code ec;
    EXPECT_EQ(to.write_now({asio::buffer("x", 1)}, ec), 0u);
    co_return ec;
  }
  auto write = to.write_some(asio::buffer("x", 1));
  co_await write.end();
  EXPECT_EQ(write.bytes(), 0u);
  co_return write.error();
}

asio::awaitable<void> arrived(subject& at, std::size_t size) {
  co_await until([&at, size] { return at.available() >= size; });
}

asio::awaitable<std::size_t> fill(subject& from) {
  const bool before = from.with([](auto& s) { return s.non_blocking(); });
  EXPECT_EQ(from.non_blocking(true), std::error_code());
  const std::string block(50'000, 'f');
  std::size_t filled = 0;
  // TCP moves bytes on to the peer's side for a while: full is what stays full.
  for (int full = 0; full < 3; ++full) {
    std::error_code ec;
    for (; !ec; full = ec ? full : 0) filled += from.write_now({asio::buffer(block)}, ec);
    EXPECT_EQ(ec, asio::error::would_block);
    co_await turns();
  }
  EXPECT_EQ(from.non_blocking(before), std::error_code());
  co_return filled;
}

}  // namespace smc::test
