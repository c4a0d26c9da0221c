#pragma once
// Work requests and completions.
//
// Their layout is that of ibv_send_wr, ibv_recv_wr, ibv_sge and ibv_wc, which are part of
// libibverbs' stable interface: the verbs device hands them on as they are, without a copy per
// request, and compiles only where the layouts agree. Names and values are those of verbs too.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace smc::rdma {

/// A piece of registered memory.
struct memory_part {
  std::uint64_t address = 0;
  std::uint32_t length = 0;
  std::uint32_t lkey = 0;
};

enum class operation : std::uint32_t { rdma_write = 0, send = 2 };

namespace send_flag {
/// A completion for this request, not only for its failure.
inline constexpr std::uint32_t signaled = 2;
/// Wakes a receiver that has armed its queue for solicited completions only.
inline constexpr std::uint32_t solicited = 4;
/// The bytes are taken at once; the memory need not be registered and may be reused.
inline constexpr std::uint32_t in_line = 8;
}  // namespace send_flag

/// A request to send. `parts` and what they name must stay as they are until it has completed
/// (with in_line: until it is posted); the struct itself only until it is posted.
struct send_request {
  std::uint64_t id = 0;
  send_request* next = nullptr;
  memory_part* parts = nullptr;
  std::int32_t part_count = 0;
  operation what = operation::send;
  std::uint32_t flags = 0;
  std::uint32_t immediate = 0;       ///< unused
  std::uint64_t remote_address = 0;  ///< rdma_write
  std::uint32_t rkey = 0;            ///< rdma_write
  std::uint32_t reserved_key = 0;
  std::array<std::uint64_t, 9> reserved{};  ///< of operations that are not used here
};

struct receive_request {
  std::uint64_t id = 0;
  receive_request* next = nullptr;
  memory_part* parts = nullptr;
  std::int32_t part_count = 0;
};

enum class completion_status : std::uint32_t {
  success = 0,
  local_length_error,
  local_queue_pair_error,
  local_eec_error,
  local_protection_error,
  flushed,
  memory_window_error,
  bad_response,
  local_access_error,
  remote_invalid_request,
  remote_access_error,
  remote_operation_error,
  retry_exceeded,
  receiver_not_ready_exceeded,
  local_rdd_violation,
  remote_invalid_read,
  remote_aborted,
  invalid_eec_number,
  invalid_eec_state,
  fatal,
  response_timeout,
  general_error
};

std::string_view to_string(completion_status s) noexcept;

enum class completed_operation : std::uint32_t { send = 0, rdma_write = 1, receive = 128 };

/// What became of a request. Where `status` is not success only id, status, vendor_error and qpn
/// mean something.
struct completion {
  std::uint64_t id = 0;
  completion_status status = completion_status::success;
  completed_operation what = completed_operation::send;
  std::uint32_t vendor_error = 0;
  std::uint32_t length = 0;  ///< bytes received
  std::uint32_t immediate = 0;
  std::uint32_t qpn = 0;  ///< of our queue pair
  std::uint32_t source_qpn = 0;
  std::uint32_t flags = 0;
  std::uint16_t pkey_index = 0;
  std::uint16_t source_lid = 0;
  std::uint8_t service_level = 0;
  std::uint8_t path_bits = 0;
};

/// Links requests that lie in a row to one list, to be posted with one call. Requires at least one.
template <typename Requests>
auto& chained(Requests&& requests) noexcept {
  const std::span list(requests);
  for (std::size_t i = 1; i < list.size(); ++i) list[i - 1].next = &list[i];
  list.back().next = nullptr;
  return list.front();
}

}  // namespace smc::rdma
