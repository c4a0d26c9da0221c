#include "negotiation/server_action.hpp"

#include <ostream>

namespace smc::negotiation {

std::string to_string(const server_action& a) {
  using kind = server_action::kind;
  const std::string connection =
      " connection " + std::to_string(static_cast<std::uint64_t>(a.connection));
  const std::string by = " attempt " + std::to_string(a.by.attempt) + " of link " +
                         std::to_string(static_cast<std::uint64_t>(a.by.link));
  const std::string because = " because " + make_error_code(a.why).message();
  switch (a.what) {
    case kind::answer:
      return "answer" + connection + by;
    case kind::establish:
      return "establish" + connection + by;
    case kind::abandon:
      return "abandon" + connection + by;
    case kind::send_decline:
      return "send decline" + by + because;
    case kind::deliver:
      return "deliver" + connection;
    case kind::deliver_tcp:
      return "deliver as tcp" + connection + because;
    case kind::drop:
      return "drop" + connection + because;
  }
  return "unknown action";
}

std::ostream& operator<<(std::ostream& out, const server_action& a) { return out << to_string(a); }

}  // namespace smc::negotiation
