#pragma once
// An opened verbs device.
#include "smcr/device.hpp"
#include "smcr/verbs/library.hpp"

namespace smc::rdma::verbs {

class opened final : public device {
 public:
  opened(const library& lib, ibv_context* context) noexcept : lib_(lib), context_(context) {}
  opened(const opened&) = delete;
  ~opened() override { lib_.close_device(context_); }

  /// Reads the attributes, once.
  std::error_code prepare();

  const device_attributes& attributes() const noexcept override { return attributes_; }
  system::result<port_attributes> port(std::uint8_t number) const noexcept override;
  system::result<std::vector<gid_entry>> gids(std::uint8_t port_number) const noexcept override;
  created<protection_domain> allocate_domain() noexcept override;
  created<completion_queue> create_completion_queue(std::uint32_t depth) noexcept override;
  std::size_t poll_events(std::span<asynchronous_event> into) noexcept override;
  int event_descriptor() noexcept override { return context_->async_fd; }

 private:
  std::error_code query(std::uint8_t number, ibv_port_attr& into) const noexcept;

  const library& lib_;
  ibv_context* context_;
  device_attributes attributes_;
};

}  // namespace smc::rdma::verbs
