#pragma once
// What the command line asks for.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <smc/smc.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace smcperf {

inline constexpr std::uint16_t default_port = 5210;

enum class test_kind { latency, stream, rate, rr, connect };
enum class message_mode { some, whole, zero_copy };
enum class transport_choice { tcp, smc_d, automatic };
enum class executor_kind { event_loop, io_context };

std::string_view to_string(test_kind) noexcept;
std::string_view to_string(message_mode) noexcept;      // "some", "whole", "zero-copy"
std::string_view to_string(transport_choice) noexcept;  // "tcp", "smc-d", "auto"
std::string_view to_string(executor_kind) noexcept;

/// What both sides of a test are told.
struct endpoint_options {
  std::uint16_t port = default_port;
  std::size_t threads = 1;
  std::optional<std::size_t> ring;  ///< bytes; unset: as the environment says
  transport_choice transport = transport_choice::automatic;
  std::optional<smc::event_loop_options> spin;  ///< unset: as the environment says
  executor_kind executor = executor_kind::event_loop;
  bool bare = false;       ///< Asio's own TCP sockets instead of smc's streams
  std::optional<int> cpu;  ///< run on this CPU only
};

struct server_options : endpoint_options {
  std::string bind = "0.0.0.0";
  bool one_off = false;
};

struct client_options : endpoint_options {
  test_kind kind = test_kind::latency;
  std::string host;
  std::uint64_t size = 100;  ///< bytes of a message
  std::chrono::nanoseconds time = std::chrono::seconds(5);
  std::uint64_t count = 0;  ///< operations of the whole run; 0: until `time` is over
  std::chrono::nanoseconds warmup = std::chrono::milliseconds(100);
  std::size_t connections = 1;
  std::size_t in_flight = 1;  ///< connects at the same time
  message_mode mode = message_mode::some;
  bool request = false;
  bool json = false;
  std::chrono::nanoseconds interval = std::chrono::seconds(1);
};

/// The command line asked for help, or is wrong: what to print and how to exit.
struct refusal {
  int exit_code = 0;
  std::string text;
};

using command = std::variant<server_options, client_options, refusal>;

/// Reads the arguments after the program's name. Never throws for what a user typed.
command parse_command_line(const std::vector<std::string>& arguments);

/// The configuration of this side's streams and acceptor: the process default and what the options
/// change. Throws what smc::config::process_default() throws.
smc::config make_config(const endpoint_options& options);

}  // namespace smcperf
