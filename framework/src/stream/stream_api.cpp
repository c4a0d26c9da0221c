#include <asio/error.hpp>
#include <asio/query.hpp>
#include <smc/config.hpp>
#include <smc/detail/stream_api.hpp>

#include "stream/stream_core.hpp"

namespace smc::detail {

namespace {

stream_core& core_of(void* target) { return *static_cast<stream_core*>(target); }

}  // namespace

std::shared_ptr<stream_core> make_stream(const asio::any_io_executor& executor,
                                         const config* settings) {
  auto& service = context_service::of(executor);
  auto core = std::make_shared<stream_core>(executor, service, settings_or_default(settings));
  service.add_host(*core);
  return core;
}

void release_stream(std::shared_ptr<stream_core>&& core) noexcept {
  if (core) stream_core::release(std::move(core));
}

operation_host& host_of(stream_core& core) noexcept { return core; }

bool is_open(const stream_core& core) noexcept { return core.is_open(); }
std::error_code open(stream_core& core, const asio::ip::tcp& protocol) {
  return core.open(protocol);
}
std::error_code bind(stream_core& core, const asio::ip::tcp::endpoint& endpoint) {
  return core.bind(endpoint);
}
std::error_code close(stream_core& core) noexcept { return core.close(); }
std::error_code cancel(stream_core& core) noexcept {
  if (!core.is_open()) return asio::error::bad_descriptor;
  core.cancel_all();
  return {};
}
std::error_code shutdown(stream_core& core, asio::socket_base::shutdown_type what) noexcept {
  return core.shutdown(what);
}
std::error_code set_option(stream_core& core, int level, int name, const void* value,
                           std::size_t size) noexcept {
  return core.set_option(level, name, value, size);
}
std::error_code get_option(const stream_core& core, int level, int name, void* value,
                           std::size_t* size) noexcept {
  return core.get_option(level, name, value, size);
}
std::error_code endpoint(const stream_core& core, asio::ip::tcp::endpoint& endpoint,
                         bool remote) noexcept {
  return core.endpoint(endpoint, remote);
}
bool non_blocking(const stream_core& core) noexcept { return core.non_blocking(); }
std::error_code non_blocking(stream_core& core, bool mode) noexcept {
  if (!core.is_open()) return asio::error::bad_descriptor;
  core.non_blocking(mode);
  return {};
}
std::error_code native_handle(stream_core& core, int& handle) noexcept {
  if (core.transport() != transport_kind::tcp) return asio::error::operation_not_supported;
  handle = core.tcp().number();
  return {};
}

std::error_code connect(stream_core& core, const asio::ip::tcp::endpoint& to) noexcept {
  return core.connect(to);
}
void begin_connect(stream_core& core, const asio::ip::tcp::endpoint& to) { core.begin_connect(to); }
void give_up_connect(stream_core& core) noexcept { core.give_up_connect(); }
transfer_result read(stream_core& core, mutable_buffers buffers) noexcept {
  return core.read(buffers);
}
transfer_result write(stream_core& core, const_buffers buffers) noexcept {
  return core.write(buffers);
}
transfer_result peek(stream_core& core, mutable_buffers buffers) noexcept {
  return core.peek(buffers);
}
std::error_code wait(stream_core& core, asio::socket_base::wait_type what) noexcept {
  return core.wait(what);
}
std::size_t available(stream_core& core, std::error_code& error) noexcept {
  return core.available(error);
}
std::error_code prepare(stream_core& core, std::size_t max, asio::mutable_buffer& room) noexcept {
  return core.prepare(max, room);
}
std::error_code commit(stream_core& core, std::size_t n) noexcept { return core.commit(n); }
std::error_code data(stream_core& core, asio::const_buffer& bytes) noexcept {
  return core.data(bytes);
}
std::error_code consume(stream_core& core, std::size_t n) noexcept { return core.consume(n); }

bool read_step(operation& op, void* target, mutable_buffers buffers, std::size_t& n) noexcept {
  return core_of(target).read_step(op, buffers, n);
}
bool write_step(operation& op, void* target, const_buffers buffers, std::size_t& n) noexcept {
  return core_of(target).write_step(op, buffers, n);
}
bool wait_step(operation& op, void* target, asio::socket_base::wait_type what) noexcept {
  return core_of(target).wait_step(op, what);
}
bool prepare_step(operation& op, void* target, std::size_t min,
                  asio::mutable_buffer& room) noexcept {
  return core_of(target).prepare_step(op, min, room);
}
bool data_step(operation& op, void* target, std::size_t min, asio::const_buffer& bytes) noexcept {
  return core_of(target).data_step(op, min, bytes);
}
bool connect_step(operation& op, void* target) noexcept { return core_of(target).connect_step(op); }

transport_kind transport(const stream_core& core) noexcept { return core.transport(); }
std::string_view transport_name(const stream_core& core) noexcept { return core.transport_name(); }
std::error_code fallback_reason(const stream_core& core) noexcept { return core.fallback_reason(); }
const peer_identity& peer(const stream_core& core) noexcept { return core.peer(); }
connection_statistics statistics(const stream_core& core) { return core.statistics(); }

}  // namespace smc::detail
