#include <asio/error.hpp>
#include <smc/config.hpp>
#include <smc/detail/acceptor_api.hpp>

#include "stream/acceptor_core.hpp"
#include "stream/stream_core.hpp"
#include "system/tcp_sockets.hpp"

namespace smc::detail {

void accepted_deleter::operator()(accepted_connection* connection) const noexcept {
  delete connection;
}

std::shared_ptr<acceptor_core> make_acceptor(const asio::any_io_executor& executor,
                                             const config* settings) {
  auto& service = context_service::of(executor);
  auto core = std::make_shared<acceptor_core>(executor, service, settings_or_default(settings));
  service.add_host(*core);
  return core;
}

void release_acceptor(std::shared_ptr<acceptor_core>&& core) noexcept {
  if (core) acceptor_core::release(std::move(core));
}

operation_host& host_of(acceptor_core& core) noexcept { return core; }

bool is_open(const acceptor_core& core) noexcept { return core.is_open(); }

std::error_code open(acceptor_core& core, const asio::ip::tcp& protocol) {
  std::error_code error;
  core.acceptor().open(protocol, error);
  if (!error) error = system::close_on_exec(core.acceptor().native_handle());
  return error;
}

std::error_code bind(acceptor_core& core, const asio::ip::tcp::endpoint& endpoint) {
  std::error_code error;
  core.acceptor().bind(endpoint, error);
  return error;
}

std::error_code listen(acceptor_core& core, int backlog) { return core.listen(backlog); }
std::error_code close(acceptor_core& core) noexcept { return core.close(); }

std::error_code cancel(acceptor_core& core) noexcept {
  if (!core.is_open()) return asio::error::bad_descriptor;
  core.cancel_all();
  return {};
}

std::error_code set_option(acceptor_core& core, int level, int name, const void* value,
                           std::size_t size) noexcept {
  return core.set_option(level, name, value, size);
}

std::error_code get_option(const acceptor_core& core, int level, int name, void* value,
                           std::size_t* size) noexcept {
  return core.get_option(level, name, value, size);
}

std::error_code local_endpoint(const acceptor_core& core,
                               asio::ip::tcp::endpoint& endpoint) noexcept {
  std::error_code error;
  endpoint = core.acceptor().local_endpoint(error);
  return error;
}

bool non_blocking(const acceptor_core& core) noexcept { return core.non_blocking(); }

std::error_code non_blocking(acceptor_core& core, bool mode) noexcept {
  if (!core.is_open()) return asio::error::bad_descriptor;
  core.non_blocking(mode);
  return {};
}

std::error_code wait(acceptor_core& core, asio::socket_base::wait_type what) noexcept {
  if (what != asio::socket_base::wait_read) return asio::error::operation_not_supported;
  return core.wait();
}

std::error_code accept(acceptor_core& core, const asio::any_io_executor& executor,
                       accepted_ptr& accepted) noexcept {
  core.expect(executor);
  return core.accept(accepted);
}

void expect(acceptor_core& core, const asio::any_io_executor& executor) { core.expect(executor); }

std::error_code adopt(stream_core& stream, accepted_ptr accepted, asio::ip::tcp::endpoint* peer) {
  if (peer) *peer = accepted->peer;
  return stream.adopt(std::move(*accepted));
}

bool accept_step(operation& op, void* target, accepted_ptr& accepted) noexcept {
  return static_cast<acceptor_core*>(target)->take(op, accepted);
}

bool accept_wait_step(operation&, void* target) noexcept {
  return static_cast<acceptor_core*>(target)->ready_to_accept();
}

}  // namespace smc::detail
