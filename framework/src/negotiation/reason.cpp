#include <array>
#include <cstddef>
#include <smc/error.hpp>
#include <string>

namespace smc {
namespace {

struct description {
  std::string_view message;
  std::string_view remedy;
};

// Indexed by the value of the reason, which the static_assert below keeps complete.
constexpr std::array<description, 21> descriptions{{
    {"no reason", ""},
    {"the peer did not offer a faster transport",
     "Use asio-smc on the other side too, and check that its SMC_TRANSPORTS names more than tcp."},
    {"no SMC listener is announced at the destination",
     "Check that the server uses asio-smc, runs on this host in the same network namespace (or "
     "shares "
     "the directory named by SMC_RENDEZVOUS), and listens on the dialled port; for a remote server "
     "add a rule that names it."},
    {"the local peer runs as a user that is not allowed",
     "Run both programs as the same user, or add the other user's id to allowed_uids on both "
     "sides."},
    {"the peer could not be proven to be on this host",
     "Shared memory needs both programs on one host; for a remote peer configure smc-r."},
    {"the system has no memory for the connection's rings",
     "Free memory or raise the memory limit of the control group or container; smaller rings "
     "(SMC_RING) need less."},
    {"the configured limit for buffer memory is reached",
     "Raise SMC_BUFFER_MEMORY or use smaller rings (SMC_RING)."},
    {"the process has no room for more memory mappings",
     "Raise the sysctl vm.max_map_count, or keep fewer connections with large rings open."},
    {"the process has no room for more open descriptors",
     "Raise the limit for open files (ulimit -n, or LimitNOFILE of the service)."},
    {"the rendezvous of the local peer could not be reached or has ended",
     "Check that the peer still runs and serves its event loop, and that the directory named by "
     "SMC_RENDEZVOUS is accessible to both programs."},
    {"the two sides have no protocol version in common",
     "Update asio-smc on the side that has the older version."},
    {"the peer did not answer the offer in time",
     "Check that the peer's event loop is not kept busy by long handlers, or raise "
     "SMC_HANDSHAKE_TIMEOUT on both sides."},
    {"the peer declined a faster transport",
     "Look at the fallback reasons counted by the peer: its own reason says what it lacks."},
    {"the configuration allows no faster transport for this connection",
     "Name the wanted transports in SMC_TRANSPORTS or in the rule that matches this peer."},
    {"there is no usable device for the wanted transport",
     "Check with ibv_devinfo that an RDMA device exists, that its port is active and that its "
     "network reaches the peer."},
    {"the two sides have no enterprise id (EID) in common",
     "Configure at least one equal name in SMC_EID on both sides."},
    {"the device did not register the connection's buffer",
     "Raise the limit for locked memory (ulimit -l, or LimitMEMLOCK of the service), or use "
     "smaller "
     "rings (SMC_RING)."},
    {"the link to the peer could not be set up or was lost",
     "Check cabling, switch and port state of the RDMA network, and that both sides reach each "
     "other's addresses on it."},
    {"the peer broke the protocol",
     "Update both sides to the same version of asio-smc; if it persists, report it together with "
     "both versions."},
    {"the stream belongs to the process before the fork",
     "Open new streams in the child, or fork before the first connection."},
    {"the system refused an operation that the transport needs",
     "Check seccomp, container and security module rules: memfd_create, pidfd_open and descriptor "
     "passing over local sockets are needed for shared memory, access to the RDMA device for "
     "smc-r."},
}};
static_assert(static_cast<std::size_t>(reason::not_permitted) + 1 == descriptions.size());

const description* find(int value) noexcept {
  if (value < 0 || static_cast<std::size_t>(value) >= descriptions.size()) return nullptr;
  return &descriptions[static_cast<std::size_t>(value)];
}

class reason_category_type final : public std::error_category {
 public:
  const char* name() const noexcept override { return "smc"; }

  std::string message(int value) const override {
    const description* known = find(value);
    if (!known) return "unknown reason " + std::to_string(value);
    return std::string(known->message);
  }

  // So that a caller who only cares for the kind of failure can compare with std::errc.
  std::error_condition default_error_condition(int value) const noexcept override {
    switch (static_cast<reason>(value)) {
      case reason::none:
        return {};
      case reason::no_memory:
      case reason::memory_limit:
      case reason::mapping_limit:
        return std::errc::not_enough_memory;
      case reason::descriptor_limit:
        return std::errc::too_many_files_open;
      case reason::handshake_timed_out:
        return std::errc::timed_out;
      case reason::protocol_error:
        return std::errc::protocol_error;
      case reason::no_device:
        return std::errc::no_such_device;
      case reason::other_user:
      case reason::not_permitted:
        return std::errc::operation_not_permitted;
      default:
        return {value, *this};
    }
  }
};

}  // namespace

const std::error_category& reason_category() noexcept {
  static const reason_category_type instance;
  return instance;
}

std::error_code make_error_code(reason why) noexcept {
  return {static_cast<int>(why), reason_category()};
}

std::string_view remedy(reason why) noexcept {
  const description* known = find(static_cast<int>(why));
  return known ? known->remedy : std::string_view();
}

}  // namespace smc
