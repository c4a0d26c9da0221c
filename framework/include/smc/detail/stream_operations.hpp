#pragma once
// What each asynchronous operation of a stream performs, and what its handler gets.
#include <asio/buffer.hpp>
#include <asio/error.hpp>
#include <asio/socket_base.hpp>
#include <cstddef>
#include <smc/detail/buffer_list.hpp>
#include <smc/detail/operation_impl.hpp>
#include <smc/detail/stream_api.hpp>
#include <system_error>
#include <tuple>

namespace smc::detail {

template <typename Buffers>
struct read_operation {
  Buffers buffers;
  std::size_t bytes = 0;

  bool perform(operation& op, void* target) noexcept {
    return read_step(op, target, buffer_list<asio::mutable_buffer, Buffers>(buffers).span(), bytes);
  }
  std::tuple<std::error_code, std::size_t> result(operation& op) const { return {op.error, bytes}; }
};

template <typename Buffers>
struct write_operation {
  Buffers buffers;
  std::size_t bytes = 0;

  bool perform(operation& op, void* target) noexcept {
    return write_step(op, target, buffer_list<asio::const_buffer, Buffers>(buffers).span(), bytes);
  }
  std::tuple<std::error_code, std::size_t> result(operation& op) const { return {op.error, bytes}; }
};

/// A read with flags.
template <typename Buffers>
struct receive_operation {
  Buffers buffers;
  asio::socket_base::message_flags flags;
  std::size_t bytes = 0;

  bool perform(operation& op, void* target) noexcept {
    const buffer_list<asio::mutable_buffer, Buffers> list(buffers);
    if (flags == 0) return read_step(op, target, list.span(), bytes);
    if (flags != asio::socket_base::message_peek) {
      op.error = asio::error::operation_not_supported;
      return true;
    }
    if (list.span().empty()) return true;
    asio::const_buffer received;
    if (!data_step(op, target, 1, received)) return false;
    bytes = asio::buffer_copy(list.span(), received);
    if (bytes != 0) op.error.clear();  // which stands behind them
    return true;
  }
  std::tuple<std::error_code, std::size_t> result(operation& op) const { return {op.error, bytes}; }
};

/// A write with flags.
template <typename Buffers>
struct send_operation {
  Buffers buffers;
  asio::socket_base::message_flags flags;
  std::size_t bytes = 0;

  bool perform(operation& op, void* target) noexcept {
    if (flags == 0) {
      return write_step(op, target, buffer_list<asio::const_buffer, Buffers>(buffers).span(),
                        bytes);
    }
    op.error = asio::error::operation_not_supported;
    return true;
  }
  std::tuple<std::error_code, std::size_t> result(operation& op) const { return {op.error, bytes}; }
};

struct wait_operation {
  asio::socket_base::wait_type what;

  bool perform(operation& op, void* target) noexcept { return wait_step(op, target, what); }
  std::tuple<std::error_code> result(operation& op) const { return {op.error}; }
};

struct prepare_operation {
  std::size_t min;
  asio::mutable_buffer room;

  bool perform(operation& op, void* target) noexcept { return prepare_step(op, target, min, room); }
  std::tuple<std::error_code, asio::mutable_buffer> result(operation& op) const {
    return {op.error, room};
  }
};

struct data_operation {
  std::size_t min;
  asio::const_buffer bytes;

  bool perform(operation& op, void* target) noexcept { return data_step(op, target, min, bytes); }
  std::tuple<std::error_code, asio::const_buffer> result(operation& op) const {
    return {op.error, bytes};
  }
};

struct connect_operation {
  bool perform(operation& op, void* target) noexcept { return connect_step(op, target); }
  std::tuple<std::error_code> result(operation& op) const { return {op.error}; }
};

}  // namespace smc::detail
