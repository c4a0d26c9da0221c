#include "smcr/work_request.hpp"

namespace smc::rdma {

std::string_view to_string(completion_status s) noexcept {
  constexpr std::array<std::string_view, 22> texts{"success",
                                                   "local length error",
                                                   "local queue pair operation error",
                                                   "local EE context operation error",
                                                   "local protection error",
                                                   "flushed",
                                                   "memory window bind error",
                                                   "bad response",
                                                   "local access error",
                                                   "remote invalid request",
                                                   "remote access error",
                                                   "remote operation error",
                                                   "transport retry counter exceeded",
                                                   "receiver-not-ready retry counter exceeded",
                                                   "local RDD violation",
                                                   "remote invalid RD request",
                                                   "remote aborted",
                                                   "invalid EE context number",
                                                   "invalid EE context state",
                                                   "fatal error",
                                                   "response timeout",
                                                   "general error"};
  const auto place = static_cast<std::size_t>(s);
  return place < texts.size() ? texts[place] : "unknown status";
}

}  // namespace smc::rdma
