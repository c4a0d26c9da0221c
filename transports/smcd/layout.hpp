#pragma once
// What lies in shared memory. Two processes with different builds of the library may meet here, so
// nothing depends on the compiler: fixed sizes, explicit places, a version.
//
// A ring's header lies in the slab of the process that reads the ring. Who writes which line:
//   fixed part      the reader, before the connection exists
//   producer line   the writer of the ring; the reader only clears writer_armed and writer_blocked
//   consumer line   the reader of the ring; the writer only clears reader_armed and reader_blocked
// Either side publishes with one store into its own line and one look at the other's.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace smc::smcd {

inline constexpr std::uint32_t layout_version = 1;
inline constexpr std::uint64_t ring_magic = 0x31676e6972636d73;   // "smcring1"
inline constexpr std::uint64_t inbox_magic = 0x31786f626e636d73;  // "smcnbox1"

/// Two lines: the hardware fetches them in pairs.
inline constexpr std::size_t line_distance = 128;
inline constexpr std::size_t page_size = 4096;

using shared_word = std::atomic<std::uint32_t>;
using shared_cursor = std::atomic<std::uint64_t>;
static_assert(shared_word::is_always_lock_free && shared_cursor::is_always_lock_free);
static_assert(sizeof(shared_word) == 4 && sizeof(shared_cursor) == 8);

/// Written once by the owner for each connection; checked once by the peer. Atomic because a
/// hostile owner may write while the peer looks.
struct ring_identity {
  std::atomic<std::uint64_t> magic;
  std::atomic<std::uint32_t> version;
  std::atomic<std::uint32_t> generation;  ///< of the ring; grows with each connection that uses it
  std::atomic<std::uint64_t>
      token;  ///< random for each connection: the proof that the memory is the right one
  std::atomic<std::uint64_t> ring_size;
};

struct producer_line {
  shared_cursor cursor;        ///< bytes written
  shared_word flags;           ///< close_flag
  shared_word writer_armed;    ///< the writer waits for space and wants an entry in its inbox
  shared_word writer_blocked;  ///< the writer sleeps on this word (futex)
  shared_word reserved;
  shared_cursor switch_at;  ///< from this byte on, another ring (0: never); for rings that grow
  std::atomic<std::uint64_t> attached;  ///< the ring's token, when the writer has mapped it
};

struct consumer_line {
  shared_cursor cursor;        ///< bytes consumed
  shared_word flags;           ///< close_flag of the reader's side: nobody will read any more
  shared_word reader_armed;    ///< the reader waits for bytes and wants an entry in its inbox
  shared_word reader_blocked;  ///< the reader sleeps on this word (futex)
};

struct ring_header {
  alignas(line_distance) ring_identity identity;
  alignas(line_distance) producer_line producer;
  alignas(line_distance) consumer_line consumer;
  alignas(line_distance) std::byte reserved[line_distance];
};
static_assert(sizeof(ring_header) == 4 * line_distance);
static_assert(std::is_standard_layout_v<ring_header>);
static_assert(offsetof(ring_header, producer) == 128 && offsetof(ring_header, consumer) == 256);
static_assert(sizeof(producer_line) <= 64 && sizeof(consumer_line) <= 64);

/// Bytes of headers in front of the rings of a slab: whole pages.
constexpr std::size_t header_bytes(std::size_t rings) noexcept {
  return (rings * sizeof(ring_header) + page_size - 1) / page_size * page_size;
}
constexpr std::size_t slab_bytes(std::size_t ring_size, std::size_t rings) noexcept {
  return header_bytes(rings) + ring_size * rings;
}

/// What an entry of an inbox says about a connection.
enum class entry_kind : std::uint32_t {
  data = 0,   ///< there may be bytes to read
  space = 1,  ///< there may be space to write
  state = 2   ///< the peer has closed: the last entry of the connection
};

/// An entry: one word, never zero.
struct entry {
  std::uint32_t connection = 0;  ///< number in the table of the inbox's owner
  entry_kind kind = entry_kind::data;
  std::uint32_t generation = 0;  ///< of the connection number; the low bits are sent

  static constexpr std::uint32_t number_bits = 16;
  static constexpr std::uint32_t generation_bits = 13;
  static constexpr std::uint32_t generation_mask = (1u << generation_bits) - 1;

  constexpr std::uint32_t encode() const noexcept {
    return 1u << 31 | (generation & generation_mask) << (number_bits + 2) |
           static_cast<std::uint32_t>(kind) << number_bits | connection;
  }
  /// The kind may be 3, and the number any: the caller checks.
  static constexpr entry decode(std::uint32_t word) noexcept {
    return {word & ((1u << number_bits) - 1), static_cast<entry_kind>(word >> number_bits & 3u),
            word >> (number_bits + 2) & generation_mask};
  }
};

/// Head of an inbox; two rings of entries follow, each of `capacity` words.
struct inbox_header {
  alignas(line_distance) std::atomic<std::uint64_t> magic;
  std::atomic<std::uint32_t> version;
  std::atomic<std::uint32_t> capacity;          ///< entries of each ring, a power of two
  alignas(line_distance) shared_word sleeping;  ///< the owner sleeps: who pushes rings the doorbell
};
static_assert(sizeof(inbox_header) == 2 * line_distance);

/// Entries that a group of so many connections can have on the way: data, space and state of each,
/// and room.
constexpr std::size_t inbox_capacity(std::size_t max_connections) noexcept {
  return 4 * max_connections;
}
constexpr std::size_t inbox_bytes(std::size_t capacity) noexcept {
  return (sizeof(inbox_header) + 2 * capacity * sizeof(shared_word) + page_size - 1) / page_size *
         page_size;
}

}  // namespace smc::smcd
