#pragma once
// A stream without its types: the TCP connection that owns the ports, the connection that carries
// the bytes (over TCP itself or something faster), and the operations that wait on it.
#include <asio/any_io_executor.hpp>
#include <asio/ip/tcp.hpp>
#include <atomic>
#include <memory>
#include <optional>
#include <smc/detail/operation.hpp>
#include <smc/detail/stream_api.hpp>
#include <string>

#include "statistics/connection_record.hpp"
#include "stream/context_service.hpp"
#include "stream/socket_options.hpp"
#include "stream/tcp_socket.hpp"
#include "stream/transport.hpp"

namespace smc::detail {

class connect_attempt;
struct accepted_connection;

/// What the program handed in, checked (std::invalid_argument), or the process's default, which
/// lives as long as the program.
std::shared_ptr<const config> settings_or_default(const config* settings);

/// What a handshake (or the lack of one) led to.
struct established {
  std::unique_ptr<connection> carrier;  ///< nullptr: the TCP connection itself
  transport_kind kind = transport_kind::tcp;
  std::string_view name = "tcp";  ///< of the transport, for good
  std::error_code reason;         ///< why nothing faster
  peer_identity peer;
};

class stream_core final : public operation_host,
                          private descriptor_watcher,
                          private lasting_watcher {
 public:
  stream_core(const asio::any_io_executor& executor, context_service& service,
              std::shared_ptr<const config> settings);
  ~stream_core() override;

  // Every function below: by one thread at a time, as for Asio's sockets.
  bool is_open() const noexcept { return tcp_.is_open(); }
  std::error_code open(const asio::ip::tcp& protocol);
  std::error_code bind(const asio::ip::tcp::endpoint& endpoint);
  std::error_code close() noexcept;
  std::error_code shutdown(asio::socket_base::shutdown_type what) noexcept;
  /// The stream object goes away: closes; lives on until the last operation was handed over.
  static void release(std::shared_ptr<stream_core> core) noexcept;

  std::error_code set_option(int level, int name, const void* value, std::size_t size) noexcept;
  std::error_code get_option(int level, int name, void* value, std::size_t* size) const noexcept;
  std::error_code endpoint(asio::ip::tcp::endpoint& endpoint, bool remote) const noexcept;
  void non_blocking(bool mode) noexcept { non_blocking_ = mode; }
  bool non_blocking() const noexcept { return non_blocking_; }

  transfer_result read(std::span<const asio::mutable_buffer> buffers) noexcept;
  transfer_result write(std::span<const asio::const_buffer> buffers) noexcept;
  transfer_result peek(std::span<const asio::mutable_buffer> buffers) noexcept;
  std::error_code wait(asio::socket_base::wait_type what) noexcept;
  std::size_t available(std::error_code& error) noexcept;
  std::error_code prepare(std::size_t max, asio::mutable_buffer& room) noexcept;
  std::error_code commit(std::size_t n) noexcept;
  std::error_code data(asio::const_buffer& bytes) noexcept;
  std::error_code consume(std::size_t n) noexcept;

  /// Connects in the calling thread, handshake included.
  std::error_code connect(const asio::ip::tcp::endpoint& to) noexcept;
  /// Begins a connect whose operation waits in the connect queue.
  void begin_connect(const asio::ip::tcp::endpoint& to);
  /// There is no operation for it.
  void give_up_connect() noexcept;
  /// Takes over an accepted connection.
  std::error_code adopt(accepted_connection&& accepted) noexcept;
  /// The client's handshake ended.
  void connected(const connect_attempt& attempt, std::error_code error, established&& outcome);

  // The performing halves of operations, with the lock held; false: would block.
  bool read_step(operation& op, std::span<const asio::mutable_buffer> buffers,
                 std::size_t& n) noexcept;
  bool write_step(operation& op, std::span<const asio::const_buffer> buffers,
                  std::size_t& n) noexcept;
  bool wait_step(operation& op, asio::socket_base::wait_type what) noexcept;
  bool prepare_step(operation& op, std::size_t min, asio::mutable_buffer& room) noexcept;
  bool data_step(operation& op, std::size_t min, asio::const_buffer& bytes) noexcept;
  bool connect_step(operation& op) noexcept;

  transport_kind transport() const noexcept { return outcome_.kind; }
  std::string_view transport_name() const noexcept { return outcome_.name; }
  std::error_code fallback_reason() const noexcept { return outcome_.reason; }
  const peer_identity& peer() const noexcept { return outcome_.peer; }
  connection_statistics statistics() const;

  const std::shared_ptr<const config>& shared_settings() const noexcept { return settings_; }
  context_service& service() noexcept { return service_; }
  tcp_socket& tcp() noexcept { return tcp_; }
  /// Ring sizes wished for by options; 0: as configured.
  std::size_t wanted_receive_size() const noexcept { return receive_size_; }
  std::size_t wanted_send_size() const noexcept { return send_size_; }

  void context_gone() noexcept override;
  void after_fork() noexcept override;

 private:
  struct side final : waiter {  // told by the connection
    stream_core* core = nullptr;
    direction which = direction::read;
    void ready() noexcept override;
    std::shared_ptr<void> keep_alive() noexcept override { return core->weak_from_this().lock(); }
  };

  void* target(unsigned char queue) noexcept override;
  std::error_code closed_error(unsigned char queue) const noexcept override;
  bool arm(unsigned char queue, operation& head) noexcept override;
  void disarm(unsigned char queue) noexcept override;
  void disarmed() noexcept override;
  void waiting_changed(int difference) override { service_.waiting_changed(difference, executor_); }

  bool on_lasting() noexcept override;
  void on_event(std::uint32_t epoll_events) noexcept override;
  void watch_tcp();
  void unwatch_tcp() noexcept;

  std::error_code not_usable(bool writing) const noexcept;
  transfer_result nothing_moved() const noexcept;
  std::error_code told_once(direction d, const std::error_code& error) noexcept;
  template <typename Try>
  std::error_code blocking(direction d, std::size_t min, Try&& attempt) noexcept;
  bool pass_on_leftover() noexcept;
  void drive_leftover() noexcept;
  std::error_code settle(established&& outcome) noexcept;
  void close_here(bool call_handlers = true) noexcept;

  const asio::any_io_executor executor_;
  context_service& service_;
  std::shared_ptr<const config> settings_;
  tcp_socket tcp_;
  std::unique_ptr<connection> connection_;
  std::shared_ptr<connect_attempt> attempt_;
  std::shared_ptr<connect_attempt> given_up_;  // to be cancelled without the lock
  std::optional<std::error_code> connect_result_;
  established outcome_;
  side read_side_;
  side write_side_;
  std::array<std::size_t, 2> wanted_{1, 1};  // by the heads of the read and the write queue
  std::optional<asio::any_io_executor>
      leftover_work_;  // committed bytes that the transport still holds
  std::optional<connection_record> record_;
  std::size_t receive_size_ = 0;
  std::size_t send_size_ = 0;
  std::atomic<bool> reset_told_{false};  // blocking calls of both directions may meet it at once
  socket_options options_;
  bool linger_reset_ = false;
  bool non_blocking_ = false;
  bool watched_ = false;  // the TCP connection under another transport
  bool gone_ = false;
};

}  // namespace smc::detail
