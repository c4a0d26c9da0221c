#pragma once
#include <sys/types.h>

#include <smc/version.hpp>
#include <string>

namespace smc {

/// Who is at the other end of a connection, as the kernel (or the network) said during the
/// handshake.
struct peer_identity {
  enum class kind {
    unknown,  ///< plain TCP: nobody vouched for anything
    local,    ///< a process of this host: uid, gid and pid by SO_PEERCRED
    network   ///< another host: see `description`
  };

  kind type = kind::unknown;
  uid_t uid = static_cast<uid_t>(-1);
  gid_t gid = static_cast<gid_t>(-1);
  pid_t pid = 0;            ///< 0: unknown, or in a PID namespace that is not visible from here
  std::string description;  ///< for people
};

}  // namespace smc
