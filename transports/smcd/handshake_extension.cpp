#include "smcd/handshake_extension.hpp"

#include "smcd/layout.hpp"

namespace smc::smcd {

namespace {

class writer {
 public:
  template <typename T>
  writer& put(T value) {
    const auto number = static_cast<std::uint64_t>(value);
    for (std::size_t i = 0; i < sizeof(T); ++i)
      bytes_.push_back(static_cast<std::byte>(number >> (8 * i)));
    return *this;
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

class reader {
 public:
  explicit reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <typename T>
  reader& get(T& value) {
    if (bytes_.size() < sizeof(T)) {
      failed_ = true;
      return *this;
    }
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i)
      number |= std::to_integer<std::uint64_t>(bytes_[i]) << (8 * i);
    value = static_cast<T>(number);
    bytes_ = bytes_.subspan(sizeof(T));
    return *this;
  }
  bool complete() const { return !failed_ && bytes_.empty(); }

 private:
  std::span<const std::byte> bytes_;
  bool failed_ = false;
};

}  // namespace

std::vector<std::byte> encode(const proposal_extension& e) {
  return writer()
      .put(layout_version)
      .put(static_cast<std::uint8_t>(e.maps_send_buffer))
      .put(e.send_size)
      .put(e.receive_size)
      .take();
}

std::optional<proposal_extension> decode_proposal(std::span<const std::byte> bytes) {
  proposal_extension e;
  std::uint32_t version = 0;
  std::uint8_t maps = 0;
  reader in(bytes);
  in.get(version).get(maps).get(e.send_size).get(e.receive_size);
  if (!in.complete() || version != layout_version || maps > 1) return std::nullopt;
  e.maps_send_buffer = maps == 1;
  return e;
}

std::vector<std::byte> encode(const ring_extension& e) {
  const auto flags = static_cast<std::uint8_t>((e.introduces ? 1 : 0) | (e.with_slab ? 2 : 0));
  return writer()
      .put(layout_version)
      .put(e.group)
      .put(flags)
      .put(e.send_size)
      .put(e.known_slabs)
      .put(e.ring.slab_id)
      .put(e.ring.slab_rings)
      .put(e.ring.ring_index)
      .put(e.ring.ring_generation)
      .put(e.ring.ring_size)
      .put(e.ring.token)
      .put(e.ring.connection_number)
      .put(e.ring.connection_generation)
      .take();
}

std::optional<ring_extension> decode_ring(std::span<const std::byte> bytes) {
  ring_extension e;
  std::uint32_t version = 0;
  std::uint8_t flags = 0;
  reader in(bytes);
  in.get(version)
      .get(e.group)
      .get(flags)
      .get(e.send_size)
      .get(e.known_slabs)
      .get(e.ring.slab_id)
      .get(e.ring.slab_rings)
      .get(e.ring.ring_index)
      .get(e.ring.ring_generation)
      .get(e.ring.ring_size)
      .get(e.ring.token)
      .get(e.ring.connection_number)
      .get(e.ring.connection_generation);
  if (!in.complete() || version != layout_version || flags > 3) return std::nullopt;
  e.introduces = (flags & 1) != 0;
  e.with_slab = (flags & 2) != 0;
  return e;
}

}  // namespace smc::smcd
