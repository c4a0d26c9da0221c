#include <ostream>
#include <smc/transport_kind.hpp>

namespace smc {

std::string_view to_string(transport_kind kind) noexcept {
  switch (kind) {
    case transport_kind::tcp:
      return "tcp";
    case transport_kind::smc_d:
      return "smc-d";
    case transport_kind::smc_r:
      return "smc-r";
    case transport_kind::other:
      return "other";
  }
  return "other";
}

std::ostream& operator<<(std::ostream& out, transport_kind kind) { return out << to_string(kind); }

}  // namespace smc
