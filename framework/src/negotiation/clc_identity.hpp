#pragma once
// Names of devices and of groups of hosts in CLC messages.
#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

namespace smc::clc {

/// An SMC-D device: GID and CHID. Emulated devices, loopback among them, have GIDs of 128 bits.
struct smcd_gid {
  static constexpr std::uint16_t first_emulated_chid = 0xff00;
  static constexpr std::uint16_t loopback_chid = 0xffff;

  std::uint64_t gid = 0;
  std::uint64_t extended = 0;  ///< second half; 0 unless emulated
  std::uint16_t chid = 0;

  constexpr bool emulated() const noexcept { return chid >= first_emulated_chid; }

  auto operator<=>(const smcd_gid&) const = default;
};

/// An enterprise id: up to 32 upper case letters, digits, '.' and '-', the first a letter or a
/// digit, kept as on the wire, padded with blanks.
class eid {
 public:
  static constexpr std::size_t size = 32;

  /// All blanks: no name. It cannot be encoded.
  eid() noexcept { padded_.fill(' '); }

  /// Nothing where `text` is not well formed.
  static std::optional<eid> from_text(std::string_view text) noexcept;
  static std::optional<eid> from_wire(const std::array<char, size>& padded) noexcept;

  /// Without the padding.
  std::string_view text() const noexcept;
  bool empty() const noexcept { return padded_[0] == ' '; }
  const std::array<char, size>& wire() const noexcept { return padded_; }

  auto operator<=>(const eid&) const = default;

 private:
  explicit eid(const std::array<char, size>& padded) noexcept : padded_(padded) {}

  std::array<char, size> padded_;
};

}  // namespace smc::clc
