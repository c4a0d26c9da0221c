#pragma once
// How transports are chosen and sized: a plain value, filled from the environment or by the
// program.
//
// Sources, later ones win: the defaults written here, the environment (config::from_environment,
// read at the first use of config::process_default), the program (config::set_process_default; a
// config given to one stream or acceptor). A wrong value is never replaced in silence: whoever
// reads it gets an exception that names the variable, its value and what would be right. Variables
// are not read in set-user-id programs. Unknown variables are ignored.
//
// Sizes are bytes, written as a number with an optional K, M or G (powers of 1024): 128K. Durations
// are written with their unit: 50us, 200ms, 1s. Lists are separated by commas, without spaces.
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <smc/spin_policy.hpp>
#include <smc/transport_kind.hpp>
#include <smc/version.hpp>
#include <string>
#include <vector>

namespace smc {

/// What happens when the transport that was wanted can't be had.
enum class fallback_policy {
  allow,  ///< the connection is TCP, and fallback_reason() says why
  forbid  ///< connecting fails with the reason
};

/// An exception for some peers. A rule matches a connection if each of peer, port and program does
/// that it names. Each setting that rules give (transports, ring_size) comes from the most specific
/// matching rule that gives it, else from the config: a rule for ring sizes leaves the transports
/// to others.
///
/// More specific is, in this order: the narrower peer; naming a port; naming a program; standing
/// earlier in config::rules. Peers from wide to narrow: all; networks, by the length of their
/// prefix; "unix"; loopback networks (127.0.0.0/8 and inside it, ::1) and single addresses. Of
/// equal prefixes one with an interface is narrower.
///
/// Both sides ask their own rules, before the handshake decides: the client about the endpoint that
/// it connects to, the server about the address of its client and its own port. A rule without
/// anything faster than TCP makes the connection TCP, even where fallback is forbidden, and
/// fallback_reason() is then reason::not_configured on the side that has the rule; on the other
/// one, too, if it made an offer.
///
/// Wrong rules are an error where a config is handed in: std::invalid_argument naming rule, field,
/// value and what is right.
struct rule {
  /// An address or network, "10.0.0.0/8", "::1", "fe80::%eth0/10"; "unix" for peers of this host,
  /// whatever address of it they use; empty: all. IPv4-mapped addresses are IPv4 on both sides of
  /// the comparison: "::/0" is IPv6 only. Without an interface (%) a link-local network is meant on
  /// all interfaces; a name of one is looked up once, where the config is handed in. Bits behind
  /// the prefix are an error.
  std::string peer;
  std::uint16_t port = 0;  ///< of the listening side; 0: any
  std::string program;     ///< base name of the own executable; empty: any
  /// As config::transports; empty: this rule does not set them.
  std::vector<transport_kind> transports;
  std::optional<std::size_t> ring_size;  ///< as config::ring_size

  bool operator==(const rule&) const = default;
};

/// Threading: a value like std::string. The static functions may be called from any thread.
class config {
 public:
  /// The defaults with what the environment says.
  /// Throws std::invalid_argument for a wrong value; its text names variable, value and what is
  /// right.
  static config from_environment();

  /// What streams and acceptors use that were given no config of their own: from the environment at
  /// first use, unless set before. With an invalid environment every call throws as
  /// from_environment(), and so does the first stream or acceptor. The reference stays valid as
  /// long as the program, unchanged by later calls of set_process_default.
  static const config& process_default();

  /// Replaces the process's default for what is created from now on. Meant for the start of a
  /// program: each call keeps its value for the life of the process. Throws std::invalid_argument,
  /// naming the field, for a value that the environment would not be allowed either.
  static void set_process_default(config value);

  /// Transports to use, in order of preference; TCP is the fallback whether listed or not.
  /// SMC_TRANSPORTS=smc-d,smc-r,tcp
  std::vector<transport_kind> transports = {transport_kind::smc_d, transport_kind::smc_r,
                                            transport_kind::tcp};

  /// SMC_FALLBACK=allow|forbid
  fallback_policy fallback = fallback_policy::allow;

  /// Bytes of one direction's ring, 16 KiB to 512 MiB, rounded up to a power of two. SMC_RING=128K
  std::size_t ring_size = std::size_t{128} << 10;

  /// Bytes that all rings of the process may take together; beyond it new connections get smaller
  /// rings and then TCP. 0: automatic, an eighth of the smaller of the machine's memory and the
  /// memory control group's limit. SMC_BUFFER_MEMORY=automatic
  std::size_t buffer_memory_limit = 0;

  /// Write straight into the peer's ring where the device can map it; otherwise through a send ring
  /// of one's own, as devices need that can't. SMC_MAP_SEND_BUFFER=1
  bool map_send_buffer = true;

  /// Loops' and blocked callers' polling before they sleep. SMC_SPIN=automatic|never|50us, the last
  /// sets `fixed` and the time, 1 µs to 1 s.
  spin_policy spin = spin_policy::automatic;
  std::chrono::microseconds spin_time{50};

  /// How long to wait for a local peer's answer before the connection is TCP; 1 ms to 1 h, as the
  /// two below. SMC_HANDSHAKE_TIMEOUT=1s
  std::chrono::milliseconds handshake_timeout{1000};
  /// For an answer to a proposal sent in band. SMC_CLC_TIMEOUT=6s
  std::chrono::milliseconds clc_timeout{6000};
  /// For a proposal in band, and only where one is expected. SMC_DETECT_TIMEOUT=200ms
  std::chrono::milliseconds detect_timeout{200};

  /// A folder for rendezvous sockets, for containers that share a volume but no network namespace:
  /// an absolute path of at most 56 characters. Empty: abstract names only. SMC_RENDEZVOUS=/run/smc
  std::string rendezvous_directory;

  /// Users whose processes may share memory with this one; empty: the own user only.
  /// SMC_ALLOWED_UIDS=1000,1001
  std::vector<uid_t> allowed_uids;

  /// Enterprise ids for SMC-R version 2, at most 4 of at most 32 characters: upper-case letters,
  /// digits, '.' and
  /// '-', the first a letter or digit. SMC_EID=NAME,NAME
  std::vector<std::string> eids;

  /// Exceptions for some peers. Not in the environment.
  std::vector<rule> rules;

  bool operator==(const config&) const = default;
};

}  // namespace smc
