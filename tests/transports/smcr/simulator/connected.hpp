#pragma once
// Two simulated devices and a reliable connection between them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "smcr/device.hpp"
#include "smcr/simulator/adapter.hpp"
#include "smcr/simulator/network.hpp"

namespace smc::rdma::simulator {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

inline const std::error_code no_memory = system::error_of(ENOMEM);
inline const std::error_code invalid = system::error_of(EINVAL);
inline const std::error_code device_gone = system::error_of(EIO);

template <typename T>
std::unique_ptr<T> made(created<T> c) {
  if (!c) throw std::system_error(c.error);
  return std::move(c.value);
}

inline void must(std::error_code error) {
  if (error) throw std::system_error(error);
}

inline adapter_options one_port(std::uint16_t number, mtu active = mtu::b1024) {
  adapter_options o;
  o.attributes.name = "simulated";
  o.ports = {roce_port(number, active)};
  return o;
}

struct end_options {
  queue_pair_options pair;
  std::uint32_t depth = 1024;
  std::size_t memory = 64 * 1024;
  bool shared = false;
};

/// One end: its objects, and memory of which the first half is written to by the peer.
struct end {
  end(adapter& on, end_options options) : device(on), bytes(options.memory) {
    domain = made(device.allocate_domain());
    sends = made(device.create_completion_queue(options.depth));
    receives = made(device.create_completion_queue(options.depth));
    memory = made(domain->register_memory(bytes, access::local_write | access::remote_write));
    if (options.shared) {
      shared = made(domain->create_shared_receive_queue(options.pair.max_receives, 1));
    }
    options.pair.sends = sends.get();
    options.pair.receives = receives.get();
    options.pair.shared = shared.get();
    pair = made(domain->create_queue_pair(options.pair));
  }

  path path_to(const end& peer, mtu m) const {
    path p;
    p.path_mtu = m;
    p.remote_qpn = peer.pair->number();
    p.receive_psn = peer.psn;
    p.remote_gid = peer.device.gids(1).value[0].gid;
    return p;
  }

  void connect(const end& peer, mtu m = mtu::b1024, std::optional<sending> how = {}) {
    must(pair->initialize(1));
    must(pair->receive_from(path_to(peer, m)));
    sending s = how.value_or(sending{});
    s.send_psn = psn;
    must(pair->send_with(s));
  }

  std::uint64_t address(std::size_t offset) const { return memory->address() + offset; }

  std::error_code post_receive(std::uint64_t id, std::size_t offset = 0,
                               std::uint32_t length = 44) {
    memory_part part{address(offset), length, memory->lkey()};
    receive_request r{id, nullptr, &part, 1};
    return shared ? shared->post(r, nullptr) : pair->post_receive(r, nullptr);
  }

  std::error_code send(std::uint64_t id, std::size_t offset, std::uint32_t length,
                       std::uint32_t flags = send_flag::signaled) {
    memory_part part{address(offset), length, memory->lkey()};
    send_request r;
    r.id = id;
    r.parts = &part;
    r.part_count = 1;
    r.flags = flags;
    return pair->post_send(r, nullptr);
  }

  std::error_code write(std::uint64_t id, std::size_t offset, std::uint32_t length, const end& peer,
                        std::size_t peer_offset, std::uint32_t flags = send_flag::signaled) {
    memory_part part{address(offset), length, memory->lkey()};
    send_request r;
    r.id = id;
    r.what = operation::rdma_write;
    r.parts = &part;
    r.part_count = 1;
    r.flags = flags;
    r.remote_address = peer.address(peer_offset);
    r.rkey = peer.memory->rkey();
    return pair->post_send(r, nullptr);
  }

  void put(std::size_t offset, const std::string& text) {
    std::memcpy(bytes.data() + offset, text.data(), text.size());
  }
  std::string get(std::size_t offset, std::size_t length) const {
    return {reinterpret_cast<const char*>(bytes.data()) + offset, length};
  }

  adapter& device;
  std::vector<std::byte> bytes;
  std::unique_ptr<protection_domain> domain;
  std::unique_ptr<completion_queue> sends;
  std::unique_ptr<completion_queue> receives;
  std::unique_ptr<memory_region> memory;
  std::unique_ptr<shared_receive_queue> shared;
  std::unique_ptr<queue_pair> pair;
  std::uint32_t psn = 0xfffffe;  ///< wraps soon
};

inline std::vector<completion> polled(completion_queue& queue) {
  std::vector<completion> all;
  std::array<completion, 16> some;
  for (std::ptrdiff_t n = 1; n > 0;) {
    n = queue.poll(some);
    if (n > 0) all.insert(all.end(), some.begin(), some.begin() + n);
  }
  return all;
}

/// "1:success 2:flushed", or ids only where all succeeded.
inline std::string summary(const std::vector<completion>& all) {
  std::string text;
  for (const completion& c : all) {
    text += (text.empty() ? "" : " ") + std::to_string(c.id);
    if (c.status != completion_status::success) text += ":" + std::string(to_string(c.status));
  }
  return text;
}

inline std::string outcome(completion_queue& queue) { return summary(polled(queue)); }

inline std::vector<event_kind> events(device& d) {
  std::vector<asynchronous_event> all(64);
  all.resize(d.poll_events(all));
  std::vector<event_kind> kinds;
  for (const auto& e : all) kinds.push_back(e.kind);
  return kinds;
}

struct connected {
  explicit connected(std::uint64_t seed = 1, end_options options = {},
                     adapter_options a = one_port(1), adapter_options b = one_port(2))
      : net(seed), client(net.add(std::move(a)), options), server(net.add(std::move(b)), options) {
    server.psn = 17;
  }

  connected& connect(mtu m = mtu::b1024, std::optional<sending> how = {}) {
    client.connect(server, m, how);
    server.connect(client, m, how);
    return *this;
  }

  network net;
  end client;
  end server;
};

}  // namespace smc::rdma::simulator
