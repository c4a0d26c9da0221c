#pragma once
// The acceptors of this process by their rendezvous name: a client in the same process serves them
// itself, so that one thread can connect, write, accept and read, as it can over TCP.
#include <memory>
#include <string>

namespace smc::negotiation {

class local_acceptor {
 public:
  /// Serves whatever has arrived. Any thread, outside of exclusive sections.
  virtual void serve_arrivals() noexcept = 0;

 protected:
  ~local_acceptor() = default;
};

void add_local_acceptor(const std::string& name, std::weak_ptr<local_acceptor> acceptor);
void remove_local_acceptor(const std::string& name) noexcept;
void serve_local_acceptor(const std::string& name) noexcept;

}  // namespace smc::negotiation
