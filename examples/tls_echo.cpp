// TLS over shared memory: Asio's own ssl::stream, with one of ours below it.
//   tls_echo server PORT          (0: any free port; it is printed)
//   tls_echo client HOST PORT
// The server makes itself a certificate, and the client does not check whose it is: yours would.
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <array>
#include <asio.hpp>
#include <asio/ssl.hpp>
#include <csignal>
#include <exception>
#include <iostream>
#include <smc/smc.hpp>
#include <string>

using asio::awaitable;
using asio::use_awaitable;
using asio::ip::tcp;
using tls_stream = asio::ssl::stream<smc::stream>;

void rethrow(std::exception_ptr e) {
  if (e) std::rethrow_exception(e);  // leaves loop.run()
}

void must(bool done, const char* what) {
  if (!done) throw std::runtime_error(std::string("cannot make ") + what);
}

void make_certificate(asio::ssl::context& context) {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const std::unique_ptr<X509, decltype(&X509_free)> made(X509_new(), X509_free);
  must(key && made, "a key");
  X509_gmtime_adj(X509_getm_notBefore(made.get()), 0);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), 24 * 3600);
  X509_set_pubkey(made.get(), key.get());
  X509_NAME* const name = X509_get_subject_name(made.get());
  const std::string host = asio::ip::host_name();
  const auto* text = reinterpret_cast<const unsigned char*>(host.c_str());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, text, -1, -1, 0);
  X509_set_issuer_name(made.get(), name);
  must(X509_sign(made.get(), key.get(), EVP_sha256()) > 0, "a signature");
  must(SSL_CTX_use_certificate(context.native_handle(), made.get()) == 1, "use of a certificate");
  must(SSL_CTX_use_PrivateKey(context.native_handle(), key.get()) == 1, "use of a key");
}

awaitable<void> session(smc::stream connected, asio::ssl::context& context) try {
  tls_stream peer(std::move(connected), context);
  co_await peer.async_handshake(tls_stream::server, use_awaitable);
  std::array<char, 4096> bytes;
  for (;;) {
    std::error_code ec;
    const auto n =
        co_await peer.async_read_some(asio::buffer(bytes), asio::redirect_error(use_awaitable, ec));
    if (ec == asio::error::eof) break;
    if (ec) throw std::system_error(ec);
    co_await asio::async_write(peer, asio::buffer(bytes, n), use_awaitable);
  }
  co_await peer.async_shutdown(use_awaitable);
} catch (const std::system_error& e) {
  std::cerr << "client lost: " << e.what() << std::endl;
}

awaitable<void> serve(smc::acceptor& acceptor, asio::ssl::context& context) {
  for (;;) {
    smc::stream peer = co_await acceptor.async_accept(use_awaitable);
    asio::co_spawn(acceptor.get_executor(), session(std::move(peer), context), rethrow);
  }
}

awaitable<void> client(std::string host, std::string port, asio::ssl::context& context) {
  const auto executor = co_await asio::this_coro::executor;
  const auto found = co_await tcp::resolver(executor).async_resolve(host, port, use_awaitable);
  tls_stream stream(executor, context);
  co_await smc::async_connect(stream.next_layer(), found, use_awaitable);
  co_await stream.async_handshake(tls_stream::client, use_awaitable);
  std::cout << SSL_get_version(stream.native_handle()) << " over "
            << stream.next_layer().transport_name() << std::endl;
  const std::string text = "nobody but us";
  co_await asio::async_write(stream, asio::buffer(text), use_awaitable);
  std::string answer(text.size(), '\0');
  co_await asio::async_read(stream, asio::buffer(answer), use_awaitable);
  std::cout << "echoed " << answer << std::endl;
  co_await stream.async_shutdown(use_awaitable);
}

int main(int argc, char** argv) try {
  const std::string role = argc > 1 ? argv[1] : "";
  asio::ssl::context context(asio::ssl::context::tls);
  smc::event_loop loop;
  if (role == "server" && argc == 3) {
    make_certificate(context);
    smc::acceptor acceptor(loop, {tcp::v4(), static_cast<std::uint16_t>(std::stoi(argv[2]))});
    std::cout << "listening on port " << acceptor.local_endpoint().port() << std::endl;
    asio::co_spawn(loop, serve(acceptor, context), rethrow);
    asio::signal_set signals(loop, SIGINT, SIGTERM);
    signals.async_wait([&](std::error_code, int) { loop.stop(); });
    loop.run();
  } else if (role == "client" && argc == 4) {
    asio::co_spawn(loop, client(argv[2], argv[3], context), rethrow);
    loop.run();
  } else {
    std::cerr << "usage: tls_echo server PORT | client HOST PORT\n";
    return 2;
  }
} catch (const std::exception& e) {
  std::cerr << "tls_echo: " << e.what() << std::endl;
  return 1;
}
