#pragma once
// What the templates of <smc/stream.hpp> call: a stream without its executor's type. Not for users.
#include <asio/any_io_executor.hpp>
#include <asio/buffer.hpp>
#include <asio/ip/tcp.hpp>
#include <cstddef>
#include <memory>
#include <smc/detail/operation.hpp>
#include <smc/detail/transfer_result.hpp>
#include <smc/peer_identity.hpp>
#include <smc/statistics.hpp>
#include <smc/transport_kind.hpp>
#include <span>
#include <string_view>
#include <system_error>

namespace smc {
class config;
}

namespace smc::detail {

class stream_core;

using mutable_buffers = std::span<const asio::mutable_buffer>;
using const_buffers = std::span<const asio::const_buffer>;

/// Queues of a stream's operations.
enum stream_queue : unsigned char { read_queue, write_queue, error_queue, connect_queue };

/// `settings`: nullptr for the process's default.
std::shared_ptr<stream_core> make_stream(const asio::any_io_executor& executor,
                                         const config* settings);
/// The stream object goes away.
void release_stream(std::shared_ptr<stream_core>&& core) noexcept;
operation_host& host_of(stream_core& core) noexcept;

bool is_open(const stream_core& core) noexcept;
std::error_code open(stream_core& core, const asio::ip::tcp& protocol);
std::error_code bind(stream_core& core, const asio::ip::tcp::endpoint& endpoint);
std::error_code close(stream_core& core) noexcept;
std::error_code cancel(stream_core& core) noexcept;
std::error_code shutdown(stream_core& core, asio::socket_base::shutdown_type what) noexcept;
std::error_code set_option(stream_core& core, int level, int name, const void* value,
                           std::size_t size) noexcept;
std::error_code get_option(const stream_core& core, int level, int name, void* value,
                           std::size_t* size) noexcept;
std::error_code endpoint(const stream_core& core, asio::ip::tcp::endpoint& endpoint,
                         bool remote) noexcept;
bool non_blocking(const stream_core& core) noexcept;
std::error_code non_blocking(stream_core& core, bool mode) noexcept;
std::error_code native_handle(stream_core& core, int& handle) noexcept;

std::error_code connect(stream_core& core, const asio::ip::tcp::endpoint& to) noexcept;
void give_up_connect(stream_core& core) noexcept;
void begin_connect(stream_core& core, const asio::ip::tcp::endpoint& to);
transfer_result read(stream_core& core, mutable_buffers buffers) noexcept;
transfer_result write(stream_core& core, const_buffers buffers) noexcept;
transfer_result peek(stream_core& core, mutable_buffers buffers) noexcept;
std::error_code wait(stream_core& core, asio::socket_base::wait_type what) noexcept;
std::size_t available(stream_core& core, std::error_code& error) noexcept;
std::error_code prepare(stream_core& core, std::size_t max, asio::mutable_buffer& room) noexcept;
std::error_code commit(stream_core& core, std::size_t n) noexcept;
std::error_code data(stream_core& core, asio::const_buffer& bytes) noexcept;
std::error_code consume(stream_core& core, std::size_t n) noexcept;

// The performing halves of operations; `target` is the core. False: would block.
bool read_step(operation& op, void* target, mutable_buffers buffers, std::size_t& n) noexcept;
bool write_step(operation& op, void* target, const_buffers buffers, std::size_t& n) noexcept;
bool wait_step(operation& op, void* target, asio::socket_base::wait_type what) noexcept;
bool prepare_step(operation& op, void* target, std::size_t min,
                  asio::mutable_buffer& room) noexcept;
bool data_step(operation& op, void* target, std::size_t min, asio::const_buffer& bytes) noexcept;
bool connect_step(operation& op, void* target) noexcept;

transport_kind transport(const stream_core& core) noexcept;
std::string_view transport_name(const stream_core& core) noexcept;
std::error_code fallback_reason(const stream_core& core) noexcept;
const peer_identity& peer(const stream_core& core) noexcept;
connection_statistics statistics(const stream_core& core);

}  // namespace smc::detail
