#include "negotiation/local_acceptors.hpp"

#include <mutex>
#include <unordered_map>

namespace smc::negotiation {

namespace {

struct table {
  std::mutex mutex;
  std::unordered_map<std::string, std::weak_ptr<local_acceptor>> by_name;
};

table& the_table() {
  static table& t = *new table;  // never destroyed: acceptors may be closed late
  return t;
}

}  // namespace

void add_local_acceptor(const std::string& name, std::weak_ptr<local_acceptor> acceptor) {
  const std::lock_guard lock(the_table().mutex);
  the_table().by_name[name] = std::move(acceptor);
}

void remove_local_acceptor(const std::string& name) noexcept {
  const std::lock_guard lock(the_table().mutex);
  the_table().by_name.erase(name);
}

void serve_local_acceptor(const std::string& name) noexcept {
  std::shared_ptr<local_acceptor> found;
  {
    const std::lock_guard lock(the_table().mutex);
    if (const auto i = the_table().by_name.find(name); i != the_table().by_name.end())
      found = i->second.lock();
  }
  if (found) found->serve_arrivals();
}

}  // namespace smc::negotiation
