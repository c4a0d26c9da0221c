#pragma once
// What the templates of <smc/acceptor.hpp> call: an acceptor without its executor's type. Not for
// users.
#include <asio/any_io_executor.hpp>
#include <asio/ip/tcp.hpp>
#include <cstddef>
#include <memory>
#include <smc/detail/operation.hpp>
#include <smc/detail/stream_api.hpp>
#include <system_error>

namespace smc {
class config;
}

namespace smc::detail {

class acceptor_core;
struct accepted_connection;

/// Frees a connection that nobody took.
struct accepted_deleter {
  void operator()(accepted_connection* connection) const noexcept;
};
using accepted_ptr = std::unique_ptr<accepted_connection, accepted_deleter>;

std::shared_ptr<acceptor_core> make_acceptor(const asio::any_io_executor& executor,
                                             const config* settings);
void release_acceptor(std::shared_ptr<acceptor_core>&& core) noexcept;
operation_host& host_of(acceptor_core& core) noexcept;

bool is_open(const acceptor_core& core) noexcept;
std::error_code open(acceptor_core& core, const asio::ip::tcp& protocol);
std::error_code bind(acceptor_core& core, const asio::ip::tcp::endpoint& endpoint);
std::error_code listen(acceptor_core& core, int backlog);
std::error_code close(acceptor_core& core) noexcept;
std::error_code cancel(acceptor_core& core) noexcept;
std::error_code set_option(acceptor_core& core, int level, int name, const void* value,
                           std::size_t size) noexcept;
std::error_code get_option(const acceptor_core& core, int level, int name, void* value,
                           std::size_t* size) noexcept;
std::error_code local_endpoint(const acceptor_core& core,
                               asio::ip::tcp::endpoint& endpoint) noexcept;
bool non_blocking(const acceptor_core& core) noexcept;
std::error_code non_blocking(acceptor_core& core, bool mode) noexcept;
std::error_code wait(acceptor_core& core, asio::socket_base::wait_type what) noexcept;

/// Accepts in the calling thread, for a stream on `executor`.
std::error_code accept(acceptor_core& core, const asio::any_io_executor& executor,
                       accepted_ptr& accepted) noexcept;
/// Says where the streams of accepts to come will run.
void expect(acceptor_core& core, const asio::any_io_executor& executor);
/// Hands an accepted connection to a closed stream.
std::error_code adopt(stream_core& stream, accepted_ptr accepted, asio::ip::tcp::endpoint* peer);

bool accept_step(operation& op, void* target, accepted_ptr& accepted) noexcept;
bool accept_wait_step(operation& op, void* target) noexcept;

}  // namespace smc::detail
