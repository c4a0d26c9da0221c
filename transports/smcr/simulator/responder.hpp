#pragma once
// The receiving half of a simulated queue pair: order, placement, receives, answers.
#include <cstdint>
#include <deque>
#include <vector>

#include "smcr/device.hpp"
#include "smcr/simulator/message.hpp"
#include "smcr/simulator/receive_list.hpp"

namespace smc::rdma::simulator {

class pair;

class responder {
 public:
  explicit responder(pair& owner) noexcept;

  void start(std::uint32_t psn) noexcept { expected_ = psn; }
  std::error_code post(const receive_request& r) { return own_.post(r); }
  void released(std::uint64_t count) noexcept { own_.released(count); }

  void received(const message& m);
  completion_status inject(const message& m);
  /// Completes all receives of its own as flushed; without completions where `silent`.
  void flush(bool silent);

 private:
  answer perform(const message& m);
  answer place(const message& m);
  answer accept(const message& m);
  bool scatter(const message& m, const receive_list::receive& r) const noexcept;
  void complete(const receive_list::receive& r, completion_status status, const message* m);
  void respond(answer what);
  void suffer(answer what);

  pair& owner_;
  receive_list own_;
  std::uint32_t expected_ = 0;
  bool refused_ = false;  ///< the sender was told to begin again from expected_
  bool heard_ = false;
  moment arrival_{0};
};

}  // namespace smc::rdma::simulator
