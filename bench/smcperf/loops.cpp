#include "smcperf/loops.hpp"

#include <asio/io_context.hpp>

namespace smcperf {

asio::any_io_executor loops::member::executor() const {
  if (loop) return loop->get_executor();
  return context->get_executor();
}

void loops::member::run() {
  if (loop) {
    loop->run();
  } else {
    context->run();
  }
}

void loops::member::stop() {
  if (loop) {
    loop->stop();
  } else {
    context->stop();
  }
}

loops::loops(executor_kind kind, std::size_t threads,
             const std::optional<smc::event_loop_options>& spin) {
  for (std::size_t i = 0; i < threads; ++i) {
    auto m = std::make_unique<member>();
    if (kind == executor_kind::io_context) {
      m->context = std::make_unique<asio::io_context>(1);
    } else if (spin) {
      m->loop = std::make_unique<smc::event_loop>(*spin);
    } else {
      m->loop = std::make_unique<smc::event_loop>();
    }
    m->work.emplace(m->executor());
    members_.push_back(std::move(m));
  }
  for (auto& m : members_) m->thread = std::thread([this, &m = *m] { run(m); });
}

loops::~loops() { stop(); }

asio::any_io_executor loops::executor(std::size_t index) const {
  return members_[index]->executor();
}

void loops::run(member& m) noexcept {
  try {
    m.run();
  } catch (...) {
    {
      const std::scoped_lock lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
    request_stop();
  }
}

void loops::request_stop() noexcept {
  for (auto& m : members_) m->stop();
}

void loops::wait() {
  for (auto& m : members_)
    if (m->thread.joinable()) m->thread.join();
  const std::scoped_lock lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

void loops::stop() noexcept {
  request_stop();
  for (auto& m : members_)
    if (m->thread.joinable()) m->thread.join();
}

}  // namespace smcperf
